//go:build linux

package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/race"
)

// consumer is a trainer: it copies what a slot holds on a stream of its own, slowly,
// and compares much later.
type consumer struct {
	d      *Device
	stream uintptr
	out    []byte
	slow   uint64 // nanoseconds that it takes for a batch
}

func (c *consumer) take(s *Slot, tensor int, at, n int64) error {
	if err := s.Ready(c.stream); err != nil {
		return err
	}
	err := c.d.do(func() error {
		if c.slow > 0 {
			if err := c.d.drv.launch(c.d.kernels["spin"], 1, 1, c.stream, []uint64{c.slow}); err != nil {
				return err
			}
		}
		return c.d.drv.copyToHost(addressOf(c.out)+uint64(at), s.Ptr(tensor), n, c.stream)
	})
	return errors.Join(err, s.Release(c.stream))
}

// TestRingDeliversEveryBatchInAnyOrder runs a ring whose streams run late and whose
// host memory is overwritten as early as it may be. A graph capture is in flight all
// the while, and nothing is allocated.
func TestRingDeliversEveryBatchInAnyOrder(t *testing.T) {
	f := newFake(t)
	eachOrder(t, f, func(t *testing.T) { ringDelivers(t, f) })
}

func ringDelivers(t *testing.T, f *fake) {
	const batches, size, depth = 60, 40_000, 3
	d := f.open(t, Options{})
	ctx := within(t, 60*time.Second)
	c := consumer{d, stream(t, d), alloc(t, d, batches*size), 0}
	var slots [depth]*Slot
	var host [depth][]byte
	for i := range slots {
		var err error
		slots[i], err = d.NewSlot(SlotOptions{Tensors: []int64{size, size / 2}})
		check(t, err)
		host[i] = alloc(t, d, size)
	}
	address := slots[1].Ptr(0)
	before := f.Calls()
	f.Capture(1)
	for b := range batches {
		s, h := slots[b%depth], host[b%depth]
		check(t, s.Reuse(ctx))
		fill(h, b)
		check(t, s.Send(0, h))
		check(t, s.Send(1, h[:size/2]))
		check(t, s.Done(fmt.Sprint("batch ", b)))
		check(t, c.take(s, b%2, int64(b*size), size/2))
	}
	check(t, d.do(func() error { return d.drv.streamSynchronize(c.stream) }))
	f.Capture(0)
	want := make([]byte, size)
	for b := range batches {
		fill(want, b)
		if got := c.out[b*size : b*size+size/2]; !bytes.Equal(got, want[:size/2]) {
			t.Fatalf("batch %d holds other bytes", b)
		}
	}
	after := f.Calls()
	for _, name := range []string{"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostRegister_v2", "cuEventCreate", "cuStreamCreateWithPriority", "cuMemFree_v2"} {
		if before[name] != after[name] {
			t.Errorf("%s was called %d times after the ring was made", name, after[name]-before[name])
		}
	}
	if slots[1].Ptr(0) != address {
		t.Error("the address of a tensor changed")
	}
}

func fill(b []byte, batch int) {
	for i := range b {
		b[i] = byte(i*7 + batch*31 + i>>8)
	}
}

func TestATensorMayOutgrowItsSlot(t *testing.T) {
	f := newFake(t)
	eachOrder(t, f, func(t *testing.T) { tensorGrows(t, f) })
}

func tensorGrows(t *testing.T, f *fake) {
	d := f.open(t, Options{})
	h := alloc(t, d, 50_000)
	c := consumer{d, stream(t, d), alloc(t, d, 250_000), 0}
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{0}})
	check(t, err)
	for b := range 5 {
		check(t, s.Reuse(t.Context()))
		fill(h, b)
		n := int64(b) * 10_000
		check(t, s.Send(0, h[:n]))
		check(t, s.Done("batch"))
		check(t, c.take(s, 0, int64(b)*50_000, n))
	}
	check(t, d.do(func() error { return d.drv.streamSynchronize(c.stream) }))
	for b := range 5 {
		fill(h, b)
		if n := b * 10_000; !bytes.Equal(c.out[b*50_000:b*50_000+n], h[:n]) {
			t.Errorf("batch %d holds other bytes", b)
		}
	}
}

func TestSlotsRefuseTheWrongOrderOfCalls(t *testing.T) {
	d := newFake(t).open(t, Options{})
	h := alloc(t, d, 64)
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{64}, Rows: 4})
	check(t, err)
	rows := Source{Host: h, Rows: 4}
	refused := func(says string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: want %q", err, says)
		}
	}
	refused("is not done", s.Ready(0))
	refused("never recorded", d.do(func() error { return d.wait(d.copies, &s.sent) }))
	refused("5 row numbers for 5 rows, of a slot for 4", move(s, 0, []int64{0, 1, 2, 3, 0}, 16, rows))
	refused("0 row numbers for 1 rows", s.Fill("batch", nil, &Batch{Size: 1, Rows: 1, Columns: []Column{{Row: 16, From: [2]Source{rows}}}}))
	refused("row 4 of 4", move(s, 0, []int64{4}, 16, rows))
	refused("row -2 of 4", move(s, 0, []int64{-2}, 16, rows))
	refused("in 64 bytes", move(s, 0, []int64{0}, 16, Source{Host: h, Rows: 5}))
	refused("rows of 0 bytes", move(s, 0, []int64{0}, 0, rows))
	refused("rows up to 5 of 4", s.Fill("batch", nil, &Batch{Size: 1, Rows: 1, Split: 1, Formula: &order.Formula{Kind: order.Permuted, Perm: order.Permutation{N: 5}}, Columns: []Column{{Row: 16, From: [2]Source{rows}}}}))
	check(t, move(s, 0, []int64{3, 1}, 16, rows))
	check(t, s.Done("batch"))
	refused("between Done and Reuse", s.Send(0, h))
	check(t, s.Ready(0))
	check(t, s.Reuse(t.Context()))
	refused("before its consumer released it", s.Send(0, h))
	check(t, s.Release(0))
	check(t, s.Send(0, h))
	// A batch that failed halfway is forgotten.
	check(t, s.Reuse(t.Context()))
	check(t, s.Send(0, h))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check(t, s.Done("batch"))
	if err := s.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// rowsOf fills b with rows in which each byte differs from all others nearby.
func rowsOf(b []byte) {
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8)*29 ^ byte(i>>16)*101
	}
}

var gatherSizes = []int64{1, 3, 4, 7, 8, 12, 16, 24, 64, 100, 513, 1003, 4096, 16384, 70000, 131072}

// TestGatherIsExact gathers rows of all widths by kernel and by copy engine, from host
// memory in small registrations, from a window, into the middle of a slot.
func TestGatherIsExact(t *testing.T) {
	for _, flags := range []string{"-DFAKECUDA_NO_BATCH", fakecuda.Batch12, fakecuda.Batch13} {
		t.Run(flags, func(t *testing.T) {
			f := newFake(t, flags)
			eachOrder(t, f, func(t *testing.T) { gatherExactly(t, f.open(t, Options{Chunk: 64 << 10})) })
			if n := f.Batched(); (n > 0) != strings.Contains(flags, "_BATCH=") {
				t.Errorf("%d copies in batches", n)
			}
			if f.Calls()["cuLaunchKernel"] == 0 {
				t.Error("no kernel was used")
			}
		})
	}
}

// TestKernelSourceIsExact runs kernels.cu itself, compiled for the processor, with all
// its threads.
func TestKernelSourceIsExact(t *testing.T) {
	d := newFake(t).open(t, Options{Chunk: 64 << 10})
	kernelsAreExact(t, d)
}

func kernelsAreExact(t *testing.T, d *Device) {
	for _, grid := range []uint32{1, 3, 24} {
		d.grid, d.wide, d.speed.EngineRow = grid, grid+1, 1<<40
		gatherExactly(t, d)
		castExactly(t, d)
	}
}

// TestThePTXIsExact runs the PTX that ships, with its blocks and threads in three orders.
// Every access of memory is checked: its bounds, its alignment, races.
func TestThePTXIsExact(t *testing.T) {
	race.Sequential(t)
	f := newFake(t, fakecuda.PTX)
	for _, walk := range []string{"0", "1", "2"} {
		t.Run(walk, func(t *testing.T) {
			f.Configure(fakecuda.Walk, walk)
			kernelsAreExact(t, f.open(t, Options{Chunk: 64 << 10}))
		})
	}
}

func gatherExactly(t *testing.T, d *Device) {
	const rows = 20
	host, back := alloc(t, d, rows*131072), alloc(t, d, rows*131072)
	rowsOf(host)
	w, err := d.NewWindow(rows*131072 + 5)
	check(t, err)
	check(t, w.Load(5, host))
	check(t, w.Wait(t.Context()))
	ids := []int64{19, 3, 4, 5, -1, 0, 19, 7, 8, 2}
	for _, row := range gatherSizes {
		s, err := d.NewSlot(SlotOptions{Tensors: []int64{row * 12}, Rows: 12})
		check(t, err)
		h, win := Source{Host: host, Rows: rows}, Source{Window: w, At: 5, Rows: rows}
		for _, from := range [][]Source{{h}, {win}, {h, win}} {
			check(t, s.Reuse(t.Context()))
			check(t, move(s, 0, ids, row, from...))
			check(t, s.Done("batch"))
			check(t, s.Wait(t.Context()))
			check(t, d.Fetch(t.Context(), back[:row*12], s.Ptr(0)))
			for k, r := range ids {
				want := make([]byte, row)
				if r >= 0 {
					want = host[r*row:][:row]
				}
				if got := back[int64(k)*row:][:row]; !bytes.Equal(got, want) {
					t.Fatalf("rows of %d bytes from %d sources, window %v: row %d is not row %d of the source", row, len(from), from[0].Window != nil, k, r)
				}
			}
		}
		check(t, s.Close())
	}
}

// What the host has gathered arrives beside what the kernel gathers: a little is copied by the
// kernel, more by the copy engine.
func TestWhatIsSentArrivesBesideAKernel(t *testing.T) {
	const mostByKernel = 480_000 // so that the kernel takes 8 us longer than the engine
	f := newFake(t, fakecuda.Default()...)
	eachOrder(t, f, func(t *testing.T) {
		d := f.open(t, Options{})
		for _, v := range [][3]float64{{50e9, 25e9, 4 << 20}, {1e9, 50e9, 256 << 10}, {30e9, 60e9, mostByKernel}} {
			if d.speed.Read, d.speed.Engine = v[0], v[1]; d.byKernel() != int64(v[2]) {
				t.Fatalf("%v: %d bytes by the kernel", v, d.byKernel())
			}
		}
		sizes := []int64{0, 1, 15, 16, 33, 4096, 70_001, mostByKernel - 80_000, mostByKernel + 1}
		s, err := d.NewSlot(SlotOptions{Tensors: []int64{16 * 32, mostByKernel + 1, 128}, Rows: 16})
		check(t, err)
		host, rows, back := alloc(t, d, mostByKernel+1), alloc(t, d, 16*32), alloc(t, d, mostByKernel+1)
		rowsOf(rows)
		for i, n := range sizes {
			check(t, s.Reuse(t.Context()))
			fill(host, i)
			before := f.Calls()["cuMemcpyHtoDAsync_v2"]
			check(t, s.Fill("batch", []Send{{Tensor: 1, From: host[:n]}, {Tensor: 2, From: host[:min(n, 100)]}},
				&Batch{Size: 16, Rows: 16, Split: 16, IDs: scatter(16), Columns: []Column{{Tensor: 0, Row: 32, From: [2]Source{{Host: rows, Rows: 16}}}}}))
			if copies := f.Calls()["cuMemcpyHtoDAsync_v2"] - before; (copies > 0) != (n > mostByKernel) {
				t.Errorf("%d bytes: %d copies", n, copies)
			}
			for tensor, want := range [][]byte{nil, host[:n], host[:min(n, 100)]} {
				check(t, d.Fetch(t.Context(), back[:len(want)], s.Ptr(tensor)))
				if !bytes.Equal(back[:len(want)], want) {
					t.Fatalf("%d bytes: tensor %d holds others", n, tensor)
				}
			}
			check(t, d.Fetch(t.Context(), back[:16*32], s.Ptr(0)))
			for k, r := range scatter(16) {
				if !bytes.Equal(back[k*32:][:32], rows[r*32:][:32]) {
					t.Fatalf("row %d is not row %d of the source", k, r)
				}
			}
		}
	})
}

// TestCastsAreExact compares every cast with the arithmetic in Go, bit by bit.
func TestCastsAreExact(t *testing.T) { castExactly(t, newFake(t).open(t, Options{})) }

func castExactly(t *testing.T, d *Device) {
	for _, elems := range []int{48, 60, 7} { // units of 16 bytes, of four elements, of one
		castRows(t, d, elems)
	}
	for _, c := range []Cast{{From: shardify.F64, To: shardify.F32}, {From: shardify.U8, To: shardify.I32}, {From: shardify.U8, To: shardify.F32, Scale: []float32{1}}} {
		if _, err := d.NewSlot(SlotOptions{Tensors: []int64{8}, Rows: 1, Casts: []*Cast{&c}}); err == nil {
			t.Errorf("cast %+v was taken", c)
		}
	}
}

func castRows(t *testing.T, d *Device, elems int) {
	const rows = 6
	host, back := alloc(t, d, rows*int64(elems)*4), alloc(t, d, rows*int64(elems)*4)
	values := []float32{0, 1, -1, 0.5, 3.14159, -2.7e4, 65519, 65520, 65504, 1e-7, 6e-8, 2.9e-8, 1e-40, 1e30, -1e38, 254.999}
	ids := []int64{5, -1, 0, 3}
	for _, from := range castSources {
		for i := range rows * elems {
			v := values[i%len(values)] * float32(1+i/len(values))
			switch from {
			case shardify.U8:
				host[i] = byte(i * 7)
			case shardify.I16:
				binary.LittleEndian.PutUint16(host[2*i:], uint16(i*9973))
			case shardify.I32:
				binary.LittleEndian.PutUint32(host[4*i:], uint32(i*1234567891))
			case shardify.F32:
				binary.LittleEndian.PutUint32(host[4*i:], f32bits(v))
			default:
				binary.LittleEndian.PutUint16(host[2*i:], narrowed(v, from))
			}
		}
		for _, to := range castTargets {
			for _, c := range []Cast{
				{From: from, To: to},
				{From: from, To: to, Scale: []float32{1.0 / 255}, Shift: []float32{-0.485}},
				{From: from, To: to, Scale: []float32{1, 0.1, 3}, Shift: []float32{0, -1, 1e-3}, Inner: 4},
			} {
				s, err := d.NewSlot(SlotOptions{Tensors: []int64{rows * int64(elems) * 4}, Rows: rows, Casts: []*Cast{&c}})
				check(t, err)
				check(t, move(s, 0, ids, int64(elems*from.Size()), Source{Host: host, Rows: rows}))
				check(t, s.Done("batch"))
				check(t, s.Wait(t.Context()))
				check(t, d.Fetch(t.Context(), back, s.Ptr(0)))
				for k, r := range ids {
					for e := range elems {
						want := castReference(host, from, to, &c, r, e, elems)
						got := uint32(binary.LittleEndian.Uint16(back[(k*elems+e)*2:]))
						if to == shardify.F32 {
							got = binary.LittleEndian.Uint32(back[(k*elems+e)*4:])
						}
						if got != want {
							t.Fatalf("%v to %v, scales %v: element %d of row %d is %x, want %x", from, to, c.Scale, e, r, got, want)
						}
					}
				}
				check(t, s.Close())
			}
		}
	}
	check(t, d.Free(host))
	check(t, d.Free(back))
}

// TestWindowsAreReloadedBehindTheirReaders loads a window again and again while
// kernels still gather from it.
func TestWindowsAreReloadedBehindTheirReaders(t *testing.T) {
	f := newFake(t)
	eachOrder(t, f, func(t *testing.T) { reloadExactly(t, f.open(t, Options{}), 50, 160) })
}

func reloadExactly(t *testing.T, d *Device, rows, row int64) {
	const rounds = 20
	c := consumer{d, stream(t, d), alloc(t, d, rounds*rows*row), 1e6}
	w, err := d.NewWindow(rows * row)
	check(t, err)
	var slots [2]*Slot
	for i := range slots {
		slots[i], err = d.NewSlot(SlotOptions{Tensors: []int64{rows * row}, Rows: rows})
		check(t, err)
	}
	host := [2][]byte{alloc(t, d, rows*row), alloc(t, d, rows*row)}
	ids := scatter(rows)
	for b := range rounds {
		s, h := slots[b%2], host[b%2]
		check(t, s.Reuse(t.Context())) // its gather read what h was loaded into
		fill(h, b)
		check(t, w.Load(0, h))
		check(t, move(s, 0, ids, row, Source{Window: w, Rows: rows}))
		check(t, s.Done("batch"))
		check(t, c.take(s, 0, int64(b)*rows*row, rows*row))
	}
	check(t, d.do(func() error { return d.drv.streamSynchronize(c.stream) }))
	want := make([]byte, rows*row)
	for b := range rounds {
		fill(want, b)
		for k, r := range ids {
			if got := c.out[(int64(b)*rows+int64(k))*row:][:row]; !bytes.Equal(got, want[r*row:][:row]) {
				t.Fatalf("round %d, row %d is not row %d of the window then", b, k, r)
			}
		}
	}
}

// TestSlotsAreIndependent uses slots from several goroutines.
func TestSlotsAreIndependent(t *testing.T) {
	f := newFake(t)
	d := f.open(t, Options{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			err := func() error {
				h, err := d.Alloc(3000, 0)
				if err != nil {
					return err
				}
				s, err := d.NewSlot(SlotOptions{Tensors: []int64{3000}, Rows: 30})
				if err != nil {
					return err
				}
				for b := range 20 {
					if err := s.Reuse(t.Context()); err != nil {
						return err
					}
					fill(h, g*100+b)
					if err := errors.Join(s.Send(0, h), s.Done("batch"), s.Ready(0), s.Release(0)); err != nil {
						return err
					}
				}
				return errors.Join(s.Wait(t.Context()), s.Close(), d.Free(h))
			}()
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestPartedRowsAreThoseOfBothSources: rows that the device has are read there, all others in host
// memory, by each way of moving rows; what would leave a source is refused.
func TestPartedRowsAreThoseOfBothSources(t *testing.T) {
	for name, f := range map[string]*fake{"source": newFake(t), "PTX": newFake(t, fakecuda.PTX)} {
		t.Run(name, func(t *testing.T) {
			d := f.open(t, Options{})
			const all, first, held = 100, 32, 48
			ids := []int64{99, 31, 32, 0, 79, 80, 50, -1, 5, 33}
			for _, row := range []int64{1, 3, 4, 8, 16, 48, 1000} {
				host := alloc(t, d, all*row)
				for i := range host {
					host[i] = byte(i*7 + i/251)
				}
				w, err := d.NewWindow(held * row)
				check(t, err)
				check(t, w.Load(0, host[first*row:(first+held)*row]))
				check(t, w.Wait(t.Context()))
				want := make([]byte, int64(len(ids))*row)
				for k, id := range ids {
					if id >= 0 {
						copy(want[int64(k)*row:], host[id*row:][:row])
					}
				}
				s, err := d.NewSlot(SlotOptions{Tensors: []int64{int64(len(want))}, Rows: int64(len(ids))})
				check(t, err)
				n := int64(len(ids))
				b := Batch{Parted: true, Size: n, Rows: n, Split: n, IDs: ids, Columns: []Column{{
					Row: row, From: [2]Source{{Window: w, Rows: held, First: first}, {Host: host, Rows: all}},
				}}}
				for _, bad := range []func(b *Batch, c *Column){
					func(b *Batch, _ *Column) { b.Split = 3 },
					func(_ *Batch, c *Column) { c.From[0].First = 53 },
					func(_ *Batch, c *Column) { c.From[0].First = -1 },
					func(_ *Batch, c *Column) { c.From[0].Rows = held + 1 },
					func(_ *Batch, c *Column) { c.From[1].Rows = 99 },
				} {
					wrong := b
					wrong.Columns = []Column{b.Columns[0]}
					if bad(&wrong, &wrong.Columns[0]); s.Fill("wrong", nil, &wrong) == nil {
						t.Errorf("%+v: no error", wrong)
					}
				}
				check(t, s.Fill("parted", nil, &b))
				check(t, s.Wait(t.Context()))
				got := alloc(t, d, int64(len(want)))
				if check(t, d.Fetch(t.Context(), got, s.Ptr(0))); !bytes.Equal(got, want) {
					t.Errorf("rows of %d bytes: %x, want %x", row, got, want)
				}
				check(t, errors.Join(s.Close(), w.Close(), d.Free(got), d.Free(host)))
			}
		})
	}
}
