package mmap

import (
	"context"
	"fmt"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// reader keeps the shard of the last span open.
type reader struct {
	src   *source
	input int
	shard int
	file  storage.File
	head  *dataset.Mmap
	lists []list // by tensor: offsets read for the present span
	batch *shardify.Batch
	final bool // the span ends the shard
}

// list is offsets of a span, and which items of the shard they select.
type list struct {
	o      []int64
	lo, hi int64
}

func (r *reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file, r.head, r.input = nil, nil, -1
	return err
}

// Read reads the columns of a span, one read per column.
func (r *reader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if int(s.Input) >= len(r.src.Inputs) || s.Run != 0 {
		return nil, fmt.Errorf("span of input %d, run %d: there are %d inputs without runs", s.Input, s.Run, len(r.src.Inputs))
	}
	shards := r.src.Inputs[s.Input]
	j := sort.Search(len(shards), func(j int) bool { return shards[j].lo > s.Lo }) - 1
	if j < 0 || s.Lo < 0 || s.Hi <= s.Lo || s.Hi > shards[j].lo+shards[j].Samples {
		return nil, fmt.Errorf("span [%d, %d) is not within one shard", s.Lo, s.Hi)
	}
	name := r.src.shardPath(int(s.Input), shards[j].Name)
	if err := r.open(ctx, int(s.Input), j, name); err != nil {
		return nil, shardify.Annotate(err, "open", name, "")
	}
	b, err := r.read(ctx, s, s.Lo-shards[j].lo, s.Hi-shards[j].lo, mem)
	return b, shardify.Annotate(err, "read", name, "")
}

// open makes shard j of an input the present one.
func (r *reader) open(ctx context.Context, input, j int, name string) error {
	if r.file != nil && r.input == input && r.shard == j {
		return nil
	}
	r.Close()
	sh := &r.src.Inputs[input][j].Shard
	f, err := dataset.OpenFile(ctx, storages.Of(r.src.table), name, sh.Bytes)
	if err != nil {
		return err
	}
	head, err := dataset.OpenMmap(f, sh.Bytes, sh, r.src.layout)
	if err != nil {
		f.Close()
		return err
	}
	r.input, r.shard, r.file, r.head = input, j, f, head
	r.lists = make([]list, len(head.Tensors))
	return nil
}

// read reads samples [lo, hi) of the present shard.
func (r *reader) read(ctx context.Context, s shardify.Span, lo, hi int64, mem *shardify.Arena) (*shardify.Batch, error) {
	clear(r.lists)
	b := mem.Batch(len(r.src.wanted))
	r.batch, r.final = b, hi == r.head.Samples
	b.Samples, b.First = int(hi-lo), shardify.ID{Input: s.Input, Sample: s.Lo}
	for _, i := range r.src.wanted {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := r.column(&r.src.survey.Schema[i], &r.head.Columns[i], lo, hi, mem)
		if err != nil {
			return nil, locate(err, r.src.survey.Schema[i].Name)
		}
		b.Columns = append(b.Columns, c)
	}
	if r.src.survey.Keyed {
		f := index.KeyField()
		c, err := r.column(&f, &r.head.Key, lo, hi, mem)
		if err != nil {
			return nil, locate(err, f.Name)
		}
		b.Keys = &c
	}
	return b, nil
}

func locate(err error, field string) error {
	if e, ok := err.(*shardify.Error); ok && e.Field == "" {
		e.Field = field
	}
	return err
}

func (r *reader) column(f *shardify.Field, at *index.ColumnTensors, lo, hi int64, mem *shardify.Arena) (c shardify.Column, err error) {
	c.Field = *f
	samples := [2]int64{lo, hi}
	for _, offsets := range []int{at.Offsets, at.Offsets1} {
		if offsets >= 0 {
			if lo, hi, err = r.offsets(&c, offsets, lo, hi, mem); err != nil {
				return c, err
			}
		}
	}
	if c.Data, err = r.rows(at.Values, lo, hi, mem); err == nil && at.Valid >= 0 {
		c.Valid, err = r.rows(at.Valid, samples[0], samples[1], mem)
	}
	return c, err
}

// offsets appends entries [lo, hi] of an offsets tensor to the column, from 0,
// and returns which items they select.
func (r *reader) offsets(c *shardify.Column, tensor int, lo, hi int64, mem *shardify.Arena) (from, to int64, err error) {
	l := &r.lists[tensor]
	if l.o == nil {
		b, err := r.bytes(tensor, lo, hi+1, mem)
		if err != nil {
			return 0, 0, err
		}
		end := hi // the span that follows begins with entry hi
		if r.final {
			end++
		}
		r.prove(tensor, lo, b[:(end-lo)*8])
		o := shardify.View[int64](b)
		l.o, l.lo, l.hi = o, o[0], o[len(o)-1]
		for i := range o {
			o[i] -= l.lo
		}
	}
	c.Offsets = append(c.Offsets, l.o)
	return l.lo, l.hi, nil
}

func (r *reader) rows(tensor int, lo, hi int64, mem *shardify.Arena) ([]byte, error) {
	b, err := r.bytes(tensor, lo, hi, mem)
	if err == nil {
		r.prove(tensor, lo, b)
	}
	return b, err
}

// prove passes on the CRC-32C of what was read of a tensor from step lo on.
func (r *reader) prove(tensor int, lo int64, b []byte) {
	object, ok := r.src.object(r.shard, tensor)
	if !ok || len(b) == 0 {
		return
	}
	t, from := &r.head.Places[tensor], lo*r.head.Tensors[tensor].Row
	r.batch.Proofs = append(r.batch.Proofs, shardify.Proof{
		Input: uint32(r.input), Object: object, Lo: from, Hi: from + int64(len(b)), Sum: index.CRC32C(0, b),
		Total: t.Hi - t.Lo, Want: r.head.CRC32C[tensor], Castagnoli: true,
	})
}

// bytes reads steps [lo, hi) of a tensor's first dimension. The header was
// checked against the file's size, so no more is allocated than the file has.
func (r *reader) bytes(tensor int, lo, hi int64, mem *shardify.Arena) ([]byte, error) {
	b := mem.Alloc(int((hi - lo) * r.head.Tensors[tensor].Row))
	return b, r.head.Read(b, tensor, lo)
}
