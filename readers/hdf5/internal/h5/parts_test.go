package h5

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEncIsTheNumberOfBytes(t *testing.T) {
	for n, want := range map[uint64]int{0: 1, 1: 1, 255: 1, 256: 2, 65535: 2, 65536: 3, 1<<24 - 1: 3, 1 << 24: 4, 1<<64 - 1: 8} {
		if got := enc(n); got != want {
			t.Errorf("enc(%d) = %d, want %d", n, got, want)
		}
	}
}

// The cache returns the bytes of the file, however small it is.
func TestCachedBytesAreTheFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	file := make([]byte, 5*blockSize+123)
	for i := range file {
		file[i] = byte(rng.Uint32())
	}
	c := newBlocks(bytes.NewReader(file), int64(len(file)), 1)
	for range 5000 {
		off := rng.IntN(len(file))
		n := rng.IntN(min(len(file)-off, 1<<rng.IntN(18)) + 1)
		b, err := c.bytes(int64(off), n)
		if err != nil || !bytes.Equal(b, file[off:off+n]) {
			t.Fatalf("%d bytes at %d: %v", n, off, err)
		}
	}
	if len(c.m) > cap(c.ring) {
		t.Errorf("%d blocks kept, at most %d", len(c.m), cap(c.ring))
	}
}

// A table finds what was put into it, dense or sparse, in any order.
func TestChunkTableFindsItsChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		rank := 1 + rng.IntN(3)
		ds := &Dataset{f: &File{size: 1 << 40}, Layout: Layout{ChunkBytes: 10, EdgeUnfiltered: rng.IntN(2) == 0}}
		if rng.IntN(2) == 0 {
			ds.Filters = []Filter{{ID: 1}}
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
			if got, ok := table.At(coord); !ok || got != w {
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
		ds := &Dataset{f: &File{size: 1000}, Space: Space{Dims: []int64{dim}}, Layout: Layout{ChunkBytes: 1, ChunkDims: []int64{1}}}
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
		ds := &Dataset{f: &File{}}
		for range rank {
			c := 1 + rng.Int64N(3)
			d := 1 + rng.Int64N(8)
			ds.Layout.ChunkDims = append(ds.Layout.ChunkDims, c)
			ds.Space.Dims = append(ds.Space.Dims, d)
			ds.Space.MaxDims = append(ds.Space.MaxDims, d+rng.Int64N(4)*rng.Int64N(4))
		}
		unlimited := rng.IntN(rank+1) - 1
		if unlimited >= 0 {
			ds.Space.MaxDims[unlimited] = Unlimited
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

func TestHeapServesElementsFromABoundedCache(t *testing.T) {
	f := openBytes(t, readTestdata(t, "old.h5"))
	read := func(path string) ([]byte, *Dataset) {
		l, err := f.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		o, err := f.Object(l.Addr, path)
		if err != nil {
			t.Fatal(err)
		}
		ds, err := o.Dataset()
		if err != nil {
			t.Fatal(err)
		}
		n, _ := ds.Space.bytes(ds.Type.Size)
		b, err := f.view(ds.Layout.Addr, n, "data")
		if err != nil {
			t.Fatal(err)
		}
		return b, ds
	}
	for _, limit := range []int64{0, 1} {
		h := f.NewHeap(limit)
		b, ds := read("/text")
		for i, want := range []string{"one", "", "three"} {
			got, err := h.View(b[i*ds.Type.Size:], 1)
			if err != nil || string(got) != want {
				t.Errorf("text %d: %q, %v", i, got, err)
			}
		}
		b, ds = read("/vlen")
		for i, want := range []int{3, 0, 1} {
			got, err := h.Append(nil, b[i*ds.Type.Size:], 4)
			if err != nil || len(got) != 4*want || h.Count(b[i*ds.Type.Size:]) != int64(want) {
				t.Errorf("vlen %d: %x, %v", i, got, err)
			}
		}
		if _, err := h.View(b, 5); err == nil {
			t.Error("more bytes than the object has are returned")
		}
		dst := make([]byte, 0, 100)
		if n := testing.AllocsPerRun(100, func() { dst, _ = h.Append(dst[:0], b, 4) }); n != 0 {
			t.Errorf("%v allocations per element", n)
		}
	}
}
