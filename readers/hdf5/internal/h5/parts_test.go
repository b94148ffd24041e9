package h5

import (
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"testing"
)

func TestHeapServesElementsFromABoundedCache(t *testing.T) {
	f := openBytes(t, readTestdata(t, "old.h5"))
	read := func(path string) ([]byte, *dataset.Dataset) {
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
		n, _ := ds.Space.Bytes(ds.Type.Size)
		b, err := f.View(ds.Layout.Addr, n, "data")
		if err != nil {
			t.Fatal(err)
		}
		return b, ds
	}
	for _, limit := range []int64{0, 1} {
		h := heap.New(f.File, limit)
		b, ds := read("/text")
		for i, want := range []string{"one", "", "three"} {
			got, err := h.View(b[i*ds.Type.Size:], 1)
			if err != nil || string(got) != want {
				t.Errorf("text %d: %q, %v", i, got, err)
			}
		}
		b, ds = read("/vlen")
		for i, want := range []int{3, 0, 1} {
			got, err := h.View(b[i*ds.Type.Size:], 4)
			if err != nil || len(got) != 4*want {
				t.Errorf("vlen %d: %x, %v", i, got, err)
			}
		}
		if _, err := h.View(b, 5); err == nil {
			t.Error("more bytes than the object has are returned")
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = h.View(b, 4) }); n != 0 {
			t.Errorf("%v allocations per element", n)
		}
	}
}
