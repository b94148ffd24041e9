package plan

import (
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
)

// appendNames writes the names and sizes of a table.
func appendNames(b []byte, t *format.Table) []byte {
	b = binary.AppendUvarint(b, uint64(t.Len()))
	var prev []byte
	for i := range t.Len() {
		n := t.NameBytes(i)
		same := format.CommonPrefix(n, prev)
		b = binary.AppendUvarint(b, uint64(same))
		b = binary.AppendUvarint(b, uint64(len(n)-same))
		b = append(b, n[same:]...)
		b = binary.AppendUvarint(b, uint64(t.Root(i)))
		b = binary.AppendVarint(b, t.Size(i))
		prev = n
	}
	return b
}

// appendTimes writes the modification times of a table.
func appendTimes(b []byte, t *format.Table) []byte {
	var prev int64
	for i := range t.Len() {
		m := t.ModTime(i)
		b = binary.AppendVarint(b, m-prev)
		prev = m
	}
	return b
}

func appendSpans(b []byte, spans []shardify.Span) []byte {
	b = binary.AppendUvarint(b, uint64(len(spans)))
	var s shardify.Span
	for _, x := range spans {
		b = binary.AppendVarint(b, int64(x.Input)-int64(s.Input))
		b = binary.AppendVarint(b, int64(x.Run)-int64(s.Run))
		b = binary.AppendVarint(b, x.Lo-s.Hi)
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Bytes))
		s = x
	}
	return b
}

// count is a number that a slice may have entries.
func count(v *varint.Reader) int {
	n := v.U()
	if n > math.MaxInt32 {
		v.Bad = true
		return 0
	}
	return int(n)
}

func parseBlock(v, s *varint.Reader, end, most int64) Block {
	var x Block
	x.files, x.samples, x.bytes, x.largest = int64(v.U()), int64(v.U()), int64(v.U()), int64(v.U())
	x.shards, x.units = count(v), count(v)
	for _, b := range []*packed{&x.names, &x.spans} {
		b.digest = string(v.Bytes(uint64(digestSize)))
		b.place(s, end, most)
	}
	x.listed = string(s.Bytes(uint64(digestSize)))
	if x.files < 0 || x.samples < 0 || x.bytes < 0 || x.largest < 0 {
		v.Bad = true
	}
	return x
}

// place reads where a block is.
func (x *packed) place(s *varint.Reader, end, most int64) {
	x.off, x.bytes, x.plain = int64(s.U()), int64(s.U()), int64(s.U())
	if x.off < int64(planHead) || x.bytes < 0 || x.off > end-x.bytes || x.plain < 0 || x.plain > most {
		s.Bad = true
	}
}

// parseNames appends names, sizes and times to a table with roots.
func parseNames(t *format.Table, v, times *varint.Reader) {
	var name []byte
	var mtime int64
	for range v.Count(4) {
		same := v.U()
		rest := v.Bytes(v.U())
		if same > uint64(len(name)) {
			v.Bad = true
		}
		if v.Bad {
			return
		}
		name = append(name[:same], rest...)
		root, size := v.U(), v.I()
		if root >= uint64(len(t.Roots)) {
			v.Bad = true
			return
		}
		mtime += times.I()
		t.AppendIn(int(root), "", name, size, mtime)
	}
}

func parseSpans(v *varint.Reader) []shardify.Span {
	spans := make([]shardify.Span, 0, v.Count(5))
	var s shardify.Span
	for range cap(spans) {
		s.Input = uint32(int64(s.Input) + v.I())
		s.Run = uint32(int64(s.Run) + v.I())
		s.Lo = s.Hi + v.I()
		s.Hi = s.Lo + int64(v.U())
		s.Bytes = int64(v.U())
		if s.Lo < 0 || s.Hi < s.Lo || s.Bytes < 0 {
			v.Bad = true
			return spans
		}
		spans = append(spans, s)
	}
	return spans
}

func compress(b []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	return enc.EncodeAll(b, make([]byte, 0, len(b)/2)), nil
}

func unpack(b []byte, most int64) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(b, nil)
}
