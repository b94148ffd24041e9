// Package look finds what an HDF5 file holds, and what its samples are. It reads no
// columns: its answer is a Blob, which says where each field comes from.
//
// Scan walks through a file and returns a Tree. Tree.Choose decides on a Choice, which
// holds for all inputs. Tree.Facts gives the fields and the Blob for a choice.
//
//	settings.go      the options
//	scan.go          the data sets that --object and --columns want
//	conventions.go   what wrote the file; pandas.go, frames.go, categories.go, turn.go
//	                 and cf.go: what NetCDF, pandas, AnnData and MATLAB mean by it
//	sparse.go        groups that are sparse matrices; lists.go: flat values beside offsets
//	dims.go          names of dimensions, and which of them is the samples'
//	decide.go        what a sample is: a row, a group, a file
//	items.go         data sets that are samples; splits.go: train and test in one file
//	look.go          the fields of a file, and where its rows may be cut; lookgroup.go
//	                 where groups are samples
//	blob.go          what readers need to know
//	damage.go        damaged objects, the samples they belong to, and what is not delivered
//	references.go    what other files hold
//	outline.go       lines for people
package look
