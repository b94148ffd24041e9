// Package entries decides which entries of an LMDB database are samples, and in which order.
//
//	keys                                       samples
//	decimal, without zeros before them         the entries by number
//	PREFIX-NUMBER, of several prefixes         a number each, with an entry of each prefix
//	others                                     the entries in the order of the tree
//
// Entries about the others (length, __keys__, ...) are left out. A plan keeps the place of a leaf for each MiB or so,
// where reading can begin.
//
//	plan.go    a look at all keys
//	state.go   a plan as bytes
//	walker.go  from the number of a sample to its entry
package entries
