// Package ttree reads TTrees, TNtuples and TNtupleDs: their branches, leaves,
// basket tables and clusters, and the baskets themselves as bytes. What the bytes mean is known
// to package entries.
//
//	tree, err := ttree.Read(f, object)
//	b := tree.Branch("Jet_pt")
//	var s ttree.Scratch
//	basket, err := b.ReadBasket(f, i, &s)
//
// A tree is one record. Its branches are objects in it; each has a table of the
// baskets that hold its entries, which are records of their own:
//
//	key        bytes on disk, payload bytes, key bytes, ..., class, name, title
//	           version 2, fBufferSize 4, fNevBufSize 4 (negative: + 1 byte of
//	           I/O bits), fNevBuf 4 (entries), fLast 4, flag 1
//	payload    entries back to back up to fLast - fKeylen, then, unless entries
//	           have a fixed width or offsets are generated: count 4, count x
//	           offset 4 (from the start of the key; the last one is rubbish)
//
// A basket that was not full when the tree was written is stored in the tree's record
// instead ("embedded").
//
// The files:
//
//	tree.go      what is known of a tree; cluster.go: where its baskets were flushed together
//	layout.go    the order of members in each version of each class
//	parse.go     a record by such a layout; read.go: the objects in it; branch.go: branches
//	table.go     the baskets of a branch
//	embedded.go  baskets in the tree's record; basket.go: any basket
//
// Damage in one branch is noted in its Err; the others are there all the same.
package ttree
