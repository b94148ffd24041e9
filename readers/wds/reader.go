package wds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// reader keeps the shard of the last span open. A span is walked twice, once to
// learn the lengths and once to copy the data to where they belong.
type reader struct {
	src    *source
	input  int
	shard  *shard
	number uint32 // of the shard
	path   string
	file   storage.File
	idx    *dataset.TarIndex
	walk   *dataset.Walk
	sums   dataset.Prover
	begun  bool // the walk is of the shard, which ends as it should
	buf    []byte
	cols   []column // by member
}

// windowBytes is the size of reads of small members.
const windowBytes = 1 << 20

func (r *reader) Close() error {
	if r.input < 0 {
		return nil
	}
	r.input = -1
	return errors.Join(r.file.Close(), r.idx.Close())
}

// open makes shard j of an input the present one.
func (r *reader) open(ctx context.Context, input, j int) error {
	sh := &r.src.Inputs[input][j]
	if r.input == input && r.shard == sh {
		return nil
	}
	r.Close()
	r.path = r.src.shardPath(input, sh.Name)
	fs := storages.Of(r.src.table)
	file, err := dataset.OpenFile(ctx, fs, r.path, sh.Bytes)
	if err != nil {
		return shardify.Annotate(err, "open", r.path, "")
	}
	idx, err := dataset.OpenTarIndex(ctx, fs, r.path, sh.Samples, sh.Bytes)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.input, r.shard, r.number, r.file, r.idx, r.begun = input, sh, uint32(j), file, idx, false
	return nil
}

// beginShard prepares reading of the tar.
func (r *reader) beginShard() error {
	if r.begun {
		return nil
	}
	if n := int(min(windowBytes, r.shard.Bytes)); len(r.buf) < n {
		r.buf = make([]byte, n)
	}
	if r.walk == nil {
		r.walk = dataset.NewWalk(r.src.tar)
	}
	if err := r.sums.Reset(r.file, r.shard.Bytes, r.number, r.shard.Digest); err != nil {
		return err
	}
	r.walk.Reset(&r.sums, r.shard.Bytes, r.buf)
	_, err := tar.CheckEnd(&r.walk.Window)
	r.begun = err == nil
	return err
}

func (r *reader) locate(err error) error { return shardify.Annotate(err, "read", r.path, "") }

// Read reads a span, which lies within one shard.
func (r *reader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if int64(s.Input) >= int64(len(r.src.Inputs)) || s.Run != 0 {
		return nil, fmt.Errorf("span of input %d, run %d: there are %d inputs without runs", s.Input, s.Run, len(r.src.Inputs))
	}
	shards := r.src.Inputs[s.Input]
	j := sort.Search(len(shards), func(j int) bool { return shards[j].lo+shards[j].Samples > s.Lo })
	if s.Lo < 0 || s.Hi <= s.Lo || j == len(shards) || s.Hi > shards[j].lo+shards[j].Samples {
		return nil, fmt.Errorf("span [%d, %d) is not within one shard", s.Lo, s.Hi)
	}
	if err := r.open(ctx, int(s.Input), j); err != nil {
		return nil, err
	}
	b, err := r.read(ctx, s, mem)
	if err != nil {
		r.Close() // the window may hold half a read
		return nil, r.locate(err)
	}
	return b, nil
}

func (r *reader) read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := r.beginShard(); err != nil {
		return nil, err
	}
	n := int(s.Samples())
	raw := mem.Alloc((n + 1) * 8)
	offsets := shardify.View[int64](raw)
	if err := r.idx.Entries(offsets, raw, s.Lo-r.shard.lo); err != nil {
		return nil, err
	}
	b := mem.Batch(len(r.src.wanted))
	b.Samples, b.First = n, shardify.ID{Input: s.Input, Sample: s.Lo}
	r.begin(n, mem)
	r.sums.Begin(offsets[0])
	var keys *shardify.Column
	if r.src.hasKeys() {
		keys = keyColumn(n, mem)
	}
	// Whether to read on or to jump from header to header is known best from the
	// mean size of a member.
	r.walk.Expect((offsets[n] - offsets[0]) / int64(n*len(r.cols)))
	if err := r.pass(ctx, s.Lo, offsets, keys, (*column).measure); err != nil {
		return nil, err
	}
	if err := r.allocate(keys, n, mem); err != nil {
		return nil, err
	}
	r.walk.Expect((offsets[n] - offsets[0]) / int64(n*len(r.cols)))
	if err := r.pass(ctx, s.Lo, offsets, keys, (*column).fill); err != nil {
		return nil, err
	}
	r.deliver(b)
	b.Keys = keys
	end := offsets[n]
	if s.Hi == r.shard.lo+r.shard.Samples {
		end = r.shard.Bytes
	}
	var err error
	b.Proofs, err = r.sums.End(end, s.Input, b.Proofs)
	return b, err
}

// visitor is a pass over one member of sample i, whose name has an extension of
// this code.
type visitor func(c *column, w *dataset.Walk, i int, e *tar.Entry, code int) error

// pass hands every wanted member of the samples at offsets to visit.
func (r *reader) pass(ctx context.Context, lo int64, offsets []int64, keys *shardify.Column, visit visitor) error {
	for i := range len(offsets) - 1 {
		if i&63 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r.walk.Sample(offsets[i], offsets[i+1])
		err := r.sample(i, visit)
		if err == nil && keys != nil {
			err = takeKey(keys, r.walk.Key, i)
		}
		if err != nil {
			return withSample(err, lo+int64(i))
		}
	}
	return nil
}

// sample passes on the members of one sample.
func (r *reader) sample(i int, visit visitor) error {
	for {
		m, e, code, err := r.walk.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if c := &r.cols[m]; c.wanted {
			if err := visit(c, r.walk, i, e, code); err != nil {
				return dataset.InMember(withField(err, c.Of.Name), e)
			}
		}
	}
}

func withSample(err error, sample int64) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample = sample })
}

func withField(err error, field string) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Field = field })
}
