// Package anndata has the meaning of AnnData, the files of single cells: which groups and arrays are
// what, and what must fit together. It knows nothing of containers: a Tree gives groups, attributes
// and rows of arrays, and the readers of HDF5 and of Zarr have one each. So the same object gives the
// same samples, fields and names from all of them.
//
//	tree.go    what a container gives
//	model.go   from a tree to fields: X, layers, obsm, raw; frame.go: the columns of obs
//	genes.go   names of genes, and inputs with different ones
//	source.go  settings, survey, Source
//	read.go    spans become batches
//	other.go   10x Genomics and Loom; columns.go, byrow.go: matrices that are not stored by rows
//	categories.go  categories of several inputs
//
// A sample is a cell, a row of X. Fields:
//
//	X, layers/L, obsm/M, raw/X, sparse by rows   NAME/data and NAME/indices, lists with one counter
//	the same, dense                              a vector
//	obs/C of categories                          codes, with labels; -1 is a missing value
//	obs/C nullable                               values, with marks of missing ones
//	obs/_index                                   the names of the cells, whatever the file calls them
//
// The names of the genes are the attribute columns of X (of X/indices, where it is sparse) and of
// raw/X. obsp, varm, varp and uns are no fields of cells and are left out by name.
package anndata
