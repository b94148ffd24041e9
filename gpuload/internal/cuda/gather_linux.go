package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/order"
)

// Source is rows of one size, one after the other, in pinned host memory or in a
// Window.
type Source struct {
	// Host is pinned memory of the device; or Window and At, a byte of it. Of a source in
	// host memory that changes, Window is one without memory that orders the changes.
	Host   []byte
	Window *Window
	At     int64
	Rows   int64
	First  int64 // the number of its first row: 0, except for the first source of a batch that is Parted
}

// Column is a tensor of a batch and where its rows of Row bytes come from.
type Column struct {
	Tensor int
	Row    int64
	From   [2]Source
}

// Batch is tensors whose rows are found by number, the same numbers for all of them. One
// launch makes them all.
type Batch struct {
	// Size is the rows of the batch. Those from Rows on are zeros; those from Split on are of
	// the second sources, if Split is less than Rows.
	Size, Rows, Split int64
	// Parted: rows that the first sources have are theirs, the others those of the second
	// ones. Split is then Rows.
	Parted bool
	// Formula computes the numbers on the device; nil takes IDs.
	Formula *order.Formula
	IDs     []int64
	// Indices is a window with the samples that the formula draws from, or nil.
	Indices *Window
	Columns []Column
	// Engine are columns in host memory without a Cast that the copy engine copies row by
	// row. They have no second source, and want IDs unless the batch is InOrder.
	Engine []Column
}

// InOrder reports that the formula's rows follow each other in the first sources.
func (b *Batch) InOrder() bool {
	f := b.Formula
	return f != nil && f.Kind == order.Sequence && f.Stride == 1 && b.Indices == nil && (uint64(b.Rows) <= f.Batch || f.Batch == f.Global)
}

// asksIDs reports that the copy engine needs the number of each row.
func (b *Batch) asksIDs() bool { return len(b.Engine) > 0 && b.Rows > 0 && !b.InOrder() }

// Send is the start of a copy of pinned memory to the beginning of a tensor.
type Send struct {
	Tensor int
	From   []byte
}

// Fill starts all that makes a batch, and ends with Done, in one visit. Host memory must stay as
// it is until Reuse; b may be used again at once.
func (s *Slot) Fill(name string, sends []Send, b *Batch) error {
	if err := s.check(b); err != nil {
		return err
	}
	return s.d.do(func() error {
		if err := s.begin(); err != nil {
			return err
		}
		err := s.copyAll(sends, b)
		if err == nil {
			err = s.gather(b)
		}
		if err != nil {
			return errors.Join(err, s.markReads())
		}
		return s.finish(name)
	})
}

// check refuses what would leave the memory of sources.
func (s *Slot) check(b *Batch) error {
	if b.Rows < 0 || b.Rows > b.Size || b.Split < 0 || b.Size > maxItems {
		return fmt.Errorf("batch of %d rows of %d, split at %d", b.Rows, b.Size, b.Split)
	}
	listed := b.Formula == nil && len(b.Columns) > 0
	if (listed || b.asksIDs()) && int64(len(b.IDs)) != b.Rows || listed && int64(len(s.rows)) < b.Rows*8 {
		return fmt.Errorf("%d row numbers for %d rows, of a slot for %d", len(b.IDs), b.Rows, len(s.rows)/8)
	}
	if b.Parted && (b.Split < b.Rows || len(b.Engine) > 0) {
		return errors.New("cuda: a batch of parted rows is split, or copied row by row")
	}
	for i := range b.Columns {
		if err := b.checkColumn(s, &b.Columns[i], listed); err != nil {
			return err
		}
	}
	for i := range b.Engine {
		if err := b.checkColumn(s, &b.Engine[i], listed || b.asksIDs()); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) checkColumn(s *Slot, c *Column, listed bool) error {
	if c.Row <= 0 || c.Tensor < 0 || c.Tensor >= len(s.tensors) {
		return fmt.Errorf("gather of rows of %d bytes into tensor %d", c.Row, c.Tensor)
	}
	for k := range c.From {
		f := &c.From[k]
		lo, hi := int64(0), min(b.Split, b.Rows)
		if k == 1 {
			lo, hi = hi, b.Rows
		}
		if b.Parted {
			lo = 0
		}
		if lo == hi {
			continue
		}
		if f.Rows < 0 || f.Rows > (1<<62)/c.Row {
			return fmt.Errorf("gather from %d rows of %d bytes", f.Rows, c.Row)
		}
		if _, err := s.address(f, c.Row); err != nil {
			return err
		}
		if b.Parted && k == 0 { // the second source has the numbers of all
			if all, same := c.From[1].Rows, &b.Columns[0].From[0]; f.First < 0 || f.First > all-f.Rows || f.First != same.First || f.Rows != same.Rows {
				return fmt.Errorf("gather from rows %d to %d of %d", f.First, f.First+f.Rows, all)
			}
			continue
		}
		if !listed {
			if first := b.Formula.First; b.InOrder() && (first > uint64(f.Rows) || hi > f.Rows-int64(first)) {
				return fmt.Errorf("gather of rows %d to %d of %d", first, first+uint64(hi), f.Rows)
			}
			if n := b.Formula.Perm.N; b.Formula.Kind == order.Permuted && b.Indices == nil && int64(n) > f.Rows {
				return fmt.Errorf("gather of rows up to %d of %d", n, f.Rows)
			}
			continue
		}
		for _, r := range b.IDs[lo:hi] {
			if r < -1 || r >= f.Rows {
				return fmt.Errorf("gather of row %d of %d", r, f.Rows)
			}
		}
	}
	return nil
}

// address is where the device finds row 0 of a source; all of its rows are in memory.
func (s *Slot) address(f *Source, row int64) (uint64, error) {
	n := f.Rows * row
	if f.Host != nil {
		if n > int64(len(f.Host)) {
			return 0, fmt.Errorf("gather from %d rows of %d bytes in %d bytes", f.Rows, row, len(f.Host))
		}
		return s.d.deviceAddress(f.Host, n)
	}
	w := f.Window
	if w == nil || f.At < 0 || !w.mem.inside(w.mem.at+uint64(f.At), n) {
		return 0, fmt.Errorf("gather from bytes %d to %d of a window", f.At, f.At+n)
	}
	return w.mem.at + uint64(f.At), nil
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

// launches reports whether kernels make a part of the batch.
func (s *Slot) launches(b *Batch) bool {
	return (len(b.Columns) > 0 || s.numbers.at != 0) && b.Size > 0
}

// gather launches what makes the columns.
func (s *Slot) gather(b *Batch) error {
	if !s.launches(b) {
		return nil
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		if err := s.fits(c.Tensor, b.Size*s.outRow(c.Tensor, c.Row)); err != nil {
			return err
		}
	}
	if err := s.enter(s.d.gathers); err != nil {
		return err
	}
	if err := s.read(b); err != nil {
		return err
	}
	l := &s.launch
	l.size, l.rows, l.split = uint64(b.Size), uint64(b.Rows), uint64(b.Size)
	l.first, l.held = 0, math.MaxUint64
	if b.Parted && len(b.Columns) > 0 {
		f := &b.Columns[0].From[0]
		l.first, l.held = uint64(f.First), uint64(f.Rows)
	}
	l.ids, l.indices, l.formula = 0, 0, order.Formula{}
	if b.Split < b.Rows {
		l.split = uint64(b.Split)
	}
	if err := s.findRows(l, b); err != nil {
		return err
	}
	s.gathers = true
	for at := 0; at == 0 || at < len(b.Columns); at += maxColumns {
		if err := s.launchColumns(l, b.Columns[at:min(at+maxColumns, len(b.Columns))]); err != nil {
			return err
		}
		l.numbers, l.sent = 0, 0 // once is enough
	}
	return nil
}

// outRow is the bytes of a row in tensor i.
func (s *Slot) outRow(i int, row int64) int64 {
	if c := s.casts[i]; c != nil {
		return row / int64(c.From.Size()) * int64(c.To.Size())
	}
	return row
}

// findRows sets in a launch how rows are numbered.
func (s *Slot) findRows(l *launch, b *Batch) (err error) {
	l.numbers = s.numbers.at
	if b.Indices != nil {
		l.indices = b.Indices.mem.at
	}
	if b.Formula != nil {
		l.formula = *b.Formula
		return nil
	}
	copy(shardify.View[int64](s.rows), b.IDs)
	s.listing = true
	if b.Rows > 0 {
		l.ids, err = s.d.deviceAddress(s.rows, b.Rows*8)
	}
	return err
}

// launchColumns makes some columns by one launch.
func (s *Slot) launchColumns(l *launch, columns []Column) error {
	l.columns = uint32(len(columns))
	name, row, wide := "batch", int64(0), true
	for i := range columns {
		c := &columns[i]
		o := &l.column[i]
		*o = column{dst: s.tensors[c.Tensor].at}
		for k := range c.From {
			if f := &c.From[k]; f.Rows > 0 {
				var err error
				if o.src[k], err = s.address(f, c.Row); err != nil {
					return err
				}
				o.src[k] -= uint64(f.First * c.Row)
				wide = wide && f.Host == nil
			}
		}
		row += s.outRow(c.Tensor, c.Row)
		k := s.casts[c.Tensor]
		if k == nil {
			o.lanes(c.Row)
			continue
		}
		name = "batch_cast"
		elems := c.Row / int64(k.From.Size())
		if elems*int64(k.From.Size()) != c.Row || elems > maxItems {
			return fmt.Errorf("cast of rows of %d bytes from %v", c.Row, k.From)
		}
		o.casts(k, elems, s.affine[c.Tensor].at)
	}
	sent := int64(0)
	for i := range l.sent {
		sent += int64(l.column[uint64(len(columns))+i].units)
	}
	blocks := int64(s.d.grid)
	if wide {
		blocks = int64(s.d.wide)
	} else if all := uint64(columns[0].From[1].Rows); l.held < all {
		// The link has a share of the bytes that are on their way.
		blocks = max(min(int64(float64(blocks)*float64(all)/float64(all-l.held)), int64(s.d.wide)), blocks)
	}
	if err := l.cut(row, blocks); err != nil {
		return err
	}
	grid := max(int64(l.tiles), (sent+sentBytes-1)/sentBytes)
	return s.d.drv.launchStruct(s.d.kernels[name], uint32(min(grid, blocks)), blockThreads, s.d.gathers, unsafe.Pointer(l))
}

// read makes the gathers wait for the loads of the windows that a batch reads.
func (s *Slot) read(b *Batch) error {
	add := func(w *Window) error {
		if w == nil {
			return nil
		}
		if !slices.Contains(s.reads, w) {
			s.reads = append(s.reads, w)
		}
		if w.waited == w.loaded.recorded {
			return nil
		}
		if err := s.d.wait(s.d.gathers, &w.loaded); err != nil {
			return err
		}
		w.waited = w.loaded.recorded
		return nil
	}
	if err := add(b.Indices); err != nil {
		return err
	}
	for i := range b.Columns {
		for k := range b.Columns[i].From {
			if err := add(b.Columns[i].From[k].Window); err != nil {
				return err
			}
		}
	}
	return nil
}

// markReads records where the gathers end. Each window that they read may be loaded again from
// there: behind later gathers from other windows it would be too late.
func (s *Slot) markReads() error {
	if !s.gathers {
		return nil
	}
	if err := s.d.record(&s.gathered, s.d.gathers); err != nil {
		return err
	}
	for _, w := range s.reads {
		w.left = &s.gathered
	}
	s.reads = s.reads[:0]
	return nil
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

// EngineRow is the bytes from which the copy engine is the better choice for a row, or for
// rows that follow each other.
func (d *Device) EngineRow() int64 {
	if d.speed.EngineRow > 0 {
		return d.speed.EngineRow
	}
	return typicalEngineRow
}

// copyAll starts the copies of a batch, many by one call of the driver.
func (s *Slot) copyAll(sends []Send, b *Batch) error {
	s.pieces.clear() // of a batch that failed
	byKernel := s.copiedByKernel(sends, b)
	l := &s.launch
	l.sent = 0
	// With a kernel, what is sent uses the kernel's stream: one wait and one event are enough for
	// both, and it need not queue behind the load of a window. Rows that the copy engine moves are
	// long: kernels are not to wait for them.
	stream := s.d.copies
	if s.launches(b) && len(b.Engine) == 0 {
		stream = s.d.gathers
	}
	for _, m := range sends {
		if err := s.room(m.Tensor, int64(len(m.From))); err != nil {
			return err
		}
		if len(m.From) == 0 {
			continue
		}
		if err := s.enter(stream); err != nil {
			return err
		}
		s.reading(stream)
		if byKernel {
			from, err := s.d.deviceAddress(m.From, int64(len(m.From)))
			if err != nil {
				return err
			}
			l.column[len(b.Columns)+int(l.sent)] = column{dst: s.tensors[m.Tensor].at, src: [2]uint64{from}, units: uint64(len(m.From))}
			l.sent++
			continue
		}
		if err := s.pieces.add(s.d, stream, s.tensors[m.Tensor].at, addressOf(m.From), int64(len(m.From))); err != nil {
			return err
		}
	}
	for i := range b.Engine {
		if err := s.byEngine(&b.Engine[i], b); err != nil {
			return err
		}
	}
	return s.pieces.flush(s.d, stream)
}

// byKernel is up to how many bytes of the host's part of a batch the kernel copies, too: as long as
// what it is slower takes less than a call of the driver and the copy engine's start.
func (d *Device) byKernel() int64 {
	const start, least, most = 8e-6, 256 << 10, 4 << 20
	read, engine := d.speed.Read, d.speed.Engine
	if read == 0 {
		read, engine = typicalRead, typicalEngine
	}
	if read >= engine {
		return most
	}
	return int64(min(max(start*read*engine/(engine-read), least), most))
}

// copiedByKernel reports whether the kernel is to copy what is sent.
func (s *Slot) copiedByKernel(sends []Send, b *Batch) bool {
	total := int64(0)
	for _, m := range sends {
		if total += int64(len(m.From)); addressOf(m.From)%16 != 0 {
			return false
		}
	}
	return s.launches(b) && len(b.Engine) == 0 && total <= s.d.byKernel() && len(b.Columns)+len(sends) <= maxColumns
}

// reading notes that a stream reads host memory of the batch.
func (s *Slot) reading(stream uintptr) {
	if stream == s.d.gathers {
		s.gathers, s.listing = true, true
	} else {
		s.sends, s.sending = true, true
	}
}

// byEngine copies rows with the copy engine, neighbours together.
func (s *Slot) byEngine(c *Column, b *Batch) error {
	row := c.Row
	if err := s.fits(c.Tensor, b.Size*row); err != nil {
		return err
	}
	if err := s.enter(s.d.copies); err != nil {
		return err
	}
	s.sends = true
	dst, src := s.tensors[c.Tensor].at, addressOf(c.From[0].Host)
	id := func(k int64) int64 {
		if k < b.Rows {
			return b.IDs[k]
		}
		return -1
	}
	for k, n := int64(0), int64(0); k < b.Size; k += n {
		var first int64
		if k == 0 && b.Rows > 0 && b.InOrder() {
			first, n = int64(b.Formula.First), b.Rows
		} else {
			first, n = id(k), 1
			for k+n < b.Size && (first < 0 && id(k+n) < 0 || first >= 0 && id(k+n) == first+n) {
				n++
			}
		}
		to := dst + uint64(k*row)
		if first < 0 {
			if err := s.d.drv.memset(to, 0, n*row, s.d.copies); err != nil {
				return err
			}
		} else if err := s.pieces.add(s.d, s.d.copies, to, src+uint64(first*row), n*row); err != nil {
			return err
		}
	}
	return nil
}

// maxPieces is the most copies of one call.
const maxPieces = 512

// pieceList is copies for one call of the driver.
type pieceList struct {
	dst, src []uint64
	size     []uintptr
}

func (l *pieceList) clear() { l.dst, l.src, l.size = l.dst[:0], l.src[:0], l.size[:0] }

// add adds a copy of pinned memory, split where registrations meet.
func (l *pieceList) add(d *Device, stream uintptr, dst, src uint64, n int64) error {
	if n == 0 {
		return nil
	}
	p := d.find(src, n)
	if p == nil {
		return errors.New("cuda: source of a copy is not pinned memory of this device")
	}
	for n > 0 {
		m := min(n, int64(p.base+((src-p.base)/p.chunk+1)*p.chunk-src))
		l.dst, l.src, l.size = append(l.dst, dst), append(l.src, src), append(l.size, uintptr(m))
		dst, src, n = dst+uint64(m), src+uint64(m), n-m
		if len(l.dst) == maxPieces {
			if err := l.flush(d, stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush starts the copies.
func (l *pieceList) flush(d *Device, stream uintptr) error {
	defer l.clear()
	if d.batch && len(l.dst) > 2 {
		return d.drv.copyBatch(l.dst, l.src, l.size, stream)
	}
	for i := range l.dst {
		if err := d.drv.copyToDevice(l.dst[i], l.src[i], int64(l.size[i]), stream); err != nil {
			return err
		}
	}
	return nil
}
