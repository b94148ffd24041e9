// Package node understands the nodes of Zarr stores, formats 2 and 3: it reads the
// metadata of arrays and groups and decodes chunks. It knows nothing of files.
//
//	n, err := node.Parse3(zarrJSON)          // or Parse2(zarray, zattrs)
//	key := n.Array.Key(index)                // "c/0/3": where a chunk is, below the array
//	err = n.Array.Decode(dst, stored, &s)    // elements in C order, little-endian
//
// Chunks at the edge of an array are stored whole, too. What has no chunk is
// Array.Fill. Decode undoes the codecs of an array, which a writer applied in order:
//
//	elements -> transpose, delta, ... -> bytes -> zstd, crc32c, ... -> chunk
//
// Elements of no fixed size (texts, bytes, lists) come as Values.
package node
