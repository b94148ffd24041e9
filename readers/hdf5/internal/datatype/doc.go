// Package datatype has the types of elements, and the dataspaces that elements are in, and parses the
// messages that hold them.
package datatype
