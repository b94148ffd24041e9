package rntuple

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/race"
)

// readAll reads flats in parts of the given borders, and joins them.
func readAll(n *Ntuple, flats []int, borders []int64, jobs int) ([]shardify.Column, error) {
	s := n.Select(flats)
	r := s.Reader()
	r.Jobs = jobs
	pool := shardify.NewPool(1 << 30)
	var all []shardify.Column
	for i := 1; i < len(borders); i++ {
		mem := pool.Overdraft()
		cols, err := r.Read(context.Background(), borders[i-1], borders[i], mem, nil)
		if err != nil {
			mem.Release()
			return nil, err
		}
		b := shardify.Batch{Samples: int(borders[i] - borders[i-1]), Columns: cols}
		if err := b.Match(s.Fields()); err != nil {
			return nil, err
		}
		if all == nil {
			all = make([]shardify.Column, len(cols))
		}
		for k := range cols {
			join(&all[k], &cols[k])
		}
		mem.Release()
	}
	return all, nil
}

func join(a, b *shardify.Column) {
	if a.Name == "" {
		a.Field = b.Field
		a.Offsets = make([][]int64, b.Levels)
		for l := range a.Offsets {
			a.Offsets[l] = []int64{0}
		}
	}
	a.Data = append(a.Data, b.Data...)
	a.Valid = append(a.Valid, b.Valid...)
	for l, o := range b.Offsets {
		base := a.Offsets[l][len(a.Offsets[l])-1]
		for _, v := range o[1:] {
			a.Offsets[l] = append(a.Offsets[l], base+v)
		}
	}
}

func every(n *Ntuple) []int {
	all := make([]int, len(n.Flats))
	for i := range all {
		all[i] = i
	}
	return all
}

// TestAnyCutGivesTheSame reads in parts that begin and end anywhere.
func TestAnyCutGivesTheSame(t *testing.T) {
	race.Sequential(t)
	for _, f := range expectedFiles(t) {
		for _, n := range openAll(t, f.data) {
			checkCuts(t, f.path, n)
		}
	}
}

func checkCuts(t *testing.T, name string, n *Ntuple) {
	t.Helper()
	whole, err := readAll(n, every(n), []int64{0, n.Entries}, 1)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i, borders := range [][]int64{
		{0, n.Entries / 2, n.Entries}, {0, min(1, n.Entries), n.Entries}, {0, n.Entries * 3 / 7, n.Entries * 3 / 7, n.Entries * 6 / 7, n.Entries},
		parts(n, 20_000), parts(n, 300_000), every7(n.Entries),
	} {
		if testing.Short() && i%3 != 2 {
			continue
		}
		cut, err := readAll(n, every(n), borders, 1+i%3)
		if err != nil {
			t.Errorf("%s in parts %v: %v", name, borders, err)
			continue
		}
		for k := range cut { // nothing at all without entries
			a, b := &whole[k], &cut[k]
			if !bytes.Equal(a.Data, b.Data) || !bytes.Equal(a.Valid, b.Valid) || slices.CompareFunc(a.Offsets, b.Offsets, slices.Compare[[]int64]) != 0 {
				t.Errorf("%s %s in parts %v differs", name, a.Name, borders)
			}
		}
	}
}

func every7(entries int64) []int64 {
	b := []int64{0}
	for e := int64(7); e < entries && len(b) < 20; e += 7 {
		b = append(b, e)
	}
	return append(b, entries)
}

func parts(n *Ntuple, target int64) []int64 {
	b := []int64{0}
	for p := range n.Select(every(n)).Parts(target) {
		if p.Lo != b[len(b)-1] || cmp.Compare(p.Lo, p.Hi) >= 0 {
			panic(fmt.Sprint("parts with a gap ", p))
		}
		b = append(b, p.Hi)
	}
	return b
}
