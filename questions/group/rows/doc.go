// Package rows makes samples of rows: rows whose key fields are equal are one sample, with a
// list for each other field.
//
// It is a Source between any source of rows and the plan. When the plan is made it
// reads the key fields alone (scan.go): of each unit, a span of the rows, it keeps how many
// samples begin in it and where the first one does. If the rows of each key are contiguous, a
// span of samples is a range of rows, which may go on in the next units (read.go). Else the
// rows are collected in scratch files by ranges of keys first (gather.go).
package rows
