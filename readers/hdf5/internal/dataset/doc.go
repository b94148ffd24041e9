// Package dataset has what the object header of a data set says: where its elements are, and the
// indexes that find its chunks. It decodes no chunk.
//
//	table, err := ds.Chunks()
//	chunk, ok := table.Get(table.Number([]int64{3, 0}))
//
//	dataset.go           a data set; layout.go: the message with its layout
//	virtual.go           what other data sets hold of it
//	chunktable.go        the chunks that are stored; tablebuild.go: how a table is made
//	chunkindex.go        the six kinds of indexes; chunkarray.go, chunkfixed.go and
//	                     chunkextensible.go: those that are arrays
//
// Data sets and their tables may be used by several goroutines at once.
package dataset
