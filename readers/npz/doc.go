// Package npz reads NumPy's .npy and .npz files as samples.
//
// An NPY file is one array:
//
//	offset  width  meaning
//	0       6      93 'N' 'U' 'M' 'P' 'Y'
//	6       2      version: 1.0, 2.0 or 3.0
//	8       2|4    n, little-endian: 2 bytes in 1.0, else 4
//	10|12   n      a Python dict: descr, fortran_order, shape (npy/literal.go)
//	...     ...    the elements; no alignment may be assumed
//
// An NPZ file is a zip archive with one NPY file per array. Its members are
// found by the central directory at the end (npy/zip.go); their bytes are either
// stored as they are or deflated. Stored arrays are read in place, any rows of
// them by any number of readers (run 0). A file with a compressed array is a
// run: each Reader decodes the member once, in order, with fixed memory.
//
// Package internal/npy finds the arrays of one file. This one joins files to groups
// (group.go, fit.go, choose.go, unify.go) and reads rows of them into columns (reader.go,
// feed.go, convert.go; turn.go where an axis has to be moved).
//
// # Samples
//
// By default axis 0 is the sample axis of all arrays; other lengths are an error, arrays
// without dimensions are leftovers. The option axis=N takes axis N of arrays with two axes or
// more instead, as numpy.moveaxis(a, N, 0) does (npy.Header.Along). Files are joined along it. With the
// option sample=file every file is one sample and every array a field; arrays
// whose shapes differ between files become ragged fields. Package labels finds the names
// and classes of such samples.
//
// # Fields
//
// A field is named by its key in the archive. The field of an .npy file is
// named by the file's stem; of several files by the common beginning of their
// stems without digits and separators at its end, else "data". A structured
// array gives one field for each of its own, named KEY/FIELD (in an .npy file
// just FIELD), nested ones with further slashes.
//
//	stored as           field
//	b1                  bool; values other than 0 and 1 become 1
//	i, u, f2, f4, f8    the same, in little-endian
//	c8, c16             f32, f64 with a last dimension of 2; Attrs complex="true"
//	S                   bytes without trailing NULs: media bin
//	U                   text as UTF-8 without trailing NULs: media txt
//	<V2, >V2            bf16, as ml_dtypes and JAX write it
//	V                   u8 with a last dimension of the item size; Attrs void="true"
//	M8, m8              i64; Attrs time=UNIT ("ns", "25ns", "generic"), of m8 also delta="true"
//	f16, c32, O         refused by name
//
// Where a field has other types in other files, it gets the smallest type that holds
// the values of all exactly, by the rule of package rows; without one it is refused.
// Files without samples do not count.
//
// # Checks
//
// Every length is compared with the bytes present before anything is allocated.
// The CRC-32 of a deflated member is compared when its last rows are read; of a
// stored one when a span covers it, else its parts are passed on as Proofs. A
// stored array in Fortran order, whose rows are scattered, is checked by an
// extra pass with its first rows, as is one whose samples are along another axis.
package npz
