// Package tfrecord has the bytes of TFRecord files and of the messages in them, tf.train.Example
// and tf.train.SequenceExample.
//
// A file is records, one after the other, without a head, an index or padding; little-endian:
//
//	offset  width  meaning
//	0       8      length n of the data
//	8       4      Mask(CRC-32C of the 8 bytes)
//	12      n      data
//	12+n    4      Mask(CRC-32C of the data)
//
// A whole file may be packed by gzip or zlib; its name does not say so.
//
//	frame.go, scan.go      records; packed files
//	wire.go, value.go      messages: the entries of an Example, the values of a feature
//	table.go               entries by their keys
//	write.go               messages, as TensorFlow writes them
//	tfds.go                features.json and dataset_info.json of TensorFlow Datasets
//
//	s := tfrecord.NewScanner(file, 0, size)
//	for record, err := s.Next(); err == nil; record, err = s.Next() { ... }
package tfrecord

import (
	"encoding/binary"
	"io"

	"github.com/shardify/shardify/codecs/crc32c"
)

// A record has HeadBytes in front of its data and TailBytes after it.
const (
	HeadBytes = 12
	TailBytes = 4
)

// MaxRecord is the longest record: messages of Protocol Buffers are below 2 GiB.
const MaxRecord = 1<<31 - 1

// mask is a checksum as it is stored.
func mask(b []byte) uint32 { return masked(crc32c.Update(0, b)) }

func masked(c uint32) uint32 { return (c>>15 | c<<17) + 0xa282ead8 }

// ParseHead returns the length of the record that begins with b, HeadBytes or more; false if the
// checksum is that of another length.
func ParseHead(b []byte) (n uint64, ok bool) {
	return binary.LittleEndian.Uint64(b), mask(b[:8]) == binary.LittleEndian.Uint32(b[8:])
}

// AppendRecord appends a record of this data.
func AppendRecord(dst, data []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(data)))
	dst = binary.LittleEndian.AppendUint32(dst, mask(dst[len(dst)-8:]))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, mask(data))
}

// Packing is how a file is packed.
type Packing uint8

// The ways.
const (
	Unknown Packing = iota // no TFRecord file
	Plain
	Gzip
	Zlib
)

// Recognize says by the first bytes, HeadBytes or more, how a file is packed. Zlib is not certain.
func Recognize(head []byte) Packing {
	if len(head) < 2 {
		return Unknown
	}
	if len(head) >= HeadBytes {
		if _, ok := ParseHead(head); ok {
			return Plain
		}
	}
	switch two := binary.BigEndian.Uint16(head); {
	case two == 0x1f8b:
		return Gzip
	case two>>8&15 == 8 && two%31 == 0 && two>>12 <= 7:
		return Zlib
	}
	return Unknown
}

// PackingOf looks at the beginning of a file.
func PackingOf(f io.ReaderAt) (Packing, error) {
	var head [HeadBytes]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return Unknown, err
	}
	return Recognize(head[:n]), nil
}
