// Package root reads ROOT files as samples: TTrees (also TNtuple and TNtupleD) and
// RNTuples, whose entries are the samples.
//
//	src, err := root.Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"object": "Events"}})
//
// The packages below it, each of which uses only those above it in this list:
//
//	internal/block      compressed blocks
//	internal/rfile      a file: directories, keys, descriptions of classes
//	internal/wire       the forms of numbers, the names of types
//	internal/ttree      a tree: branches, leaves, baskets
//	internal/entries    the entries of a branch become columns
//	internal/rntuple    an RNTuple, by itself
//
// This one makes fields of what these find, joins friends, and reads spans. The parts that all
// table-like formats share (many files, their schemas, state, cuts) are readers/internal/rows.
//
// # Fields
//
// A branch, or a member of what a branch holds, is a field if it has a flat form:
//
//	in the tree                            field
//	number                                 the same type; bool as 0 and 1
//	Double32_t, Float16_t                  f64, f32, whatever their packing
//	x[3][4]                                shape [3, 4]
//	x[n], x[n][4]                          jagged, counter n; the count is a field, too
//	vector<T>, RVec<T>, set<T>, ...        jagged
//	vector<vector<T>>                      two levels
//	string, TString, char*                 media txt
//	vector<string>                         two levels, media txt
//	leaf-list "x/F:y/I" of branch b        b.x, b.y
//	members of a class, split or not       b.x, b.y; of base classes without their name
//	members of a collection of a class     jagged b.x, b.y with one counter
//	map<K, V>                              jagged b.first, b.second
//	three levels, pointers, references,    left out, with the reason
//	classes that the file does not describe
//
// Columns with one counter share their offsets; that the lengths of their entries
// agree with the counts is checked.
//
// # Checks
//
// XXH64 of LZ4 blocks, the checksums inside of zlib, xz and zstd streams, and all of
// RNTuple's are verified. Every length is compared with the available bytes, and every
// entry must be explained to its last byte by its type.
package root
