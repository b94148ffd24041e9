// Package datatype has the types of elements and the dataspaces they lie in, and parses the
// messages that hold them.
package datatype
