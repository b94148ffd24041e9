// Package rntuple reads ROOT's RNTuple, format epoch 1: an anchor (a key's payload
// in the ROOT file) leads to three kinds of envelopes, and these lead to pages.
//
//	anchor    -> header envelope: fields and columns
//	          -> footer envelope: more fields and columns, cluster groups
//	cluster group -> page list envelope: clusters, and for each column its pages
//	page      = the encoded, often compressed elements of one column in one cluster
//
// Envelopes and pages are little-endian, the anchor is big-endian; checksums are
// XXH3-64. A field is a node of the type tree, a column is a flat list of numbers,
// and a cluster is a range of entries whose columns begin again at element 0.
//
// The package turns this into flat columns as shardify knows them: a field of
// numbers, with up to two levels of variable length.
//
//	nt, err := rntuple.Open(file, size, anchor)
//	sel, err := nt.Select([]int{0, 3})  // of nt.Flats
//	r := sel.Reader()
//	columns, err := r.Read(ctx, lo, hi, arena, nil)  // entries; sel.Inside and sel.Bytes say how many
//
// It knows nothing of ROOT's directories and keys: the caller finds the anchor.
package rntuple
