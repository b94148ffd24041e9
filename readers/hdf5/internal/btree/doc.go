// Package btree walks the B-trees of HDF5: v1.go those of old groups and chunks, v2.go those of
// links, attributes, chunks and large objects.
package btree
