// Package parquet reads Parquet files as samples: a row is a sample.
//
//	src, err := parquet.Format.Open(ctx, format.OpenArgs{Table: table})
//
// internal/pq reads the metadata, internal/page decodes pages; this package makes
// fields of columns, finds the pages of a span, and assembles lists from levels. The
// parts that all table-like formats share (many files, their schemas, state, cuts) are
// readers/internal/rows.
//
// # Fields
//
// A leaf of the schema is a field; its name is the path to it with dots, without the
// nodes that only make a list.
//
//	in the file                         field
//	boolean, int8 to uint64, float,     the same type
//	double, float16
//	string, enum                        media txt
//	json, bson                          media json, bson
//	bytes                               media bin, or jpg, png, ... where all values are
//	fixed bytes, uuid                   u8 [n]
//	date, timestamp, int96              i64, attribute time: D, ms, us, ns
//	time of day                         i64, attribute unit: ms, us, ns
//	decimal of at most 18 digits        i64 without the point, attributes scale and scale_factor
//	decimal of more digits              text
//	interval                            u32 [3]: months, days, ms
//	struct                              a field for each member: s.x, s.y
//	list<T>                             jagged
//	list<list<T>>, list<string>         two levels
//	list<struct>                        jagged s.x, s.y with the counter s
//	map<K, V>                           jagged m.key, m.value with the counter m
//	fixed_size_list<T>[n]               shape [n], if the file has the Arrow schema that says so
//	three levels, encrypted columns     left out, with the reason
//	folders key=value                   i64 or text, the same for all rows of a file
//
// A missing value is marked in Valid. A missing item inside of a list has no place
// there: it is an error, or with --null-items fill NaN, 0 or empty.
//
// # Checks
//
// Sizes in the metadata are compared with the bytes there are and with each other
// before memory is taken. Checksums of pages are verified where writers stored them.
package parquet
