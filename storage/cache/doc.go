// Package cache keeps on a local disk what was fetched from other machines.
//
// All processes of a node share a cache folder; there is no daemon. Each fetched range is one
// file, which is published by a rename and never changes. It carries the identity of its
// content (address, size and ETag or time) and a checksum for each 64 KiB, which every read
// checks: damaged or torn files are removed and fetched again. A cache never fails a read:
// where it cannot read or write, the bytes come from the network.
//
// Layout of the folder that Open makes below the named one:
//
//	lock             the accounted bytes; held while room is made for a file
//	blocks/ID/LO-HI  bytes LO to HI of a content
//	tmp/RANDOM       files being written; locked by their writer, which may be dead
//	claims/ID-LO     who fetches that byte holds a lock, so that others wait for its file
//
// Only files of these names are ever removed.
package cache
