package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
)

// Source is rows of one size, one after the other, in pinned host memory or in a
// Window.
type Source struct {
	// Host is pinned memory of the device; or Window and At, a byte of it.
	Host   []byte
	Window *Window
	At     int64
	Rows   int64
	Row    int64 // bytes
}

// Gather starts the move of rows of a source into tensor i of the slot, at row at:
// ids[k] goes to row at+k, and -1 becomes zeros. Rows from row 0 on must be
// in the slot's SlotOptions.Rows. ids may be used again at once; the source must
// stay until Reuse, or Window.Reuse.
//
// Sources of one batch have their ids at the same rows of all tensors.
func (s *Slot) Gather(i int, at int64, ids []int64, from Source) error {
	if err := s.checkGather(at, ids, &from); err != nil {
		return err
	}
	return s.d.do(func() error { return s.gather(i, at, ids, &from) })
}

func (s *Slot) checkGather(at int64, ids []int64, from *Source) error {
	if at < 0 || at > int64(len(s.rows)/8) || int64(len(ids)) > int64(len(s.rows)/8)-at {
		return fmt.Errorf("gather of %d rows at %d into a slot of %d", len(ids), at, len(s.rows)/8)
	}
	if from.Row <= 0 || from.Rows < 0 || from.Rows > (1<<62)/from.Row {
		return fmt.Errorf("gather from %d rows of %d bytes", from.Rows, from.Row)
	}
	for _, r := range ids {
		if r < -1 || r >= from.Rows {
			return fmt.Errorf("gather of row %d of %d", r, from.Rows)
		}
	}
	return nil
}

func (s *Slot) gather(i int, at int64, ids []int64, from *Source) error {
	if err := s.begin(); err != nil || len(ids) == 0 {
		return err
	}
	if from.Window == nil && s.casts[i] == nil && piece(ids, from.Row) >= s.d.engineRow() && from.Rows*from.Row <= int64(len(from.Host)) {
		if err := s.fits(i, (at+int64(len(ids)))*from.Row); err != nil {
			return err
		}
		if err := s.enter(s.d.copies); err != nil {
			return err
		}
		s.sends = true
		return s.byEngine(s.tensors[i].at+uint64(at*from.Row), addressOf(from.Host), ids, from.Row)
	}
	list := shardify.View[int64](s.rows)
	if have := list[min(at, s.listed):min(at+int64(len(ids)), s.listed)]; !slices.Equal(have, ids[:len(have)]) {
		return errors.New("cuda: other row numbers than those of a gather before it at the same rows")
	}
	if err := s.byKernel(i, at, ids, from); err != nil {
		return err
	}
	s.listed = max(s.listed, at+int64(len(ids)))
	return nil
}

// piece is the bytes of neighbouring rows that ids ask for at a time, on average.
func piece(ids []int64, row int64) int64 {
	n := int64(1)
	for k := 1; k < len(ids); k++ {
		if ids[k] != ids[k-1]+1 {
			n++
		}
	}
	return int64(len(ids)) * row / n
}

func (s *Slot) byKernel(i int, at int64, ids []int64, from *Source) error {
	// A source that is refused must not change the numbers.
	if err := s.checkSource(from); err != nil {
		return err
	}
	copy(shardify.View[int64](s.rows)[at:], ids)
	return s.kernel(i, at, int64(len(ids)), from)
}

// kernel gathers the n rows whose numbers are in the slot already, from at on.
func (s *Slot) kernel(i int, at, n int64, from *Source) error {
	src, err := s.source(from)
	if err != nil {
		return err
	}
	out := from.Row
	if c := s.casts[i]; c != nil {
		if from.Row%int64(c.From.Size()) != 0 {
			return fmt.Errorf("rows of %d bytes are no %v", from.Row, c.From)
		}
		out = from.Row / int64(c.From.Size()) * int64(c.To.Size())
	}
	if err := s.fits(i, (at+n)*out); err != nil {
		return err
	}
	if err := s.enter(s.d.gathers); err != nil {
		return err
	}
	dst := s.tensors[i].at + uint64(at*out)
	s.gathers = true
	list, err := s.d.deviceAddress(s.rows[at*8:], n*8)
	if err != nil {
		return err
	}
	l := rowLaunch{dst: dst, src: src, ids: list, n: n, row: from.Row, grid: s.d.grid}
	if from.Window != nil {
		l.grid = s.d.wide
	}
	if c := s.casts[i]; c != nil {
		return s.d.castRows(&l, c, s.affine[i])
	}
	return s.d.gatherRows(&l)
}

// fits is room without reallocation: rows that were gathered already must stay.
func (s *Slot) fits(i int, n int64) error {
	if n <= s.tensors[i].size {
		return nil
	}
	if s.sends || s.gathers {
		return fmt.Errorf("tensor %d: %d bytes in a slot of %d", i, n, s.tensors[i].size)
	}
	return s.room(i, n)
}

// checkSource: all rows of a source are in its memory.
func (s *Slot) checkSource(from *Source) error {
	n := from.Rows * from.Row
	if w := from.Window; w != nil {
		if from.At < 0 || !w.mem.inside(w.mem.at+uint64(from.At), n) {
			return fmt.Errorf("gather from bytes %d to %d of a window of %d", from.At, from.At+n, w.mem.size)
		}
		return nil
	}
	if n > int64(len(from.Host)) {
		return fmt.Errorf("gather from %d rows of %d bytes in %d bytes", from.Rows, from.Row, len(from.Host))
	}
	_, err := s.d.deviceAddress(from.Host, n)
	return err
}

// source is where kernels find row 0; they start behind the loads of a window.
func (s *Slot) source(from *Source) (uint64, error) {
	if err := s.checkSource(from); err != nil {
		return 0, err
	}
	w := from.Window
	if w == nil {
		return s.d.deviceAddress(from.Host, from.Rows*from.Row)
	}
	if err := s.d.wait(s.d.gathers, &w.loaded); err != nil {
		return 0, err
	}
	w.read = true
	return w.mem.at + uint64(from.At), nil
}

func (d *Device) engineRow() int64 {
	if d.speed.EngineRow > 0 {
		return d.speed.EngineRow
	}
	return typicalEngineRow
}

// deviceAddress is where the device sees pinned memory.
func (d *Device) deviceAddress(b []byte, n int64) (uint64, error) {
	at := addressOf(b)
	p := d.find(at, n)
	if p == nil {
		return 0, errors.New("cuda: source of a gather is not pinned memory of this device")
	}
	return p.device + (at - p.base), nil
}

// byEngine copies rows with the copy engine, neighbours together.
func (s *Slot) byEngine(dst, src uint64, ids []int64, row int64) error {
	l := &s.pieces
	l.dst, l.src, l.size = l.dst[:0], l.src[:0], l.size[:0]
	for k := 0; k < len(ids); {
		n := 1
		for k+n < len(ids) && ids[k] >= 0 && ids[k+n] == ids[k]+int64(n) {
			n++
		}
		to := dst + uint64(int64(k)*row)
		if ids[k] < 0 {
			if err := s.d.drv.memset(to, 0, row, s.d.copies); err != nil {
				return err
			}
		} else if err := s.addPiece(to, src+uint64(ids[k]*row), int64(n)*row); err != nil {
			return err
		}
		k += n
	}
	return s.flush()
}

// maxPieces is the most copies of one call.
const maxPieces = 512

// addPiece adds a copy, split where registrations meet.
func (s *Slot) addPiece(dst, src uint64, n int64) error {
	p := s.d.find(src, n)
	if p == nil {
		return errors.New("cuda: source of a copy is not pinned memory of this device")
	}
	l := &s.pieces
	for n > 0 {
		m := min(n, int64(p.base+((src-p.base)/p.chunk+1)*p.chunk-src))
		l.dst, l.src, l.size = append(l.dst, dst), append(l.src, src), append(l.size, uintptr(m))
		dst, src, n = dst+uint64(m), src+uint64(m), n-m
		if len(l.dst) == maxPieces {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Slot) flush() error {
	l := &s.pieces
	defer func() { l.dst, l.src, l.size = l.dst[:0], l.src[:0], l.size[:0] }()
	if s.d.batch && len(l.dst) > 2 {
		return s.d.drv.copyBatch(l.dst, l.src, l.size, s.d.copies)
	}
	for i := range l.dst {
		if err := s.d.drv.copyToDevice(l.dst[i], l.src[i], int64(l.size[i]), s.d.copies); err != nil {
			return err
		}
	}
	return nil
}

// rowLaunch is n rows of row bytes, named by ids, to be moved by at most grid blocks.
type rowLaunch struct {
	dst, src, ids uint64
	n, row        int64
	grid          uint32
}

// gatherRows launches the kernel with the widest lanes that all addresses allow.
func (d *Device) gatherRows(l *rowLaunch) error {
	name, unit := "gather1", int64(4)
	switch bits := l.dst | l.src | uint64(l.row); {
	case bits%16 == 0:
		name, unit = "gather16", 16
	case bits%8 == 0:
		name, unit = "gather8", 8
	case bits%4 == 0:
		name = "gather4"
	}
	count, piece, log2 := pieces(l.row, 1, unit)
	return d.launchRows(name, l, count, log2, l.dst, l.src, l.ids, uint64(l.n), uint64(l.row), uint64(count), uint64(piece), log2)
}

func (d *Device) castRows(l *rowLaunch, c *Cast, affine buffer) error {
	elems := l.row / int64(c.From.Size())
	if elems > maxItems {
		return fmt.Errorf("cast of rows of %d elements", elems)
	}
	count, piece, log2 := pieces(elems, int64(c.From.Size()), 4)
	scale, shift := affine.at, affine.at+uint64(len(c.Scale))*4
	if len(c.Scale) == 0 {
		scale, shift = 0, 0
	}
	return d.launchRows(castKernel(c.From, c.To), l, count, log2, l.dst, l.src, l.ids, uint64(l.n), uint64(elems), uint64(count), uint64(piece), log2, scale, shift, uint64(len(c.Scale)), uint64(c.Inner))
}

func (d *Device) launchRows(name string, l *rowLaunch, count int64, log2 uint64, params ...uint64) error {
	if l.n > maxItems/count {
		return fmt.Errorf("gather of %d rows in %d pieces", l.n, count)
	}
	groups := int64(blockThreads >> log2)
	blocks := uint32(min((l.n*count+groups-1)/groups, int64(l.grid)))
	return d.drv.launch(d.kernels[name], blocks, blockThreads, d.gathers, params)
}
