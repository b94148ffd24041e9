// Package index is shardify's bytes on disk: the manifest, the layout of mmap
// shards (safetensors), and the checksums of all files. The layout of wds shards is
// in index/tar and index/npy. Encoding and decoding of one layout are side by side, and
// docs/reference/format.md states the result. It opens no files: callers bring bytes, an
// io.ReaderAt and sizes.
//
//	m, err := index.DecodeManifest(text) // shardify.json
//	s, err := index.ParseShard(file, m.Shards[0].Bytes)
//	x := s.Tensor("x")                   // bytes [x.Lo, x.Hi) of the file
//
// Whatever is parsed here may come from a stranger: a length is compared with
// the bytes present before anything is allocated, damage is a *shardify.Error
// that wraps ErrCorrupt, and nothing panics.
package index

// version is the number of docs/reference/format.md that this package reads and writes.
const version = 1
