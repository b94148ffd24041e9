package gpuload

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// A detached tensor is its holder's alone: neither later batches nor Release nor Close
// write to it, whatever tier and column it is of. Freed memory becomes that of later batches.
func TestDetachedTensorsStayAsTheyAre(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[100],hits:f32*", samples: 400}))
	for _, c := range []Config{
		{Batch: 50, Shuffle: Global, Tier: TierPinned},
		{Batch: 50, Shuffle: Block, Tier: TierStream, ShuffleWindow: 100},
		{Batch: 50, Tier: TierStream},
		{Batch: 50, Synthetic: true},
	} {
		l := mustLoader(t, d, c)
		type kept struct {
			d   *Detached
			was []byte
		}
		var all []kept
		places := map[uintptr]bool{}
		n := 0
		for range 3 {
			err := readAll(l, func(b *Batch) {
				for k, col := range []string{"x", "hits"} {
					x, err := b.Tensor(col)
					if err != nil {
						t.Fatal(err)
					}
					was := slices.Clone(x.Data)
					m, err := b.Detach(x)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(m.Data, was) {
						t.Fatalf("%+v: %s changed when it was detached", c, col)
					}
					if k == 0 {
						places[load.Address(m.Data)] = true
						n++
					}
					if n%4 == 0 {
						all = append(all, kept{m, was})
					} else {
						m.Free()
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(places) > n*3/4 {
			t.Errorf("%+v: %d blocks for %d batches", c, len(places), n)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for i, k := range all {
			if !slices.Equal(k.d.Data, k.was) {
				t.Errorf("%+v: tensor %d of %d changed while it was held", c, i, len(all))
			}
			k.d.Free()
		}
	}
}

func TestDetachOfWhatTheBatchHasNotIsAnError(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[100]", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 50})
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, _ := b.Tensor("x")
	m, err := b.Detach(x)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	if _, err := b.Detach(x); err == nil {
		t.Error("no error for a tensor that is detached already")
	}
	b.Release()
	if _, err := b.Detach(x); err != ErrReleased {
		t.Errorf("after Release: %v", err)
	}
}
