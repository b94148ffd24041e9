// Package codecs decodes whole buffers of the compressions that more than one file format stores: zstd, LZ4,
// Snappy, xz and bzip2; and has two hashes of such formats. deflate has its own package, inflate. It does
// not compress.
//
//	n, err := codecs.Zstd(dst, src)
//
// Every function has the same contract. len(dst) is the exact decoded size, known
// from the format around the data: fewer or more bytes are an error. All of src
// belongs to the data. dst and src do not overlap; dst is never grown, nor is a
// byte behind its length written, and its content after an error is undefined.
// Memory beside dst is bounded by a constant plus a small multiple of the input,
// whatever the input says. All are safe to call concurrently.
//
// n is the number of bytes decoded: len(dst) without an error, else how far it
// came as far as that is known. Errors wrap shardify.ErrCorrupt, or
// shardify.ErrUnsupported for valid data in a form that is not decoded. A library
// below that panics is such an error.
//
// zstd, LZ4, Snappy and bzip2 are decoded by modules and by the standard library. The decoder of xz is of this
// package: 2.1 times as fast as that of github.com/ulikunitz/xz (make bench-libraries).
package codecs
