// Package meta reads the bytes of an HDF5 file's structures: blocks that are kept, and a Decoder
// of numbers, addresses and checksums, whose widths the superblock says.
//
// Every address in this API is an offset from the start of the file, user block included;
// [Undefined] says that there is no storage. Each length is compared with what the file holds
// before memory is taken, each checksum verified. Damage is a *shardify.Error that wraps
// ErrCorrupt and names the structure and its address, a feature outside of this reader one that
// wraps ErrUnsupported.
//
//	file.go     a file, and what its superblock says of the bytes
//	blocks.go   what is read, and kept
//	decode.go   fields of a structure, one after the other
package meta
