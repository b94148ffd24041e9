// Package hdf5 reads HDF5 files as samples: plain ones, and those of NetCDF-4,
// PyTables, pandas, MATLAB v7.3 and h5py. It needs no C library.
//
// Four packages below it know the bytes: internal/h5 the structures of a file
// (headers, groups, types, chunk indexes, heaps), internal/filter the stored form
// of chunks, internal/array the rows of a data set whatever its layout, internal/number
// the forms of numbers. This one decides what the samples are, and makes columns of rows.
//
//	scan.go      data sets of a file, as --object and --columns want them
//	decide.go    what a sample is: a row, a group, a file
//	dims.go      names of dimensions; lead.go which of them is the samples'
//	sparse.go    groups that are sparse matrices; readsparse.go their rows;
//	             categories.go the names that codes stand for
//	items.go     data sets that are samples; readitems.go reads them
//	splits.go    train and test in one file; twice.go samples that count twice
//	lists.go     flat values beside offsets; frames.go columns of pandas
//	look.go      the fields of a file, and where its rows may be cut
//	types.go     a datatype's fields; turn.go which axis comes first
//	dataset.go   a file and its data sets, with what was found in them
//	column.go    rows become columns
//	reader.go    spans become batches
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
