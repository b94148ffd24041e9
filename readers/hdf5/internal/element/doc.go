// Package element says which fields the element of an HDF5 data set holds: one for a
// plain type, one for each member of a compound type. It knows datatypes and
// attributes, and reads no data sets.
//
//	types.go    a datatype's leaves, each of which is a field
//	decode.go   what CF attributes make of a leaf's numbers
//	attrs.go    attributes that go into the schema
//	text.go     attributes and single values as text
package element
