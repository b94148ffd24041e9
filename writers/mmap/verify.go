package mmap

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/verify/problem"
)

// verifier checks shards: the header against the record, structure, and the checksums of
// the tensors.
type verifier struct {
	schema []shardify.Field
	keyed  bool
	layout *index.Layout
}

func verify(schema []shardify.Field, keyed bool, _ map[string]string) (format.Verifier, error) {
	l, err := index.NewLayout(schema, keyed)
	if err != nil {
		return format.Verifier{}, err
	}
	v := &verifier{schema, keyed, l}
	return format.Verifier{Head: l.HeaderBytes, Shard: v.shard, Stream: dataset.NewMmapChecker}, nil
}

func (v *verifier) shard(c *format.ShardCheck) {
	shard, err := index.ParseShard(c.File, c.Shard.Bytes)
	if err != nil && c.Size != c.Shard.Bytes {
		if other, err := index.ParseShard(c.File, c.Size); err == nil {
			c.Report(c.Differs("a whole shard, but of another conversion: samples", problem.Says(c.From, fmt.Sprint(c.Shard.Samples)),
				problem.Says("its header", fmt.Sprint(other.Samples))))
			v.sameSchema(c, other)
			return
		}
	}
	if err != nil {
		c.Fail(problem.LevelStructure, err)
		return
	}
	c.Count(shard.Samples, "its header")
	v.sameSchema(c, shard)
	for i := range shard.Places {
		lead := shard.Tensors[i].Lead
		offsets := lead == index.LeadOffsets || lead == index.LeadLists
		if !c.Full && !offsets && shard.Tensors[i].DType != shardify.Bool {
			continue
		}
		checkTensor(c, shard, i)
		c.Parts++
	}
}

// sameSchema lists the fields in which a shard differs from the set.
func (v *verifier) sameSchema(c *format.ShardCheck, shard *index.MmapShard) {
	if shard.SchemaText() == v.layout.SchemaText() && shard.Keyed == v.keyed {
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
		p := c.Differs("schema", problem.Says(c.Schema, want), problem.Says("its header", got))
		p.Field = name
		c.Report(p)
	}
	for i := range v.schema {
		name := v.schema[i].Name
		report(name, side(i, v.schema), side(shardify.FieldIndex(shard.Schema, name), shard.Schema))
	}
	for i := range shard.Schema {
		if name := shard.Schema[i].Name; shardify.FieldIndex(v.schema, name) < 0 {
			report(name, side(-1, nil), side(i, shard.Schema))
		}
	}
	report("", fmt.Sprintf("keyed %v", v.keyed), fmt.Sprintf("keyed %v", shard.Keyed))
}

// checkTensor checks one tensor's bytes and, when they are not as their checksum
// says, what is known about the place.
func checkTensor(c *format.ShardCheck, shard *index.MmapShard, i int) {
	err := shard.CheckTensor(c.File, i, c.Buf)
	if err == nil {
		return
	}
	place, spec := &shard.Places[i], &shard.Tensors[i]
	p := problem.Of(problem.LevelChecksum, "", err)
	p.Object = spec.Name
	if spec.Column >= 0 {
		p.Field = shard.Schema[spec.Column].Name
	}
	if errors.Is(err, shardify.ErrCorrupt) {
		crc, ok := crcOf(c.File, place, c.Buf)
		if !ok || crc == shard.CRC32C[i] {
			p.Level = problem.LevelStructure // the values are wrong as they were written, or cut off
		} else {
			flipped(&p, c.File, shard, i, crc)
		}
	}
	if spec.Row > 0 && p.Offset >= place.Lo && p.Kind == problem.KindFormat {
		p.Sample = sampleAt(c.File, shard, i, (p.Offset-place.Lo)/spec.Row)
	}
	c.Report(p)
}

// sampleAt is the sample that a row of tensor i belongs to, or -1 if the offsets do not
// say.
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
func flipped(p *problem.Problem, r io.ReaderAt, shard *index.MmapShard, i int, crc uint32) {
	place := &shard.Places[i]
	p.Kind, p.Offset = problem.KindDigest, place.Lo
	p.What = fmt.Sprintf("crc32c of bytes [%d, %d)", place.Lo, place.Hi)
	p.Want = problem.Says("its header", fmt.Sprintf("%08x", shard.CRC32C[i]))
	p.Got = problem.Says("the file", fmt.Sprintf("%08x", crc))
	at, mask, ok := crcFlip(crc, shard.CRC32C[i], place.Hi-place.Lo)
	var b [1]byte
	if !ok {
		return
	}
	if n, _ := r.ReadAt(b[:], place.Lo+at); n != 1 {
		return
	}
	p.Kind, p.Offset = problem.KindFormat, place.Lo+at
	p.What = fmt.Sprintf("one byte is changed: it is %#02x and was %#02x; crc32c of the tensor", b[0], b[0]^mask)
}

// crcOf is the CRC-32C of a tensor that is there in full.
func crcOf(r io.ReaderAt, t *index.Tensor, buf []byte) (crc uint32, ok bool) {
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
