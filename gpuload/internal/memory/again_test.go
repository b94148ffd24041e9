package memory

import (
	"testing"
	"unsafe"
)

func TestAgain(t *testing.T) {
	const limit = 40 << 20
	a := Again{}
	get := func(n int64) []byte {
		t.Helper()
		b, err := a.Get(n, limit)
		if err != nil || int64(len(b)) != n {
			t.Fatalf("%d bytes: %d, %v", n, len(b), err)
		}
		b[0], b[n-1] = 1, 1
		return b
	}
	first := get(10 << 20)
	a.Put(first)
	if again := get(9 << 20); unsafe.SliceData(again) != unsafe.SliceData(first) {
		t.Error("memory of nearly the same size is not used again")
	} else {
		a.Put(again)
	}
	if small := get(1 << 20); unsafe.SliceData(small) == unsafe.SliceData(first) {
		t.Error("a small piece has the memory of a large one")
	}
	held := [][]byte{get(20 << 20)}
	if a.kept < 10<<20 {
		t.Errorf("%d bytes are kept with room for them", a.kept)
	}
	held = append(held, get(12<<20))
	if a.kept != 0 || a.used > limit {
		t.Errorf("%d bytes are kept beside %d in use, at most %d are allowed", a.kept, a.used, limit)
	}
	a.Put(held[0])
	a.Put(get(4 << 20))
	if a.kept > a.used {
		t.Errorf("%d bytes are kept beside %d in use", a.kept, a.used)
	}
	a.Close()
	if a.Put(held[1]); a.kept != 0 {
		t.Errorf("%d bytes are kept after Close", a.kept)
	}
}
