// Package heap reads the heaps of HDF5:
//
//	global.go    a Heap has the elements of variable length
//	local.go     the names of an old group
//	fractal.go   links, attributes and shared messages by their IDs; fractalblocks.go: the
//	             blocks they are in; fractalhuge.go: those with a place of their own
//	filter.go    the filters of a fractal heap, and of data sets
//
// A Heap belongs to one goroutine; the others may be used by several at once.
package heap
