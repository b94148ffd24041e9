// Package mtx reads folders of 10x Genomics: matrix.mtx, a sparse matrix in the Matrix Market format, with
// barcodes.tsv and features.tsv (genes.tsv of version 2) beside it, each plain or packed by gzip or zstd.
//
//	src, err := mtx.Format.Open(ctx, format.OpenArgs{Table: table})
//
// A barcode is a sample, a column of the matrix. The folder is seen as an AnnData: X/data and X/indices,
// obs/_index, and the ids of the features as names of genes, so that all that is known of AnnData holds.
// Values come in any order; their rows are brought together in a scratch file.
package mtx
