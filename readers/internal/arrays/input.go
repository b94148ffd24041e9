package arrays

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/openfiles"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/shelf"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/internal/cf"
	"github.com/shardify/shardify/readers/internal/chunks"
	sel "github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/storage"
)

// blob is what the plan keeps of a store.
type blob struct {
	Mode    string       `json:"mode"`
	Why     string       `json:"why"`
	Notes   []string     `json:"notes,omitempty"`
	Objects []blobObject `json:"objects"`
	Chunk   *chunks.Size `json:"chunk,omitempty"` // that makes a sample

	unfilled []string // fields of which fill_value counts as a value
}

// blobObject is an array and the leaves that are fields, in the order of Facts.Fields.
type blobObject struct {
	Path   string      `json:"path"`
	Digest uint64      `json:"digest"` // of its metadata
	Leaves []int       `json:"leaves"`
	Axis   int         `json:"axis,omitempty"`
	Front  int         `json:"front,omitempty"` // the dimension behind it, 0: as stored
	Picks  []sel.Pick  `json:"picks,omitempty"` // what is taken of each, that of the samples first
	Once   bool        `json:"once,omitempty"`  // one value for all samples
	Chars  bool        `json:"chars,omitempty"` // characters along the last dimension are a text
	Lists  string      `json:"lists,omitempty"` // the array that says where the lists begin that its rows are
	By     *lists.Rule `json:"by,omitempty"`    // or the rule of --lists that does
	Whole  bool        `json:"whole,omitempty"` // all chunks were there
	// Missing of Chunks were not, and are what Fill says.
	Missing int64          `json:"missing,omitempty"`
	Chunks  int64          `json:"chunks,omitempty"`
	Fill    string         `json:"fill,omitempty"`
	Units   map[string]any `json:"units,omitempty"` // attributes of the variable that it has the bounds of
	Time    cf.Unit        `json:"time,omitempty"`
}

// place is where a field comes from.
type place struct{ object, leaf int }

// input is an open store.
type input struct {
	file    storage.File
	files   store.Files
	blob    blob
	grids   []*grid
	lists   []*listing // by object: the lists that its rows are; nil of others
	leaves  [][]leaf   // by object
	fields  []place
	samples int64
	shards  *openfiles.Cache[string, *shard]
	shelf   shelf.Shelf
}

// shard is an open shard and its index.
type shard struct {
	blob  storage.Blob
	index []node.Entry
}

func (s *shard) Close() error { return s.blob.Close() }

// maxShards is how many shards of a store are kept open.
const maxShards = 16

func newInput(f storage.File, files store.Files) *input {
	return &input{file: f, files: files, shards: openfiles.New[string, *shard](maxShards)}
}

// Close implements io.Closer.
func (in *input) Close() error { return errors.Join(in.shards.Close(), in.file.Close()) }

func (s *source) openInput(ctx context.Context, f storage.File, at *set.Input) (*input, error) {
	files, err := s.opts.kind.Open(ctx, s.fs, at.Path(), f)
	if err != nil {
		return nil, err
	}
	in := newInput(f, files)
	in.samples = at.Samples
	if err := json.Unmarshal(at.Blob, &in.blob); err != nil {
		return nil, shardify.Corrupt(-1, "state of arrays: %v", err)
	}
	var paths []string
	for i := range in.blob.Objects {
		paths = append(paths, in.blob.Objects[i].Path)
	}
	t, err := s.opts.kind.Reopen(ctx, files, paths)
	if err != nil {
		return nil, err
	}
	for i := range t.Arrays {
		if err := in.add(&t.Arrays[i], i, s.opts); err != nil {
			return nil, err
		}
	}
	for i := range in.blob.Objects {
		l, err := in.listsOf(ctx, &in.blob.Objects[i], i)
		if err != nil {
			return nil, err
		}
		in.lists = append(in.lists, l)
	}
	return in, nil
}

// add makes sure that an array is what the survey found.
func (in *input) add(a *store.Array, i int, opts *settings) error {
	o := &in.blob.Objects[i]
	if a.Err != nil {
		return shardify.Annotate(a.Err, "open", "", cmp.Or(a.Path, "/"))
	}
	g := gridOf(a, o.Axis, o.Front)
	if a.Digest == o.Digest {
		if err := g.selectParts(o.Picks); err != nil {
			return err
		}
	}
	if a.Digest != o.Digest || in.blob.Mode == byAxis && !o.Once && o.Lists == "" && g.rows != in.samples {
		return fmt.Errorf("%w: the metadata of array %s", shardify.ErrChanged, cmp.Or(a.Path, "/"))
	}
	g.all, g.must = o.Whole, opts.chunks == "fail"
	leaves := leavesOf(&a.Type)
	for _, k := range o.Leaves {
		if k < 0 || k >= len(leaves) {
			return shardify.Corrupt(-1, "state of arrays: no leaf %d of %s", k, a.Path)
		}
		if err := leaves[k].decode(a, o.Units, opts.cf); err != nil {
			return err
		}
		leaves[k].inUnit(o.Time)
		leaves[k].chars = o.Chars && leaves[k].typ.Kind == node.Fixed
		in.fields = append(in.fields, place{i, k})
	}
	in.grids, in.leaves = append(in.grids, g), append(in.leaves, leaves)
	return nil
}

// inUnit makes times those of the set's unit.
func (l *leaf) inUnit(u cf.Unit) {
	if l.cf == nil || u == 0 {
		return
	}
	if _, ok := l.cf.Time(); ok {
		l.cf = l.cf.In(u)
	}
}

// shard opens a shard; release it. fs.ErrNotExist: it was never written.
func (in *input) shard(ctx context.Context, g *grid, key string) (*openfiles.Handle[string, *shard], error) {
	return in.shards.Acquire(ctx, key, func(ctx context.Context) (*shard, error) {
		b, err := in.open(ctx, g, key)
		if err != nil {
			return nil, err
		}
		x := &shard{blob: b}
		off, n, err := g.IndexAt(b.Size())
		if err == nil {
			buf := make([]byte, n)
			if err = readAt(b, buf, off); err == nil {
				x.index, err = g.Index(buf, b.Size())
			}
		}
		if err != nil {
			b.Close()
			return nil, err
		}
		return x, nil
	})
}

// open opens the file of a chunk.
func (in *input) open(ctx context.Context, g *grid, key string) (storage.Blob, error) {
	b, err := in.files.Open(ctx, key)
	switch {
	case g.all && errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: it was there", shardify.ErrChanged)
	case errors.Is(err, storage.ErrNotFile):
		return nil, shardify.Corrupt(-1, "not a file")
	case errors.Is(err, storage.ErrOutside):
		return nil, shardify.Unsupported("%v", err)
	case err != nil:
		return nil, err
	case b.Size() == 0:
		b.Close()
		return nil, shardify.Corrupt(0, "an empty file")
	}
	return b, nil
}

// mostStored is how many times the size of its elements a stored chunk can have, beside a few
// bytes: numbers as texts have the most.
const (
	mostStored = 64
	fewStored  = 16 << 20
)

// stored reads the file of a chunk; nil of one that was never written.
func (in *input) stored(ctx context.Context, g *grid, key string, room func(n int64) ([]byte, error)) ([]byte, error) {
	b, err := in.open(ctx, g, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer b.Close()
	most := int64(2 * node.MaxChunk)
	if size := g.PartElements() * int64(g.Type.Size); size > 0 {
		most = min(most, mostStored*size+fewStored)
	}
	if b.Size() > most {
		return nil, shardify.Corrupt(-1, "a chunk of %d bytes: its elements take fewer in any form", b.Size())
	}
	buf, err := room(b.Size())
	if err != nil {
		return nil, err
	}
	return buf, readAt(b, buf, 0)
}

// window is how many chunks of another machine are asked for at the same time.
const window = 32

// fetch gives the stored bytes of jobs, in order; those of a job are valid until the next call.
// From another machine several are on the way at the same time.
func (in *input) fetch(w *work, g *grid, jobs []job) (get func(i int) ([]byte, error), stop func()) {
	if !in.files.Far() || len(jobs) < 2 {
		room := func(n int64) ([]byte, error) { return w.grow(&w.stored, n) }
		return func(i int) ([]byte, error) { return in.stored(w.ctx, g, jobs[i].key, room) }, func() {}
	}
	size := max(g.PartElements()*int64(max(g.Type.Size, 16)), 1)
	n := int(min(max(w.scratch.Share()/size, 2), window, int64(len(jobs))))
	ctx, cancel := context.WithCancel(w.ctx)
	var wg sync.WaitGroup
	type answer struct {
		p   []byte
		err error
	}
	slots, bufs := make([]chan answer, n+1), make([][]byte, n+1)
	for i := range slots {
		slots[i] = make(chan answer, 1)
	}
	ask := func(i int) {
		if i >= len(jobs) {
			return
		}
		wg.Go(func() {
			k := i % (n + 1) // of a job that is done
			p, err := in.stored(ctx, g, jobs[i].key, func(size int64) ([]byte, error) {
				if int64(cap(bufs[k])) < size {
					bufs[k] = make([]byte, size)
				}
				return bufs[k][:size], nil
			})
			slots[k] <- answer{p, err}
		})
	}
	w.ahead = int64(n) * size
	err := w.hold(0)
	for i := range n {
		ask(i)
	}
	get = func(i int) ([]byte, error) {
		a := <-slots[i%(n+1)]
		ask(i + n)
		return a.p, cmp.Or(err, a.err)
	}
	return get, func() {
		cancel()
		wg.Wait()
		w.ahead = 0
	}
}
