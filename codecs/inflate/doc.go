// Package inflate decodes DEFLATE (RFC 1951) data, bare or framed as zlib
// (RFC 1950) or gzip (RFC 1952), at least as fast as libdeflate on amd64, 2.6
// times as fast as github.com/klauspost/compress/flate and 3.4 times as compress/flate: medians over the kinds of data
// of make bench-libraries. It only decodes; it knows nothing of zip, tar or HDF5.
//
// A chunk whose decoded size is known, or bounded, is decoded at once:
//
//	n, consumed, err := inflate.Zlib(dst, src)
//
// and a stream of any length through a Reader of fixed memory:
//
//	var r inflate.Reader
//	r.ResetGzip(file)
//	io.Copy(w, &r)
//
// What may follow the end of the data differs. The whole-buffer functions say
// how many input bytes they used and leave the rest to the caller. A Reader of
// raw or zlib data does the same with InputBytes. A Reader of gzip data owns
// its input to the end, so there anything but another member or zero padding is
// an error.
//
// # Framing
//
// zlib, big-endian:
//
//	offset  width  meaning
//	0       1      CMF: low 4 bits 8 (deflate), high 4 bits window size, at most 7
//	1       1      FLG: bit 5 preset dictionary (refused), CMF<<8|FLG divides by 31
//	2       ...    deflate stream
//	end-4   4      Adler-32 of the decoded bytes
//
// gzip, little-endian, one or more members one after the other:
//
//	offset  width  meaning
//	0       2      1f 8b
//	2       1      8 (deflate)
//	3       1      FLG: 1 text, 2 header CRC, 4 extra, 8 name, 16 comment, rest zero
//	4       6      time, extra flags, system: not used
//	10      2+n    length n and n bytes, when FLG has 4
//	...     ...    name, zero-terminated, when FLG has 8
//	...     ...    comment, zero-terminated, when FLG has 16
//	...     2      low half of the CRC-32 of the header so far, when FLG has 2
//	...     ...    deflate stream
//	end-8   4      CRC-32 of the decoded bytes
//	end-4   4      number of decoded bytes modulo 2^32
//
// # Strictness
//
// Over-subscribed and incomplete code sets are errors, except a set of one code
// of length one and an empty distance set, which encoders write for blocks
// with at most one distance. zlib and compress/flate agree on that. Every
// checksum and length that the input holds is verified. Input that ends early is
// io.ErrUnexpectedEOF, never io.EOF.
package inflate
