// Package wire has the forms that numbers have in the entries of a TTree, and the names of
// types in C++ that say which form it is.
//
//	wire.go     a Wire: bytes in a file, what they become, and the loops between
//	packed.go   Double32_t and Float16_t, whose form the title of a member says
//	names.go    names and codes of types
package wire
