package gpuload

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/index"
)

// TestTheDefaultForTheLastBatch: in the order of the set every sample comes, in a batch
// that is cut, as many on every rank; with a shuffle the rest is left out. A note says so.
func TestTheDefaultForTheLastBatch(t *testing.T) {
	for format, schema := range everyKind {
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 31, shard: 11})
		want := contents(t, format, dir)
		d := mustOpen(t, dir)
		for name, c := range ways() {
			for _, world := range []int{1, 3} {
				short := c.Shuffle == None
				total, steps := 0, map[int]bool{}
				for rank := range world {
					c.Batch, c.Rank, c.World, c.Tier = 7, rank, world, TierStream
					l := mustLoader(t, d, c)
					if l.Steps() == 0 || !strings.Contains(notes(l), map[bool]string{false: "last=short delivers them", true: "last=drop leaves it out"}[short]) {
						t.Errorf("%s on %d ranks: %d steps, notes %q", name, world, l.Steps(), notes(l))
					}
					n := countWhole(t, l)
					epoch := epochIDs(t, l, want)
					if len(epoch) != l.Steps() || len(slices.Concat(epoch...)) != n {
						t.Errorf("%s: %d steps of %d, %d samples and then %d", name, len(epoch), l.Steps(), n, len(slices.Concat(epoch...)))
					}
					total += n
					steps[l.Steps()] = true
					l.Close()
				}
				left := 31 % (7 * world)
				if short {
					left = 0
				}
				if total != 31-left || len(steps) != 1 {
					t.Errorf("%s %s on %d ranks: %d of 31 samples, steps %v", format, name, world, total, steps)
				}
			}
		}
	}
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3]", samples: 30, shard: 11})
	for _, c := range []Config{{Batch: 5}, {Batch: 5, Shuffle: Global}, {Batch: 7, Last: Short}, {Batch: 7, Last: Drop}} {
		if s := notes(mustLoader(t, mustOpen(t, dir), c)); strings.Contains(s, "last=") {
			t.Errorf("%+v: note %q", c, s)
		}
	}
	for _, c := range []Config{{Batch: 7, Weights: make([]float64, 30)}, {Batch: 7, Balance: "x"}} {
		if err := c.check(); err != nil || c.Last != Drop {
			t.Errorf("draws have last=%s by default: %v", c.Last, err)
		}
	}
}

// countWhole is how many samples an epoch has. No tensor has rows without one.
func countWhole(t *testing.T, l *Loader) (n int) {
	t.Helper()
	for {
		b, err := l.Next(bg)
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Batch() != b.Rows() || len(b.IDs()) != b.Rows() || slices.Contains(b.IDs(), -1) {
			t.Fatalf("a batch of %d has %d samples, numbers %v", b.Batch(), b.Rows(), b.IDs())
		}
		for _, name := range b.Columns() {
			x, err := b.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			if o, err := b.Offsets(name); err == nil {
				if o.Shape[0] != int64(b.Rows())+1 || int64(len(o.Data)) != 8*o.Shape[0] {
					t.Fatalf("offsets of %s: %v in %d bytes, of %d samples", name, o.Shape, len(o.Data), b.Rows())
				}
			} else if x.Shape[0] != int64(b.Rows()) || len(x.Data) != len(b.Host(name)) || b.Rows() == 0 && len(x.Data) > 0 {
				t.Fatalf("%s: %v in %d bytes, of %d samples", name, x.Shape, len(x.Data), b.Rows())
			}
		}
		n += b.Rows()
		b.Release()
	}
}
