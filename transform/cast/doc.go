// Package cast changes the types of numbers, counts what does not fit, and decides how NaN is treated.
//
//	cast.go nan.go       --cast and --nan
//	column.go number.go  a column, or one constant, in another type
//	int.go float.go      the conversions of integers and of floats
package cast
