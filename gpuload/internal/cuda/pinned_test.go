//go:build linux

package cuda

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify/tests/fakecuda"
)

func TestPoolsAreRegisteredInChunksAtRowEdges(t *testing.T) {
	for _, c := range []struct{ row, limit, want int64 }{
		{0, 1 << 30, 1 << 30},
		{1, 1 << 30, 1 << 30},
		{64, 1 << 30, 1 << 30},
		{600000, 1 << 30, 937500 * 1024}, // 1600 rows of 600000 bytes, in huge pages
		{12345, 1 << 30, 1062058 * 1011},
		{600001, 1 << 30, 1 << 30}, // no common multiple that small
		{24, 64 << 10, 60 << 10},
	} {
		got := chunkFor(c.row, c.limit)
		if got <= 0 || got > c.limit || got%pageBytes != 0 {
			t.Errorf("row %d, limit %d: chunk %d is not whole pages", c.row, c.limit, got)
		}
		if c.row > 1 && c.row != 600001 && got%c.row != 0 {
			t.Errorf("row %d: chunk %d is not whole rows", c.row, got)
		}
		if got < c.limit/2 {
			t.Errorf("row %d: chunk %d of a limit of %d", c.row, got, c.limit)
		}
	}
	f := newFake(t)
	d := f.open(t, Options{Chunk: 64 << 10})
	b, err := d.Alloc(1<<20, 24)
	check(t, err)
	if n := f.Calls()["cuMemHostRegister_v2"]; n != 18 { // 257 pages, 15 each
		t.Errorf("%d registrations, want 18", n)
	}
	if d.Pinned() != 257*4096 {
		t.Errorf("%d bytes pinned", d.Pinned())
	}
	check(t, d.Free(b))
	if d.Pinned() != 0 {
		t.Errorf("%d bytes pinned after Free", d.Pinned())
	}
}

// TestCopiesNeverSpanRegistrations sends what crosses many edges; the driver
// refuses a copy that does.
func TestCopiesNeverSpanRegistrations(t *testing.T) {
	d := newFake(t).open(t, Options{Chunk: 4096})
	b, back := alloc(t, d, 100_000), alloc(t, d, 100_000)
	for i := range b {
		b[i] = byte(i % 251)
	}
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{100_000}})
	check(t, err)
	check(t, s.Send(0, b[1:]))
	check(t, s.Done("batch"))
	check(t, s.Wait(t.Context()))
	check(t, d.Fetch(t.Context(), back[:99_999], s.Ptr(0)))
	if string(back[:99_999]) != string(b[1:]) {
		t.Error("other bytes came back")
	}
}

func TestPinningFallsBackToTheDriversOwnMemory(t *testing.T) {
	f := newFake(t)
	d := f.open(t, Options{})
	f.Configure(fakecuda.Mode, "noregister")
	b := alloc(t, d, 5000)
	if f.Calls()["cuMemHostAlloc"] != 1 {
		t.Error("not by cuMemHostAlloc")
	}
	for i, v := range b {
		if v != 0 {
			t.Fatalf("byte %d is %d, want zeros", i, v)
		}
	}
	f.Configure(fakecuda.Fail, "cuMemHostAlloc:1:2")
	_, err := d.Alloc(5000, 0)
	if err == nil || !strings.Contains(err.Error(), "cuMemHostRegister_v2: CUDA error 801") || !strings.Contains(err.Error(), "cuMemHostAlloc: CUDA error 2 CUDA_ERROR_OUT_OF_MEMORY") {
		t.Errorf("%v: want both causes", err)
	}
	check(t, d.Free(b))
}

func TestRegisterOfTheCallersMapping(t *testing.T) {
	m, err := unix.Mmap(-1, 0, 3*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
	check(t, err)
	defer unix.Munmap(m)
	f := newFake(t)
	d := f.open(t, Options{})
	check(t, d.register(m, false))
	if err := d.register(m, false); code(err) != codeAlreadyRegistered {
		t.Errorf("%v: want error 712 of a second registration", err)
	}
	if d.find(addressOf(m)+4096, 8192) == nil || d.find(addressOf(m)+4096, 8193) != nil {
		t.Error("the range is not found")
	}
	check(t, d.Free(m))
	check(t, d.register(m, true))
	check(t, d.Free(m))
	m[0] = 1 // still mapped
	if err := d.Free(m); err == nil {
		t.Error("a second Free is not noticed")
	}
	if err := d.register(m[1:], false); err == nil {
		t.Error("half a page was registered")
	}
	f.Configure(fakecuda.Mode, "noreadonly")
	check(t, d.Close())
	d = f.open(t, Options{})
	if err := d.register(m, true); code(err) != codeNotSupported {
		t.Errorf("%v: want 801", err)
	}
}

func TestOnlyPinnedMemoryIsSent(t *testing.T) {
	d := newFake(t).open(t, Options{})
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{64}, Rows: 4})
	check(t, err)
	if err := s.Send(0, make([]byte, 64)); err == nil || !strings.Contains(err.Error(), "not pinned") {
		t.Error(err)
	}
	if err := move(s, 0, []int64{0}, 16, Source{Host: make([]byte, 64), Rows: 4}); err == nil || !strings.Contains(err.Error(), "not pinned") {
		t.Error(err)
	}
	if errors.Is(err, errLost) {
		t.Error("a refused call is no lost context")
	}
}
