package order

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestOnce(t *testing.T) {
	for _, c := range []struct {
		list []int64
		want string
	}{
		{[]int64{2, 0, 1}, ""},
		{nil, ""},
		{[]int64{2, 0, 2}, "positions 0 and 2 are both sample 2"},
		{[]int64{0, 3}, "position 1 is sample 3, and samples are numbered 0 to 2"},
		{[]int64{-1}, "position 0 is sample -1"},
	} {
		err := once(c.list, 3)
		if n := int64(1) << 47; err == nil { // of a set that is far larger than the list
			err = once(c.list, n)
		} else if v, ok := twice(c.list, n); ok && !strings.Contains(c.want, "both sample "+strconv.FormatInt(v, 10)) {
			t.Errorf("%v: %d comes twice", c.list, v)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.list, err, c.want)
		}
	}
}

// TestListsOfEpochs: each epoch has the samples that it was given, for any world, from any place on.
func TestListsOfEpochs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for round := range 60 {
		const n = 200
		var lengths []int64
		for range n {
			lengths = append(lengths, r.Int64N(9))
		}
		c := Config{Shuffle: None, Parts: []int64{n}, PerEpoch: true, Indices: []int64{}, Epoch: 9}
		if round%2 == 0 {
			c.Pack = &Packing{Budgets: []Budget{{"n", 8, lengthsOf(lengths)}}, Batch: 7, Window: 1 + r.Int64N(2)*40, Oversize: Refuse}
		}
		o, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		var lists [3][]int64
		for epoch := range 3 {
			list := make([]int64, 0, n)
			for _, v := range r.Perm(n)[:r.IntN(n)+1] {
				list = append(list, int64(v))
			}
			if lists[epoch] = list; o.Known(epoch) || o.LenOf(epoch) != 0 {
				t.Fatal("known before it is given")
			}
			if err := o.Give(epoch, list, epoch-1); err != nil {
				t.Fatal(err)
			}
			if o.Known(epoch-2) || epoch > 0 && !o.Known(epoch-1) || o.LenOf(epoch) != int64(len(list)) {
				t.Fatalf("epoch %d: the lists of others are not kept as was asked", epoch)
			}
			world, batch := 1+r.Int64N(5), int64(1)
			if o.Packs() == nil {
				batch = 1 + r.Int64N(9)
			}
			whole := slices.Concat(slices.Concat(listedSteps(o, epoch, 0, 1, batch)...)...)
			if c.Pack == nil || c.Pack.Window == 1 {
				if !slices.Equal(whole, list) {
					t.Fatalf("round %d: %v, want %v", round, whole, list)
				}
			} else if a, b := slices.Sorted(slices.Values(whole)), slices.Sorted(slices.Values(list)); !slices.Equal(a, b) {
				t.Fatalf("round %d: other samples than given", round)
			}
			from := int64(0)
			if n := o.positions(epoch); n > 0 {
				from = r.Int64N(n)
			}
			rest := slices.Concat(slices.Concat(listedSteps(o, epoch, from, world, batch)...)...)
			if o.Packs() == nil && !reflect.DeepEqual(rest, whole[from:]) || o.Packs() != nil && !slices.Equal(rest, whole[len(whole)-len(rest):]) {
				t.Fatalf("round %d: from %d on %d ranks: %v of %v", round, from, world, rest, whole)
			}
			s := o.State("f", epoch, from)
			if err := s.Matches("f", o); err != nil {
				t.Fatal(err)
			}
			if s.Position = 1; from != 0 {
				other := slices.Clone(list)
				if slices.Reverse(other); len(list) > 1 {
					p, _ := New(c)
					if err := p.Give(epoch, other, epoch); err != nil {
						t.Fatal(err)
					}
					if err := s.Matches("f", p); !errors.Is(err, ErrOrder) {
						t.Fatalf("state of another list: %v", err)
					}
				}
			}
		}
	}
	for _, c := range []Config{{Shuffle: Global}, {Shuffle: None, Indices: []int64{1, 1}}, {Shuffle: None, Weights: []float64{1, 1, 1}}} {
		if c.Parts, c.PerEpoch = []int64{3}, true; c.Indices == nil {
			c.Indices = []int64{0}
		}
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	o, err := New(Config{Shuffle: None, Parts: []int64{3}, PerEpoch: true, Indices: []int64{}, Epoch: 9, Pack: &Packing{Budgets: []Budget{{"n", 8, lengthsOf([]int64{1, 9, 2})}}, Batch: 7, Window: 1, Oversize: Refuse}})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Give(0, []int64{2, 1}, 0); err == nil || !strings.Contains(err.Error(), "sample 1 has n 9, and the budget is 8") {
		t.Error(err)
	}
	if err := o.Give(0, []int64{2, 0}, 0); err != nil {
		t.Error(err)
	}
}

func (o *Order) positions(epoch int) int64 {
	s := Steps{Length: o.Len(), Packs: o.Packs(), Listed: o}
	return s.positions(epoch)
}

// listedSteps are the samples of each rank of each step of an epoch from a position on.
func listedSteps(o *Order, epoch int, from, world, batch int64) [][][]int64 {
	var all [][][]int64
	for rank := range world {
		s := Steps{Length: o.Len(), Batch: batch, Rank: rank, World: world, Last: Short, Together: 1, Packs: o.Packs(), Listed: o}
		for i := range s.Count(epoch, from) {
			st := s.At(epoch, from+i*s.Global())
			ids := make([]int64, st.Rows)
			s.Fill(ids, &st, o.Cursor(epoch))
			if rank == 0 {
				all = append(all, nil)
			}
			all[i] = append(all[i], ids)
		}
	}
	return all
}
