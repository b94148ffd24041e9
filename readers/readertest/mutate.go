package readertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// What a damaged input may take of time and of memory.
const (
	mutationTime   = 20 * time.Second
	mutationMemory = 512 << 20
)

// Interesting are the numbers at which lengths, counts and offsets go wrong.
var Interesting = []uint64{
	0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 1 << 16, 1 << 24, 0x40000000,
	1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1,
}

// Mutants is a test over damaged files of one format: no panic, no hang, little memory,
// and errors of a kind.
type Mutants struct {
	Format string // of the names of files that are kept: "npz"
	Quick  int    // how many, unless the environment says otherwise
	Seeds  int    // files that Make damages, for the report
	// Make damages a file. rng is all that it depends on.
	Make func(rng *rand.Rand) Mutant
	// Kind reports whether an error is about the data.
	Kind func(error) bool
}

// Mutant is a damaged file.
type Mutant struct {
	Seed string // the name of the file that was damaged; its extension is the mutant's
	Data []byte
	Read func(name string) (Walked, error)
}

// Walked is how far reading came.
type Walked struct {
	Opened, Reached, Whole bool // Reached: the decoder of values
}

// Run makes and reads them. SHARDIFY_MUTATIONS is their number.
func (m *Mutants) Run(t *testing.T) {
	count := Mutations(t, m.Quick)
	// The heap is to be what is in use, not what waits to be collected, least of all
	// from other tests.
	runtime.GC()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(mutationMemory / 2))
	w := Watch{Limit: mutationTime, Memory: mutationMemory}
	defer w.Start()()
	dir := t.TempDir()
	var opened, reached, whole int
	for i := range count {
		x := m.one(t, &w, dir, uint64(i))
		if t.Failed() {
			return
		}
		opened, reached, whole = opened+one(x.Opened), reached+one(x.Reached), whole+one(x.Whole)
	}
	t.Logf("%d mutated files from %d seeds: %d opened, %d reached the value decoder (%.0f %%), %d were read to the end; 0 panics, 0 hangs, heap at most %s",
		count, m.Seeds, opened, reached, 100*float64(reached)/float64(count), whole, shardify.FormatSize(w.Heap()))
	if count >= 200 && reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the value decoder", reached, count)
	}
}

func (m *Mutants) one(t *testing.T, w *Watch, dir string, i uint64) (x Walked) {
	w.Begin(i)
	mutant := m.Make(rand.New(rand.NewPCG(21, i)))
	ext := filepath.Ext(mutant.Seed)
	defer w.Judge(t, i, mutant.Seed, mutant.Data, fmt.Sprintf("%s-mutation-%d%s", m.Format, i, ext))
	name := filepath.Join(dir, "m"+ext)
	if err := os.WriteFile(name, mutant.Data, 0o666); err != nil {
		t.Fatal(err)
	}
	x, err := mutant.Read(name)
	if err != nil && !m.Kind(err) {
		t.Errorf("mutation %d of %s: error of no kind: %v", i, mutant.Seed, err)
	}
	return x
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mostSpans ends a walk: a small file may legally hold much that is compressed well.
const mostSpans = 200

// Walk opens a source that may be damaged and reads it in order, as far as it can be.
// seen, if any, is shown every batch.
func Walk(open func(context.Context) (shardify.Source, error), target int64, seen func(*shardify.Batch)) (w Walked, err error) {
	ctx := context.Background()
	src, err := open(ctx)
	if err != nil {
		return w, err
	}
	defer src.Close()
	w.Opened = true
	if err := shardify.ValidateSchema(src.Schema()); err != nil {
		return w, err
	}
	r, err := src.Reader(0)
	if err != nil {
		return w, err
	}
	defer func() { r.Close() }()
	run, spans := uint32(0), 0
	pool := shardify.NewPool(64 << 20)
	for sp, err := range src.Spans(ctx, target) {
		if err != nil {
			return w, err
		}
		if sp.Run != run {
			next, err := src.Reader(sp.Run)
			if err != nil {
				return w, err
			}
			r.Close()
			r, run = next, sp.Run
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return w, err
		}
		w.Reached = true
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			err = b.Match(src.Schema())
		}
		if err == nil && seen != nil {
			seen(b)
		}
		mem.Release()
		if err != nil {
			return w, err
		}
		if spans++; spans == mostSpans {
			return w, nil
		}
	}
	w.Whole = true
	return w, nil
}

// FuzzState opens damaged states beside intact files. open opens a case with the state
// of an earlier Open, or without for nil.
func FuzzState(f *testing.F, cases int, open func(which int, state []byte) (shardify.Source, error)) {
	for i := range cases {
		src, err := open(i, nil)
		if err != nil {
			f.Fatal(err)
		}
		state, err := src.(format.Stater).State()
		if err != nil {
			f.Fatal(err)
		}
		src.Close()
		f.Add(state, byte(i))
	}
	f.Fuzz(func(t *testing.T, state []byte, which byte) {
		src, err := open(int(which)%cases, append([]byte{}, state...))
		if err != nil {
			return
		}
		defer src.Close()
		ctx := context.Background()
		pool := shardify.NewPool(64 << 20)
		spans := 0
		for sp, err := range src.Spans(ctx, 1<<20) {
			if spans++; err != nil || spans > 50 || sp.Bytes > 1<<28 || sp.Samples() > 1<<20 {
				return
			}
			r, err := src.Reader(sp.Run)
			if err != nil {
				return
			}
			mem, err := pool.Grant(ctx, sp.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := r.Read(ctx, sp, mem); err == nil && b.Check() != nil {
				t.Errorf("%+v: %v", sp, b.Check())
			}
			mem.Release()
			r.Close()
		}
	})
}
