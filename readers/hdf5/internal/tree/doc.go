// Package tree finds the data sets of an HDF5 file, and what the conventions that they follow say
// of each. It does not know what the samples are: package look chooses.
//
//	tree.go         what a scan finds: the data sets, and what they have in common
//	settings.go     the options
//	scan.go         the walk through the groups, to the data sets that --object and --columns want
//	conventions.go  what wrote the file, and bounds of NetCDF; pandas.go, categories.go and turn.go:
//	                what pandas, AnnData and MATLAB mean
//	dims.go         names of dimensions
//	lists.go        flat values beside offsets
//	sparse.go       sparse matrices; and the tree where they, and lists, have their rows
//	references.go   what other files hold
//	attributes.go   what a file says about a field
//	leftovers.go    what is not delivered
package tree
