package verify

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// mmapShard checks one mmap shard: header against the record, structure, and the
// tensors' checksums.
func (s *set) mmapShard(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	begun := s.total(e.Name)
	record := size
	if e.vouched {
		record = e.Bytes
	}
	head := s.mmapHeader(r, e, out)
	file := r
	if head != nil { // as it was before a bit flipped
		file = &overlaid{head, r}
	}
	shard, err := index.ParseShard(file, record)
	if err != nil && size != record {
		if other, err := index.ParseShard(r, size); err == nil {
			s.stale(e, size, other)
			return
		}
	}
	if err != nil {
		s.addError(LevelStructure, e.Name, err)
		return
	}
	out.samples = shard.Samples
	s.mmapRecord(e, shard)
	for i := range shard.Places {
		lead := shard.Tensors[i].Lead
		offsets := lead == index.LeadOffsets || lead == index.LeadLists
		if !out.read && !offsets && shard.Tensors[i].DType != shardify.Bool {
			continue
		}
		s.tensor(file, e, shard, i, buf.piece)
		out.parts++
	}
	out.sound = s.total(e.Name) == begun
}

// mmapHeader digests the header and returns it if it could be mended.
func (s *set) mmapHeader(r io.ReaderAt, e *expected, out *result) (mended []byte) {
	if !e.vouched {
		return nil
	}
	head := make([]byte, s.layout.HeaderBytes)
	n, err := r.ReadAt(head, 0)
	if n < len(head) && err != nil && err != io.EOF {
		s.addError(LevelStructure, e.Name, &shardify.Error{Op: "read", Sample: -1, Offset: int64(n), Err: err})
		return nil
	}
	head = head[:n]
	out.digest, out.object = index.DigestOf(head), "header"
	if out.digest == e.Digest || int64(n) < s.layout.HeaderBytes {
		return nil
	}
	at, mask, ok := flipDigest(head, &s.c.flips, e.Digest)
	if !ok {
		return nil
	}
	out.offset, out.what = int64(at), flipText(head[at], mask)
	head[at] ^= mask
	return head
}

func flipText(now, mask byte) string {
	return fmt.Sprintf("a bit is flipped: the byte is %#02x and was %#02x", now, now^mask)
}

// stale reports a shard that is whole, but has another size than recorded.
func (s *set) stale(e *expected, size int64, other *index.MmapShard) {
	p := simple(LevelStructure, KindMismatch, e.Name, "a whole shard, but of another conversion: samples")
	p.Want, p.Got = &Side{e.from, fmt.Sprint(e.Samples)}, &Side{"its header", fmt.Sprint(other.Samples)}
	s.add(p)
	s.sameSchema(e, other)
}

// mmapRecord holds a header against the manifest.
func (s *set) mmapRecord(e *expected, shard *index.MmapShard) {
	if e.Samples >= 0 && shard.Samples != e.Samples {
		p := simple(LevelStructure, KindMismatch, e.Name, "samples")
		p.Want, p.Got = &Side{e.from, fmt.Sprint(e.Samples)}, &Side{"its header", fmt.Sprint(shard.Samples)}
		s.add(p)
	}
	s.sameSchema(e, shard)
}

// sameSchema lists the fields in which a shard differs from the set.
func (s *set) sameSchema(e *expected, shard *index.MmapShard) {
	if shard.SchemaText() == s.layout.SchemaText() && shard.Keyed == s.keyed {
		return
	}
	side := func(i int, list []shardify.Field) string {
		if i < 0 {
			return "no such field"
		}
		b, err := json.Marshal(&list[i])
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	report := func(name, want, got string) {
		if want == got {
			return
		}
		p := simple(LevelStructure, KindMismatch, e.Name, "schema")
		p.Field, p.Want, p.Got = name, &Side{s.from, want}, &Side{"its header", got}
		s.add(p)
	}
	for i := range s.schema {
		name := s.schema[i].Name
		report(name, side(i, s.schema), side(shardify.FieldIndex(shard.Schema, name), shard.Schema))
	}
	for i := range shard.Schema {
		if name := shard.Schema[i].Name; shardify.FieldIndex(s.schema, name) < 0 {
			report(name, side(-1, nil), side(i, shard.Schema))
		}
	}
	report("", fmt.Sprintf("keyed %v", s.keyed), fmt.Sprintf("keyed %v", shard.Keyed))
}

// tensor checks one tensor's bytes and, when they are not as their checksum
// says, what can be told about the place.
func (s *set) tensor(r io.ReaderAt, e *expected, shard *index.MmapShard, i int, buf []byte) {
	err := shard.CheckTensor(r, i, buf)
	if err == nil {
		return
	}
	place, spec := &shard.Places[i], &shard.Tensors[i]
	p := problemOf(LevelChecksum, e.Name, err)
	p.Object = spec.Name
	if spec.Column >= 0 {
		p.Field = shard.Schema[spec.Column].Name
	}
	if errors.Is(err, shardify.ErrCorrupt) {
		crc, ok := s.crc(r, place, buf)
		if !ok || crc == shard.CRC32C[i] {
			p.Level = LevelStructure // the values are wrong as they were written, or cut off
		} else {
			s.flipped(&p, r, shard, i, crc)
		}
	}
	if spec.Row > 0 && p.Offset >= place.Lo && p.Kind == KindFormat {
		p.Sample = e.sample(sampleAt(r, shard, i, (p.Offset-place.Lo)/spec.Row))
	}
	s.add(p)
}

// sampleAt is the sample that a row of tensor i belongs to, -1 if the offsets do
// not tell.
func sampleAt(r io.ReaderAt, shard *index.MmapShard, i int, row int64) int64 {
	c := shard.ColumnOf(i)
	switch shard.Tensors[i].Lead {
	case index.LeadSamples:
		return row
	case index.LeadOffsets:
		return max(row-1, 0)
	case index.LeadLists:
		row = max(row-1, 0)
	case index.LeadElements:
		if c.Offsets1 >= 0 {
			row = listAt(r, shard, c.Offsets1, row)
		}
	}
	return listAt(r, shard, c.Offsets, row)
}

// listAt is the list that an item belongs to, by bisection of the offsets on
// disk.
func listAt(r io.ReaderAt, shard *index.MmapShard, offsets int, item int64) int64 {
	bad := item < 0
	n := sort.Search(int(shard.Counts[offsets]), func(k int) bool {
		var b [8]byte
		if got, _ := r.ReadAt(b[:], shard.Places[offsets].Lo+int64(k)*8); got < len(b) {
			bad = true
		}
		return int64(binary.LittleEndian.Uint64(b[:])) > item
	})
	if bad || n == 0 || int64(n) == shard.Counts[offsets] {
		return -1
	}
	return int64(n - 1)
}

// flipped fills in both checksums, and the byte that explains the difference.
func (s *set) flipped(p *Problem, r io.ReaderAt, shard *index.MmapShard, i int, crc uint32) {
	place := &shard.Places[i]
	p.Kind, p.Offset = KindDigest, place.Lo
	p.What = fmt.Sprintf("crc32c of bytes [%d, %d)", place.Lo, place.Hi)
	p.Want = &Side{"its header", fmt.Sprintf("%08x", shard.CRC32C[i])}
	p.Got = &Side{"the file", fmt.Sprintf("%08x", crc)}
	at, mask, ok := crcFlip(crc, shard.CRC32C[i], place.Hi-place.Lo)
	var b [1]byte
	if !ok {
		return
	}
	if n, _ := r.ReadAt(b[:], place.Lo+at); n != 1 {
		return
	}
	p.Kind, p.Offset = KindFormat, place.Lo+at
	p.What = fmt.Sprintf("one byte is changed: it is %#02x and was %#02x; crc32c of the tensor", b[0], b[0]^mask)
}

// crc is the CRC-32C of a tensor that is there in full.
func (s *set) crc(r io.ReaderAt, t *index.Tensor, buf []byte) (crc uint32, ok bool) {
	for at := t.Lo; at < t.Hi; {
		b := buf[:min(int64(len(buf)), t.Hi-at)]
		if n, _ := r.ReadAt(b, at); n < len(b) {
			return 0, false
		}
		crc = index.CRC32C(crc, b)
		at += int64(len(b))
	}
	return crc, true
}

// total is how many problems of a file there are so far.
func (s *set) total(name string) int {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.c.perFile[s.prefix+name]
}
