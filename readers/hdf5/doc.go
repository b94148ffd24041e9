// Package hdf5 reads HDF5 files as samples: plain ones, and those of NetCDF-4,
// PyTables, pandas, MATLAB v7.3 and h5py. It needs no C library.
//
// The packages below it, each of which uses only those above it in this list:
//
//	internal/meta      the bytes of a file's structures
//	internal/btree     B-trees
//	internal/heap      heaps: elements of variable length, names
//	internal/datatype  types and dataspaces
//	internal/dataset   layouts and chunk indexes
//	internal/h5        the objects of a file: headers, groups, attributes
//	codecs/filter      the stored form of chunks
//	internal/number    the forms of numbers
//	internal/array     the rows of a data set, whatever its layout
//	internal/naming    paths, numbers in names, and their order
//	internal/element   the fields of a datatype
//	internal/column    rows become columns
//	internal/tree      the data sets of a file, and what conventions say of them
//	internal/look      what its samples are
//
// This one is the source:
//
//	source.go     options, and the source itself; describe.go: lines for people
//	survey.go     looks into all inputs; surveysplits.go: by splits;
//	              twice.go: samples that would count twice
//	reader.go     spans become batches; readlists.go: flat lists and sparse matrices;
//	              readgroup.go: groups that are samples; readitems.go: data sets that are
//
// # Samples
//
// A sample is a row (axis 0) where the data sets share their first dimension, by its
// name where dimensions have names (scales, netCDF-4), else by its length; a
// group where siblings with numbers hold the same data sets (demo_0, demo_1, ...);
// else, of several inputs, a file. Data sets that may be samples, and splits in one file,
// are errors that name the option. Lengths that differ are an error that lists them; other
// dimensions are left out and named.
//
// # Fields
//
// A field is named by the path of its data set, the members of a compound type by
// a further slash each.
//
//	stored as                   field
//	integer of 1 to 8 bytes     i8 ... u64, the next width that holds it
//	bit field                   the same, unsigned
//	float                       f16, bf16, f32, f64; odd forms the smallest that is exact
//	enum                        its integer, with names; FALSE and TRUE are a bool
//	string, any                 text (media txt)
//	list (variable length)      jagged; of strings or lists two levels
//	compound                    a field for each member; r and i are a complex number
//	array                       further dimensions
//	complex                     a last dimension of 2
//	opaque                      u8; NumPy's times i64
//	sparse matrix by rows       its data and indices: jagged, with one counter
//	references, long double     left out by name
//
// # Reading
//
// Spans end where chunks end, so that each chunk is decoded once. Chunks that span
// whole rows are decoded into the column itself; stored bytes are read into it.
// Neighbouring chunks are read together.
package hdf5
