//go:build linux

package cuda

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/tests/fakecuda"
)

// TestTheDeviceComputesTheSamplesOfAnOrder compares the samples that the kernel writes down
// with those of package order, for every kind of shuffle, few samples and many.
func TestTheDeviceComputesTheSamplesOfAnOrder(t *testing.T) {
	for name, f := range map[string]*fake{"source": newFake(t), "PTX": newFake(t, fakecuda.PTX)} {
		t.Run(name, func(t *testing.T) {
			d := f.open(t, Options{})
			for _, n := range []int64{1, 7, 63, 64, 65, 1000, 1023, 1024, 1025, 65536, 65537, 1_000_000, 3_000_000_000} {
				for _, c := range []order.Config{
					{Shuffle: order.None}, {Shuffle: order.Global}, {Shuffle: order.Block, Window: 64, Block: 5, Streams: 1},
					{Shuffle: order.Block, Window: 5000, Block: 512, Streams: 192}, {Shuffle: order.Block, Window: 300, Block: 7, Streams: 6},
				} {
					c.Parts, c.Seed = []int64{n}, 12345
					samplesAreThose(t, d, c, nil)
				}
			}
			c := order.Config{Shuffle: order.Global, Parts: []int64{5000}, Seed: 3}
			for i := range int64(1100) {
				c.Indices = append(c.Indices, 4999-3*i)
			}
			samplesAreThose(t, d, c, c.Indices)
			c.Shuffle, c.Window, c.Block, c.Streams = order.Block, 100, 8, 4
			samplesAreThose(t, d, c, c.Indices)
		})
	}
}

func samplesAreThose(t *testing.T, d *Device, c order.Config, indices []int64) {
	t.Helper()
	o, err := order.New(c)
	check(t, err)
	var table *Window
	if indices != nil {
		b := alloc(t, d, int64(len(indices))*8)
		copy(shardify.View[int64](b), indices)
		table, err = d.NewWindow(int64(len(b)))
		check(t, err)
		check(t, table.Load(0, b))
	}
	const most = 90
	slot, err := d.NewSlot(SlotOptions{Numbers: most})
	check(t, err)
	back := alloc(t, d, most*8)
	for _, s := range []order.Steps{
		{Batch: most, World: 1, Together: 1}, {Batch: 16, Rank: 1, World: 3, Together: 5}, {Batch: 16, Rank: 2, World: 3, Together: 5, Strided: true},
	} {
		s.Length, s.Last, s.Strided = o.Len(), order.Pad, s.Strided || o.Streams() > 1
		for _, at := range []int64{0, o.Len() / 2 / s.Global() * s.Global(), (o.Len() - 1) / s.Global() * s.Global()} {
			epoch := int(at%3) + 1
			step, cursor := s.At(epoch, at), o.Cursor(epoch)
			f, ok := s.Formula(&step, cursor)
			if !ok {
				t.Fatal("no formula")
			}
			want := make([]int64, step.Size)
			s.Fill(want[:step.Rows], &step, cursor)
			for j := step.Rows; j < len(want); j++ {
				want[j] = -1
			}
			check(t, slot.Reuse(t.Context()))
			check(t, slot.Fill("batch", nil, &Batch{Size: step.Size, Rows: int64(step.Rows), Split: step.Size, Formula: &f, Indices: table}))
			check(t, d.Fetch(t.Context(), back[:8*step.Size], slot.Numbers()))
			if have := shardify.View[int64](back[:8*step.Size]); !slices.Equal(have, want) {
				t.Fatalf("%s, step %s: samples %v, want %v", o, fmt.Sprintf("%+v", step), have, want)
			}
		}
	}
	check(t, slot.Close())
	check(t, d.Free(back))
	if table != nil {
		check(t, table.Close())
	}
}

// TestAWindowIsLoadedBehindItsOwnReadersAlone: gathers from another window that began later
// do not delay it.
func TestAWindowIsLoadedBehindItsOwnReadersAlone(t *testing.T) {
	f := newFake(t)
	f.Configure(fakecuda.Order, "late")
	d := f.open(t, Options{})
	h := alloc(t, d, 4096)
	var w [2]*Window
	var s [2]*Slot
	for i := range w {
		var err error
		w[i], err = d.NewWindow(4096)
		check(t, err)
		check(t, w[i].Load(0, h))
		s[i], err = d.NewSlot(SlotOptions{Tensors: []int64{4096}, Rows: 16})
		check(t, err)
	}
	for i := range w {
		check(t, move(s[i], 0, scatter(16), 256, Source{Window: w[i], Rows: 16}))
		check(t, s[i].Done("batch"))
	}
	check(t, w[0].Load(0, h))
	check(t, w[0].Wait(t.Context()))           // runs what it needs, no more
	for i, done := range []bool{true, false} { // the stand-in's device memory is the host's
		if have := memory(uintptr(s[i].Ptr(0)), 4096); bytes.Equal(have, make([]byte, 4096)) != done {
			t.Errorf("slot %d: gathered %v, want %v", i, !done, done)
		}
	}
	check(t, d.Drain(t.Context()))
}
