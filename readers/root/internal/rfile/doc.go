// Package rfile reads the outer layer of ROOT files: the header, keys,
// directories, records and the streamer infos that describe objects. It knows
// nothing of trees; packages ttree and rntuple read those from the records
// found here.
//
//	f, err := rfile.Open(r, size, "events.root")
//	obj, err := f.Lookup("dir/Events;3")
//	rec, err := f.Object(obj.Key) // header and payload, decompressed
//
// All integers are big-endian. A file is a header and a chain of records, each
// a key followed by its payload:
//
//	header    at 0      magic "root", version, begin, end, ... (4 or 8 byte offsets)
//	record    at begin  key: bytes on disk, version, payload bytes when
//	                    decompressed, key bytes, cycle, offsets, class, name, title
//	                    payload: stored, or a chain of compression blocks
//	...
//	key list            the record a directory points to: keys of its objects
//
// The root directory is in the first record. Everything reachable is found
// from there by key lists; the chain itself is never walked.
//
// A cstr is a byte count (255: followed by a 4-byte count) and the bytes.
// An object starts with a frame: 4-byte count with bit 0x40000000 set (may be
// missing) and a 2-byte version. Positions inside a record count from the start
// of its key.
package rfile
