package wds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/local"
)

// reader keeps the shard of the last span open. A span is walked twice, once to
// learn the lengths and once to copy the data to where they belong.
type reader struct {
	src   *source
	input int
	shard *shard
	path  string
	file  *os.File
	idx   *os.File
	tar   index.TarWindow
	buf   []byte
	cols  []column // by member
	key   []byte   // of the sample at hand
	last  []byte   // of the one before
}

const (
	// windowBytes is the size of reads of small members.
	windowBytes = 1 << 20
	// directBytes is the length from which data are read to where they belong.
	directBytes = 64 << 10
)

func (r *reader) Close() error {
	if r.input < 0 {
		return nil
	}
	r.input = -1
	return errors.Join(r.file.Close(), r.idx.Close())
}

// open makes shard j of an input the present one.
func (r *reader) open(input, j int) error {
	sh := &r.src.Inputs[input][j]
	if r.input == input && r.shard == sh {
		return nil
	}
	r.Close()
	r.path = r.src.shardPath(input, sh.Name)
	file, err := openFile(r.path, sh.Bytes)
	if err != nil {
		return err
	}
	idx, err := openFile(r.path+index.TarIndexExt, index.TarIndexBytes(sh.Samples))
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.input, r.shard, r.file, r.idx = input, sh, file, idx
	r.tar = index.TarWindow{}
	return nil
}

// window prepares reading of the tar.
func (r *reader) window() error {
	if r.tar.Size() > 0 {
		return nil
	}
	if n := int(min(windowBytes, r.shard.Bytes)); len(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.tar.Reset(r.file, r.shard.Bytes, r.buf)
	_, err := index.CheckTarEnd(&r.tar)
	return err
}

// openFile opens a file that must have this size.
func openFile(name string, size int64) (*os.File, error) {
	f, st, err := local.OpenOwn(name)
	if err == nil && st.Size() != size {
		f.Close()
		err = shardify.Corrupt(-1, "the manifest says %d bytes, the file has %d", size, st.Size())
	}
	if err != nil {
		return nil, shardify.Annotate(err, "open", name, "")
	}
	return f, nil
}

func (r *reader) locate(err error) error { return shardify.Annotate(err, "read", r.path, "") }

// entries reads entries [first, first+len(dst)) of the offset index; b has their
// size.
func (r *reader) entries(dst []int64, b []byte, first int64) error {
	name := r.path + index.TarIndexExt
	if n, err := r.idx.ReadAt(b, first*8); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = shardify.Corrupt(first*8+int64(n), "ends here, %d more bytes expected", len(b)-n)
		}
		return shardify.Annotate(err, "read", name, "")
	}
	return shardify.Annotate(index.DecodeTarIndex(dst, b, first, r.shard.Samples, r.shard.Bytes), "read", name, "")
}

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
	if err := r.open(int(s.Input), j); err != nil {
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
	if err := r.window(); err != nil {
		return nil, err
	}
	n := int(s.Samples())
	raw := mem.Alloc((n + 1) * 8)
	offsets := shardify.View[int64](raw)
	if err := r.entries(offsets, raw, s.Lo-r.shard.lo); err != nil {
		return nil, err
	}
	b := mem.Batch(len(r.src.wanted))
	b.Samples, b.First = n, shardify.ID{Input: s.Input, Sample: s.Lo}
	r.begin(n, mem)
	var keys *shardify.Column
	if r.src.hasKeys() {
		keys = keyColumn(n, mem)
	}
	// Whether to read on or to jump from header to header is known best from the
	// mean size of a member.
	r.tar.Expect((offsets[n] - offsets[0]) / int64(n*len(r.src.members)))
	if err := r.walk(ctx, s.Lo, offsets, keys, (*column).measure); err != nil {
		return nil, err
	}
	if err := r.allocate(keys, n, mem); err != nil {
		return nil, err
	}
	r.tar.Expect((offsets[n] - offsets[0]) / int64(n*len(r.src.members)))
	if err := r.walk(ctx, s.Lo, offsets, keys, (*column).fill); err != nil {
		return nil, err
	}
	r.deliver(b)
	b.Keys = keys
	return b, nil
}

// visitor is a pass over one member of sample i, whose name has an extension of
// this code.
type visitor func(c *column, w *index.TarWindow, i int, e index.TarEntry, code int) error

// walk hands every member of the samples at offsets to visit.
func (r *reader) walk(ctx context.Context, lo int64, offsets []int64, keys *shardify.Column,
	visit visitor) error {
	w := index.TarWalker{TarWindow: &r.tar}
	r.last = r.last[:0]
	for k := range r.cols {
		r.cols[k].seen = 0
	}
	for i := range len(offsets) - 1 {
		if i&63 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		w.Part(offsets[i], offsets[i+1])
		if err := r.sample(&w, i, visit); err != nil {
			return withSample(err, lo+int64(i))
		}
		if keys != nil {
			if err := takeKey(keys, r.key, i); err != nil {
				return withSample(err, lo+int64(i))
			}
		}
		r.key, r.last = r.last, r.key
	}
	return nil
}

// sample walks the members of one sample: all of them, in order, under one key.
func (r *reader) sample(w *index.TarWalker, i int, visit visitor) error {
	r.key = r.key[:0]
	names, seen := r.src.names, 0
	for {
		e, err := w.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(r.key) == 0 {
			if err := r.firstKey(e); err != nil {
				return err
			}
		}
		tail, ok := bytes.CutPrefix(e.Name, r.key)
		k := 0
		for k < len(names) && names[k].tail != string(tail) {
			k++
		}
		if !ok || k == len(names) {
			return withMember(shardify.Corrupt(e.Offset, "a member of sample %s expected here: one of %s", r.key, tails(names)), e)
		}
		n := names[k]
		names = names[k+1:]
		c := &r.cols[n.member]
		if c.seen == i+1 {
			return withMember(shardify.Corrupt(e.Offset, "field %s twice in one sample", c.field.Name), e)
		}
		c.seen = i + 1
		seen++
		if c.wanted {
			if err := visit(c, &r.tar, i, e, n.code); err != nil {
				return withMember(withField(err, c.field.Name), e)
			}
		}
	}
	if seen < len(r.cols) {
		return shardify.Corrupt(-1, "sample %s has %d members, want %d", r.key, seen, len(r.cols))
	}
	return nil
}

func tails(names []name) string {
	var b []byte
	for i := range names {
		b = append(append(b, ' '), names[i].tail...)
	}
	return string(bytes.TrimSpace(b))
}

// firstKey takes the sample's key from its first member.
func (r *reader) firstKey(e index.TarEntry) error {
	key, _, ok := index.SplitKey(e.Name)
	if !ok {
		return withMember(shardify.Corrupt(e.Offset, "no dot in the name"), e)
	}
	if index.CheckKey(key) != nil {
		return withMember(shardify.Corrupt(e.Offset, "%q is no key of this format", key), e)
	}
	if bytes.Equal(key, r.last) {
		return withMember(shardify.Corrupt(e.Offset, "two samples in a row are named %s", key), e)
	}
	if _, ok := index.ParseRowKey(key); !ok && !r.src.survey.Keyed {
		return withMember(shardify.Corrupt(e.Offset, "%s is not the name of a row", key), e)
	}
	r.key = append(r.key, key...)
	return nil
}

func withSample(err error, sample int64) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample = sample })
}

func withField(err error, field string) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Field = field })
}

func withMember(err error, m index.TarEntry) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Object = string(m.Name) })
}
