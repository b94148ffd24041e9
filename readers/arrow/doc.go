// Package arrow reads Arrow IPC files, which are Feather version 2 too, and streams: a row is a
// sample.
//
//	src, err := arrow.Format.Open(ctx, format.OpenArgs{Table: table})
//
// # Layout
//
// Little-endian. A message is
//
//	offset  width  meaning
//	0       4      ff ff ff ff
//	4       4      n, 0 ends a stream
//	8       n      Message, a flatbuffer: what it is, and the length of the body
//	8+n     ...    body: buffers, each at a multiple of 8
//
// A stream is a schema, then dictionaries and record batches. A file has "ARROW1\0\0" before and
// behind them a footer with the places of all, its length (4 bytes) and "ARROW1". A compressed
// buffer begins with its decoded length, 8 bytes, -1 if it is stored.
//
//	in the file                             field
//	bool, ints, floats                      the same type
//	string, large string, string view       media txt
//	binary, large binary, binary view       media bin
//	fixed bytes                             u8 [n]
//	date, timestamp, duration               i64, attribute time: D, s, ms, us, ns
//	time of day                             i64, attribute unit
//	decimal of at most 18 digits            i64 without the point, attributes scale and scale_factor
//	decimal of more digits                  text
//	struct                                  a field for each member: s.x
//	list, large list, map                   jagged; of lists or strings two levels
//	fixed-size list                         shape [n]
//	dictionary                              its values
//	union, interval, run-end encoded, list  left out, with the reason
//	views, longer decimals, three levels
//
// # Files
//
//	schema.go  types, and the fields that become of them
//	file.go    messages: where batches and dictionaries are
//	buffers.go the buffers of a batch
//	read.go    from buffers to columns
//	source.go  the format
package arrow
