//go:build linux

package cuda

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/fakecuda"
)

// TestDenseRowsAreExact: rows of all types, with and without a choice of columns, and rows that are not as they must be.
func TestDenseRowsAreExact(t *testing.T) {
	for _, build := range [][]string{nil, fakecuda.Default()} {
		f := newFake(t, build...)
		d := f.open(t, Options{})
		denseExactly(t, d)
		for _, bad := range [][]uint64{{0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 3}, {2, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, {0, 0, 0, 0, 0, 4, 1 << 41, 0, 0, 0, 4}, {0, 0, 0, 0, 0, 4, 0, 0, 3, 2, 4}, {4}} {
			if d.Dense(0, bad, shardify.I32) == nil {
				t.Errorf("dense rows of %v", bad)
			}
		}
		if d.Dense(0, []uint64{0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4}, shardify.F32) == nil {
			t.Error("numbers of columns of type f32")
		}
	}
}

// inMemory copies bytes to the device.
func inMemory(t *testing.T, d *Device, b []byte) *Window {
	t.Helper()
	w, err := d.NewWindow(int64(max(len(b), 1)))
	check(t, err)
	t.Cleanup(func() { check(t, w.Close()) })
	host := alloc(t, d, int64(max(len(b), 1)))
	copy(host, b)
	check(t, w.Load(0, host))
	check(t, w.Wait(t.Context()))
	return w
}

func denseExactly(t *testing.T, d *Device) {
	r := rand.New(rand.NewPCG(3, 4))
	s := stream(t, d)
	types := []shardify.DType{shardify.U8, shardify.I8, shardify.U16, shardify.I16, shardify.U32, shardify.I32, shardify.U64, shardify.I64}
	for trial := range 32 {
		kind, size := types[trial%len(types)], 1<<(trial/8)
		rows, width := r.IntN(5), 1+r.IntN(120)
		number := func(to []byte, v uint64) []byte {
			return append(to, binary.LittleEndian.AppendUint64(nil, v)[:kind.Size()]...)
		}
		p := sparse{rows: uint64(rows), width: uint64(width), kept: uint64(width), size: uint32(size)}
		var choice []int32
		if trial%3 == 0 {
			choice, p.kept = make([]int32, width), 0
			for _, c := range r.Perm(width) {
				if choice[c] = -1; r.IntN(2) == 0 {
					choice[c], p.kept = int32(p.kept), p.kept+1
				}
			}
		}
		want, wrong := make([]byte, rows*int(p.kept)*size), uint32(0)
		offsets, values, indices := binary.LittleEndian.AppendUint64(nil, 0), []byte(nil), []byte(nil)
		for row := range rows {
			list := r.Perm(width)[:r.IntN(width+1)]
			slices.Sort(list)
			bad := len(list) > 1 && r.IntN(3) == 0
			for i, c := range list {
				v := make([]byte, size)
				for j := range v {
					v[j] = byte(r.Uint32())
				}
				values = append(values, v...)
				n := uint64(c)
				if bad && i == len(list)/2 { // not below the width, negative where there is a sign, or again that before it
					n = []uint64{uint64(width), 1<<64 - 1, uint64(list[max(i-1, 0)])}[r.IntN(3)]
					if i == 0 || n == uint64(c) {
						n = uint64(width)
					}
				}
				indices = number(indices, n)
				if choice != nil {
					c = int(choice[c])
				}
				if c >= 0 && !bad {
					copy(want[(row*int(p.kept)+c)*size:], v)
				}
			}
			if bad {
				wrong++
			}
			offsets = binary.LittleEndian.AppendUint64(offsets, uint64(len(values)/size))
		}
		p.elements = uint64(len(values) / size)
		p.values, p.indices, p.offsets = inMemory(t, d, values).mem.at, inMemory(t, d, indices).mem.at, inMemory(t, d, offsets).mem.at
		out, found := inMemory(t, d, slices.Repeat([]byte{0xaa}, len(want))), inMemory(t, d, make([]byte, 4))
		p.dst, p.found = out.mem.at, found.mem.at
		if choice != nil {
			p.choice = inMemory(t, d, shardify.Bytes(choice)).mem.at
		}
		check(t, d.Dense(s, []uint64{p.dst, p.values, p.indices, p.offsets, p.choice, p.found, p.rows, p.elements, p.width, p.kept, uint64(p.size)}, kind))
		have, n := alloc(t, d, int64(max(len(want), 1))), alloc(t, d, 4)
		check(t, d.do(func() error {
			if err := d.drv.copyToHost(addressOf(n), p.found, 4, s); err != nil || len(want) == 0 {
				return err
			}
			return d.drv.copyToHost(addressOf(have), p.dst, int64(len(want)), s)
		}))
		check(t, d.bracket(d.drv.synchronize))
		if !bytes.Equal(have[:len(want)], want) || binary.LittleEndian.Uint32(n) != wrong {
			t.Fatalf("trial %d: %+v of %v differs, or %d wrong rows are %d", trial, p, kind, wrong, binary.LittleEndian.Uint32(n))
		}
	}
}
