// Package sparse makes matrices of the rows of a batch: a pair of lists, numbers of columns and
// values, becomes compressed sparse rows or a dense array in the caller's memory. In the same
// pass columns are chosen, rows are normalised, and values become log(1+x). Columns of a row come
// out rising and distinct: the values of a column that a row has twice are added, in the order in
// which they are stored.
package sparse
