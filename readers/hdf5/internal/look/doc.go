// Package look decides what the samples of an HDF5 file are. It reads no columns: its answer is a
// Blob, which says where each field comes from.
//
// Choose decides on a Choice by one file, for all inputs. Facts gives the fields of a file and the
// Blob for a choice.
//
//	decide.go     what a sample is: a row, a group, a data set, a file
//	axis.go       which rows are samples
//	groups.go     which groups are, and their fields; items.go: which data sets are
//	splits.go     train and test in one file
//	times.go      the unit of times
//	select.go     what --sel and --channels take
//	look.go       the fields of a file, and where its rows may be cut
//	blob.go       what readers need to know
//	damage.go     damaged objects, and the samples they belong to
//	outline.go    lines for people
package look
