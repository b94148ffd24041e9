package verify

import (
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify/problem"
)

// TestEveryFlippedByteIsFound damages the published files of a small set one byte
// at a time. The long form takes every byte, and in each all eight bits and all
// at once; the short one some
// 25 bytes of each file and one of these.
func TestEveryFlippedByteIsFound(t *testing.T) {
	race.Sequential(t)
	quick(t)
	long := os.Getenv("SHARDIFY_LONG") != ""
	for _, format := range []string{"mmap", "wds", "mds", "megatron", "tfrecord", "parquet", "arrow", "arrayrecord"} {
		t.Run(format, func(t *testing.T) {
			m := build(t, format, small(t, format), 2)
			f := flips{t: t, set: m}
			for _, name := range published(m) {
				step := len(m.Files()[name])/25 + 1
				for i := range m.Files()[name] {
					switch {
					case long:
						for bit := range 8 {
							f.flip(name, i, 1<<bit)
						}
						f.flip(name, i, 0xff)
					case i%step == len(name)%step:
						f.flip(name, i, []byte{1, 2, 4, 8, 16, 32, 64, 128, 255}[i/step%9])
					}
				}
			}
			t.Logf("%s: %d flips in %d files, all found in the right file; %d placed exactly, %d in the same block of 512 bytes, %d named the tensor or member",
				format, f.all, len(published(m)), f.exact, f.near, f.named)
		})
	}
}

type flips struct {
	t                       *testing.T
	set                     *memory.Store
	all, exact, near, named int
}

func (f *flips) flip(name string, i int, mask byte) {
	f.t.Helper()
	bad := slices.Clone(f.set.Files()[name])
	bad[i] ^= mask
	d := f.set.Clone()
	d.Set(name, bad)
	r := check(f.t, d, nil)
	var here, at, near, named bool
	for _, p := range r.Problems {
		if p.File != name || p.Note {
			continue
		}
		here = true
		at = at || p.Offset == int64(i)
		near = near || p.Offset >= 0 && p.Offset/tar.Block == int64(i)/tar.Block
		named = named || p.Object != ""
	}
	if !here || r.OK() || r.Err() == nil {
		f.t.Fatalf("%s byte %d changed by %#02x is not found in that file:%s", name, i, mask, list(r))
	}
	f.all++
	switch {
	case at:
		f.exact++
	case near:
		f.near++
	case named:
		f.named++
	}
}

func TestAFlippedBitInATextIsPlaced(t *testing.T) {
	race.Sequential(t)
	for _, format := range []string{"mmap", "wds", "mds", "megatron", "tfrecord", "parquet", "arrow"} {
		m := build(t, format, small(t, format), 4)
		for _, name := range published(m) {
			good := m.Files()[name]
			i := len(good) / 3
			bad := slices.Clone(good)
			bad[i] ^= 0x10
			d := m.Clone()
			d.Set(name, bad)
			r := check(t, d, nil)
			if !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.File == name && p.Offset == int64(i) }) {
				t.Errorf("%s byte %d of %d:%s", name, i, len(good), list(r))
			}
			if name == index.ManifestName && r.Counts.ShardsRead == 0 {
				t.Errorf("%s: nothing was checked with the repaired manifest", name)
			}
		}
	}
}

func TestFlipSearchEndsWithItsWork(t *testing.T) {
	var work atomic.Int64
	work.Store(1000)
	b := make([]byte, 100)
	if _, _, ok := findFlip(b, &work, func() bool { return true }); ok {
		t.Error("searched beyond its work")
	}
	work.Store(1 << 20)
	if at, mask, ok := findFlip(b, &work, func() bool { return b[42] == 4 }); !ok || at != 42 || mask != 4 || b[42] != 0 {
		t.Errorf("found %d %#x %v, b[42] is %d", at, mask, ok, b[42])
	}
}
