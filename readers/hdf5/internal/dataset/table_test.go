package dataset

import (
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"math/rand/v2"
	"strings"
	"testing"
)

func testMeta() *meta.File {
	f := meta.New(nil, 1<<40, "test", 0)
	f.OffsetSize, f.LengthSize, f.EOF = 8, 8, 1<<40
	return f
}

// A table finds what was put into it, dense or sparse, in any order.
func TestChunkTableFindsItsChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		rank := 1 + rng.IntN(3)
		ds := &Dataset{File: testMeta(), Layout: layout{ChunkBytes: 10, EdgeUnfiltered: rng.IntN(2) == 0}}
		if rng.IntN(2) == 0 {
			ds.Filters = []heap.Filter{{ID: 1}}
		}
		for range rank {
			c := 1 + rng.Int64N(5)
			ds.Layout.ChunkDims = append(ds.Layout.ChunkDims, c)
			ds.Space.Dims = append(ds.Space.Dims, 1+rng.Int64N(1+c*(1<<rng.IntN(14))/int64(rank)))
		}
		b, err := ds.newTable()
		if err != nil {
			t.Fatal(err)
		}
		want := map[int64]Chunk{}
		b.expect(rng.Int64N(2000))
		for range rng.IntN(500) {
			n := rng.Int64N(b.total)
			if _, ok := want[n]; ok {
				continue
			}
			c := Chunk{Addr: rng.Int64N(1 << 30), Size: 10}
			if len(ds.Filters) > 0 {
				c.Size, c.Mask = rng.Int64N(20), uint32(rng.IntN(2))
			}
			if err := b.add(n, c.Addr, c.Size, c.Mask); err != nil {
				t.Fatal(err)
			}
			want[n] = c
		}
		table, err := b.finish()
		if err != nil {
			t.Fatal(err)
		}
		if table.Stored() != len(want) {
			t.Fatalf("%d chunks, want %d", table.Stored(), len(want))
		}
		coord := make([]int64, rank)
		for n, w := range want {
			table.Coord(n, coord)
			for i, k := range coord {
				d, c := ds.Space.Dims[i], ds.Layout.ChunkDims[i]
				if len(ds.Filters) > 0 && ds.Layout.EdgeUnfiltered && (k+1)*c > d {
					w.Size, w.Mask = 10, AllFilters
				}
			}
			if got, ok := table.Get(table.number(coord)); !ok || got != w {
				t.Fatalf("chunk %d of %v: %+v, want %+v", n, table.Grid, got, w)
			}
		}
		last, seen := int64(-1), 0
		for n := range table.All {
			if _, ok := want[n]; !ok || n <= last {
				t.Fatalf("All gives %d after %d", n, last)
			}
			last = n
			seen++
		}
		for range 50 {
			n := rng.Int64N(b.total + 10)
			if _, ok := table.Get(n); ok != (want[n] != Chunk{}) {
				t.Fatalf("Get(%d) = %v", n, ok)
			}
		}
		if seen != len(want) {
			t.Fatalf("All gives %d of %d", seen, len(want))
		}
	}
}

func TestAChunkTwiceIsCorruptInSparseTables(t *testing.T) {
	for _, dim := range []int64{10, 1 << 40} {
		ds := &Dataset{File: meta.New(nil, 1000, "", 0), Space: datatype.Space{Dims: []int64{dim}}, Layout: layout{ChunkBytes: 1, ChunkDims: []int64{1}}}
		b, err := ds.newTable()
		if err != nil {
			t.Fatal(err)
		}
		b.expect(2)
		for _, n := range []int64{5, 3, 5} {
			if err == nil {
				err = b.add(n, 7, 1, 0)
			}
		}
		if err == nil {
			_, err = b.finish()
		}
		if err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%d: %v", dim, err)
		}
	}
}

// Numbers over the largest extent become numbers of the current one, whichever
// dimension was moved to the front.
func TestNumbersOfTheLargestExtent(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		rank := 1 + rng.IntN(4)
		ds := &Dataset{File: testMeta()}
		for range rank {
			c := 1 + rng.Int64N(3)
			d := 1 + rng.Int64N(8)
			ds.Layout.ChunkDims = append(ds.Layout.ChunkDims, c)
			ds.Space.Dims = append(ds.Space.Dims, d)
			ds.Space.MaxDims = append(ds.Space.MaxDims, d+rng.Int64N(4)*rng.Int64N(4))
		}
		unlimited := rng.IntN(rank+1) - 1
		if unlimited >= 0 {
			ds.Space.MaxDims[unlimited] = datatype.Unlimited
		}
		b, err := ds.newTable()
		if err != nil {
			t.Fatal(err)
		}
		m, err := ds.maximalGrid(b, unlimited)
		if err != nil {
			t.Fatal(err)
		}
		// Every chunk of the current extent: its number by the definition.
		coord := make([]int64, rank)
		hits := int64(0)
		for n := range b.total {
			b.t.Coord(n, coord)
			i := int64(0)
			if unlimited >= 0 {
				i = coord[unlimited]
			}
			for k := range rank {
				if k != unlimited {
					i = i*gridSize(ds.Space.MaxDims[k], ds.Layout.ChunkDims[k]) + coord[k]
				}
			}
			if got, ok := m.number(i); !ok || got != n {
				t.Fatalf("dims %v max %v chunks %v unlimited %d: number(%d) = %d, %v, want %d", ds.Space.Dims, ds.Space.MaxDims, ds.Layout.ChunkDims, unlimited, i, got, ok, n)
			}
			hits++
		}
		for i := range int64(2000) {
			if _, ok := m.number(i); ok {
				hits--
			}
		}
		if hits > 0 && b.total <= 100 {
			t.Logf("dims %v: %d numbers lie beyond 2000", ds.Space.Dims, hits)
		}
		if hits < 0 {
			t.Fatalf("dims %v max %v: numbers outside of the extent are taken for inside", ds.Space.Dims, ds.Space.MaxDims)
		}
	}
}
