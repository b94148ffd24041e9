package cache

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/shardify/shardify/codecs/crc32c"
)

// A block is a header, the checksums of its pieces, that of both, and the bytes.
const (
	magic      = "shrdblk1"
	headBytes  = 8 + 16 + 8 + 8
	pieceBytes = 64 << 10
	mostBytes  = 1 << 30 // of a block
)

var errDamaged = errors.New("the block is damaged")

func checksum(b []byte) uint32 { return crc32c.Update(0, b) }

func pieces(n int64) int64 { return (n + pieceBytes - 1) / pieceBytes }

// leadBytes is what is before the bytes of a block, fileBytes the size of its file.
func leadBytes(n int64) int64 { return headBytes + 4*pieces(n) + 4 }
func fileBytes(n int64) int64 { return leadBytes(n) + n }

func header(i id, k block) []byte {
	b := append([]byte(magic), i[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(k.lo))
	return binary.LittleEndian.AppendUint64(b, uint64(k.hi))
}

func writeBlock(w io.WriterAt, i id, k block, b []byte) error {
	lead := header(i, k)
	for at := 0; at < len(b); at += pieceBytes {
		lead = binary.LittleEndian.AppendUint32(lead, checksum(b[at:min(at+pieceBytes, len(b))]))
	}
	lead = binary.LittleEndian.AppendUint32(lead, checksum(lead))
	if _, err := w.WriteAt(lead, 0); err != nil {
		return err
	}
	_, err := w.WriteAt(b, int64(len(lead)))
	return err
}

// readBlock fills b with the bytes from off on, which the block has.
func readBlock(r io.ReaderAt, i id, k block, b []byte, off int64) error {
	n := k.hi - k.lo
	if n > mostBytes {
		return errDamaged
	}
	lead := make([]byte, leadBytes(n))
	if _, err := r.ReadAt(lead, 0); err != nil {
		return err
	}
	sums := lead[headBytes : len(lead)-4]
	if string(lead[:headBytes]) != string(header(i, k)) || checksum(lead[:len(lead)-4]) != binary.LittleEndian.Uint32(lead[len(lead)-4:]) {
		return errDamaged
	}
	right := func(piece int64, b []byte) bool { return checksum(b) == binary.LittleEndian.Uint32(sums[4*piece:]) }
	var edge []byte
	for at := off - k.lo; len(b) > 0; {
		piece := at / pieceBytes
		lo, hi := piece*pieceBytes, min((piece+1)*pieceBytes, n)
		m := int64(len(b))
		if at == lo && hi-lo <= m { // whole pieces come at once
			if m += lo; m < n {
				m -= m % pieceBytes
			}
			m = min(m, n) - lo
			if _, err := r.ReadAt(b[:m], int64(len(lead))+lo); err != nil {
				return err
			}
			for p := int64(0); p < m; p += pieceBytes {
				if !right((lo+p)/pieceBytes, b[p:min(p+pieceBytes, m)]) {
					return errDamaged
				}
			}
		} else {
			if edge == nil {
				edge = make([]byte, pieceBytes)
			}
			if _, err := r.ReadAt(edge[:hi-lo], int64(len(lead))+lo); err != nil {
				return err
			}
			if !right(piece, edge[:hi-lo]) {
				return errDamaged
			}
			m = int64(copy(b, edge[at-lo:hi-lo]))
		}
		at, b = at+m, b[m:]
	}
	return nil
}
