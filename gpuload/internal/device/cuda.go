//go:build cuda && linux

package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
)

// CUDA delivers batches in the memory of an NVIDIA GPU.
type CUDA struct {
	Driver *cuda.Device

	mu      sync.Mutex
	indices *cuda.Window
	slots   int // attached
	closing bool
	Err     error // the first of giving back
}

var _ GPU = (*CUDA)(nil) // one that lacked a method would be used as the host is

// CUDASlot is the device's part of a slot.
type CUDASlot struct {
	*cuda.Slot
	batch cuda.Batch
	sends []cuda.Send
	// By tensor: the device gathers it.
	gathered []bool
}

// cudaTable is a table's copy on the device: by tensor, where it begins in the window, or -1.
// Of a table in host memory the window has no memory, and orders what reads the table.
type cudaTable struct {
	window *cuda.Window
	at     []int64
	// held rows from first on are there, if not all.
	first, held int64
}

// speeds is what the first Loader on a device measured, by ordinal: a second one, for
// validation say, need not.
var speeds sync.Map

// Assume lets a GPU that is opened from now on have a speed, measured nowhere; nil has it measured.
// What a stand-in measures depends on what else its machine does.
func Assume(ordinal int, s *cuda.Speed) {
	if s == nil {
		speeds.Delete(ordinal)
	} else {
		speeds.Store(ordinal, s)
	}
}

// ordinal is the number of a GPU.
func ordinal(name string) (int, error) {
	n := 0
	if s, ok := strings.CutPrefix(name, "cuda:"); ok {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 0 {
			return 0, fmt.Errorf("device %q: want cuda:N", name)
		}
	} else if name != "cuda" {
		return 0, fmt.Errorf("device %q: want host, cuda:N or auto", name)
	}
	return n, nil
}

func openCUDA(name string) (Device, error) {
	n, err := ordinal(name)
	if err != nil {
		return nil, err
	}
	o := cuda.Options{Device: n, Node: Machine.Node}
	if v, ok := speeds.Load(n); ok {
		o.Speed = v.(*cuda.Speed)
	}
	gpu, err := cuda.Open(o)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, asOurs(err))
	}
	speed := gpu.Speed()
	speeds.Store(n, &speed)
	return &CUDA{Driver: gpu}, nil
}

// painters are the GPUs that made pixels, by name, until the process ends.
var painters = struct {
	sync.Mutex
	known map[string]*cuda.Device
}{known: map[string]*cuda.Device{}}

func painter(name string) (*cuda.Device, error) {
	painters.Lock()
	defer painters.Unlock()
	if d := painters.known[name]; d != nil {
		return d, nil
	}
	n, err := ordinal(name)
	if err != nil {
		return nil, err
	}
	d, err := cuda.Open(cuda.Options{Device: n, NoCalibration: true})
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, asOurs(err))
	}
	painters.known[name] = d
	return d, nil
}

// Pixels makes one array of parts of images that are in the memory of a GPU, in order of a stream.
func Pixels(name string, stream Stream, f *PixelForm, list []byte) error {
	if len(list)%PictureBytes != 0 {
		return fmt.Errorf("%d bytes of images", len(list))
	}
	all := make([]cuda.Picture, len(list)/PictureBytes)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), len(list)), list)
	d, err := painter(name)
	if err != nil {
		return err
	}
	return asOurs(d.Pixels(uintptr(stream), &cuda.PixelForm{Out: uint64(f.Out), Width: f.Width, Height: f.Height, Channels: f.Channels, Last: f.Last, To: f.To, Scale: f.Scale, Shift: f.Shift}, all))
}

// Dense makes dense rows of those of a sparse matrix in the memory of a GPU: cuda.Device.Dense has the words.
func Dense(name string, stream Stream, words []uint64, indices shardify.DType) error {
	d, err := painter(name)
	if err != nil {
		return err
	}
	return asOurs(d.Dense(uintptr(stream), words, indices))
}

// asOurs makes the sentinels of package cuda those of this one.
func asOurs(err error) error {
	switch {
	case errors.Is(err, cuda.ErrNoDriver):
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	case errors.Is(err, cuda.ErrNoDevice):
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	case errors.Is(err, cuda.ErrCapture):
		return fmt.Errorf("%w: %w", ErrCapture, err)
	}
	return err
}

func autoDevice() (Device, error) {
	d, err := openCUDA("cuda:0")
	if errors.Is(err, ErrNoDriver) || errors.Is(err, ErrNoDevice) {
		return Host{}, nil
	}
	return d, err
}

func (d *CUDA) Describe(info *Info) {
	i, s := d.Driver.Info(), d.Driver.Speed()
	info.Name, info.UUID, info.PCI, info.Library = i.Name, i.UUID, i.PCI, i.Library
	info.Driver, info.NUMA = int(i.Driver), i.NUMA
	info.Capability = [2]int{int(i.Capability[0]), int(i.Capability[1])}
	info.Multiprocessors, info.CopyEngines = int(i.Multiprocessors), int(i.CopyEngines)
	info.Memory, info.PinsReadOnly = int64(i.Memory), i.PinsReadOnly()
	info.Engine, info.Read, info.EngineRow = s.Engine, s.Read, s.EngineRow
	if free, _, err := d.Driver.MemoryInfo(); err == nil {
		info.Free = int64(free)
	}
}

func (d *CUDA) String() string { return d.Driver.String() }

func (d *CUDA) Alloc(n, row int64) ([]byte, error) {
	b, err := d.Driver.Alloc(n, row)
	if limit, from := Machine.Pinnable(); err != nil && limit > 0 {
		err = fmt.Errorf("%w (%s allows this process %s)", err, from, shardify.FormatSize(limit))
	}
	return b, err
}

func (d *CUDA) Free(b []byte) { d.keep(d.Driver.Free(b)) }

// keep remembers the first error of calls that have none to return.
func (d *CUDA) keep(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Err == nil {
		d.Err = err
	}
}

func (d *CUDA) Attach(s *Slot) error {
	t := s.Table
	o := cuda.SlotOptions{Tensors: make([]int64, len(t.Data)), Casts: make([]*cuda.Cast, len(t.Data))}
	if s.Listed {
		o.Rows = t.Rows
	}
	if s.Numbers {
		o.Numbers = t.Rows
	}
	for i := range t.Data {
		o.Tensors[i] = max(int64(len(t.Data[i])), t.Counts[i]*t.Layout.Tensors[i].Row)
		if k := t.Caster(i); k != nil && onDevice(k) {
			o.Casts[i] = &cuda.Cast{From: k.From, To: k.To, Scale: k.Scale, Shift: k.Shift, Inner: int64(k.Inner)}
		}
	}
	c, err := d.Driver.NewSlot(o)
	if err != nil {
		return err
	}
	s.State = &CUDASlot{Slot: c, gathered: make([]bool, len(t.Data))}
	d.mu.Lock()
	d.slots++
	d.mu.Unlock()
	return nil
}

func (d *CUDA) Reuse(ctx context.Context, s *Slot) error {
	c := s.State.(*CUDASlot)
	clear(c.gathered)
	c.batch = cuda.Batch{Columns: c.batch.Columns[:0], Engine: c.batch.Engine[:0]}
	c.sends = c.sends[:0]
	return c.Reuse(ctx)
}

// Gather leaves to the device the fields of fixed size: their rows are taken from
// the tables' copies there, or from host memory.
func (d *CUDA) Gather(crew *load.Crew, s *Slot, r *Rows) error {
	t, c := s.Table, s.State.(*CUDASlot)
	b := &c.batch
	b.Size, b.Rows, b.Split, b.Formula = r.Size, r.Rows, r.Split, r.Formula
	if b.Rows == 0 {
		b.Formula = &order.Formula{} // all rows are padding
	} else if b.Formula != nil && b.Formula.Kind != order.InWindows || s.Numbers {
		b.Indices = d.indices
	}
	parted, _ := r.From[0].Device.(*cudaTable)
	b.Parted = parted != nil && parted.held > 0
	hosted := false
	for i := range t.Layout.Tensors {
		spec := &t.Layout.Tensors[i]
		if !d.Holds(spec, t.Caster(i)) {
			hosted = hosted || spec.Row > 0
			continue
		}
		c.gathered[i] = true
		m := cuda.Column{Tensor: i, Row: r.From[0].Layout.Tensors[i].Row}
		for k, from := range r.From {
			if from != nil {
				m.From[k] = tableSource(from, i)
			}
		}
		if b.Parted {
			m.From[0].First, m.From[0].Rows = parted.first, parted.held
			m.From[1] = cuda.Source{Host: r.From[0].Data[i], Rows: r.From[0].Counts[i]}
		}
		if d.byEngine(b, &m, r, t.Caster(i)) {
			b.Engine = append(b.Engine, m)
		} else {
			b.Columns = append(b.Columns, m)
		}
	}
	if b.Formula == nil || len(b.Engine) > 0 && b.Rows > 0 && !b.InOrder() {
		var err error
		if b.IDs, err = r.By.Listed(); err != nil {
			return err
		}
	}
	if !hosted {
		return t.Reset(r.Size)
	}
	host, err := r.By.Hosted()
	if err == nil {
		err = load.LayOutBatch(t, r.Size, host)
	}
	if err != nil {
		return err
	}
	return load.CopyBatch(crew, t, host, c.gathered, t.Size())
}

// byEngine reports whether the copy engine is the better choice for a column: for long rows in
// host memory, and for rows that follow each other.
func (d *CUDA) byEngine(b *cuda.Batch, m *cuda.Column, r *Rows, k *load.Caster) bool {
	n := m.Row
	if b.InOrder() {
		n *= max(r.Rows, 1)
	}
	from := &m.From[0]
	return k == nil && from.Host != nil && from.Window == nil && r.Split >= r.Rows && n >= d.Driver.EngineRow()
}

// onDevice reports whether a kernel casts so. The others are cast on the host.
func onDevice(k *load.Caster) bool { return cuda.Casts(k.From, k.To) && k.Inner <= math.MaxInt32 }

// tableSource is the rows of tensor i of a table.
func tableSource(t *load.Table, i int) cuda.Source {
	src := cuda.Source{Rows: t.Counts[i]}
	c, ok := t.Device.(*cudaTable)
	if ok {
		src.Window = c.window
	}
	if ok && c.at != nil && c.at[i] >= 0 {
		src.At = c.at[i]
	} else {
		src.Host = t.Data[i]
	}
	return src
}

func (d *CUDA) Send(s *Slot, epoch int, step int64) error {
	t, c := s.Table, s.State.(*CUDASlot)
	for i := range t.Data {
		if !c.gathered[i] {
			c.sends = append(c.sends, cuda.Send{Tensor: i, From: t.Bytes(i)})
		}
	}
	return c.Fill(fmt.Sprintf("batch of epoch %d, step %d", epoch, step), c.sends, &c.batch)
}

func (d *CUDA) Numbers(s *Slot) uintptr { return uintptr(s.State.(*CUDASlot).Numbers()) }

// Indices copies the samples to draw from to the device.
func (d *CUDA) Indices(list []int64) error {
	b, err := d.Driver.Alloc(int64(len(list))*8, 8)
	if err != nil {
		return err
	}
	copy(shardify.View[int64](b), list)
	w, err := d.Driver.NewWindow(int64(len(b)))
	if err == nil {
		err = errors.Join(w.Load(0, b), w.Wait(context.Background()))
		d.indices = w
	}
	return errors.Join(err, d.Driver.Free(b))
}

func (d *CUDA) Ready(s *Slot, stream Stream) error {
	return asOurs(s.State.(*CUDASlot).Ready(uintptr(stream)))
}

func (d *CUDA) Use(s *Slot, stream Stream) error {
	return s.State.(*CUDASlot).Use(uintptr(stream))
}

func (d *CUDA) Leave(s *Slot, stream Stream) error {
	return asOurs(s.State.(*CUDASlot).Leave(uintptr(stream)))
}

func (d *CUDA) CopyOut(s *Slot, stream Stream, list []Out) error {
	all := make([]cuda.Out, len(list))
	for i, o := range list {
		all[i] = cuda.Out{Tensor: o.Tensor, To: uint64(o.To), Bytes: o.Bytes}
	}
	return asOurs(s.State.(*CUDASlot).CopyOut(uintptr(stream), all))
}

func (d *CUDA) Wait(ctx context.Context, s *Slot) error { return s.State.(*CUDASlot).Wait(ctx) }

func (d *CUDA) Bind() (unbind func()) {
	f := d.Driver.Bind()
	return func() { d.keep(f()) }
}

func (d *CUDA) Place(at uintptr) error { return d.Driver.Place(uint64(at)) }

func (d *CUDA) Release(s *Slot, streams ...Stream) error {
	list := make([]uintptr, len(streams))
	for i := range streams {
		list[i] = uintptr(streams[i])
	}
	return asOurs(s.State.(*CUDASlot).Release(list...))
}

func (d *CUDA) Tensor(s *Slot, i int) uintptr { return uintptr(s.State.(*CUDASlot).Ptr(i)) }

func (d *CUDA) Detach(s *Slot) {
	c, ok := s.State.(*CUDASlot)
	if !ok {
		return
	}
	s.State = nil
	d.keep(c.Close())
	d.mu.Lock()
	d.slots--
	d.mu.Unlock()
	d.end()
}

// Close closes the device with the last slot: a consumer may still hold batches.
func (d *CUDA) Close() error {
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Err
}

func (d *CUDA) end() {
	d.mu.Lock()
	last := d.closing && d.slots == 0
	d.mu.Unlock()
	if last {
		d.keep(d.Driver.Close())
	}
}

// Holds: fields of fixed size, unless only the host casts them so.
func (d *CUDA) Holds(spec *index.TensorSpec, k *load.Caster) bool {
	return spec.Lead == index.LeadSamples && spec.Row > 0 && (k == nil || onDevice(k))
}

// Filled copies the fields of fixed size of a table that is mirrored to the device.
// Batches then come from there at the rate of the device's memory, and all that
// crosses the link are these copies, at its best rate.
func (d *CUDA) Filled(t *load.Table) error {
	if !t.Mirrored {
		return nil
	}
	c, ok := t.Device.(*cudaTable)
	if !ok {
		var err error
		if c, err = d.newWindow(t, func(i int) int64 { return int64(len(t.Data[i])) }); err != nil {
			return err
		}
	}
	var pieces []cuda.Piece
	for i, at := range c.at {
		if at >= 0 {
			pieces = append(pieces, cuda.Piece{At: at, From: t.Bytes(i)})
		}
	}
	return c.window.LoadPieces(pieces)
}

// newWindow gives a table memory on the device: size bytes for each tensor.
func (d *CUDA) newWindow(t *load.Table, size func(i int) int64) (*cudaTable, error) {
	c := &cudaTable{at: make([]int64, len(t.Data))}
	end := int64(0)
	for i := range t.Data {
		n := size(i)
		if c.at[i] = -1; t.Layout.Tensors[i].Lead != index.LeadSamples || n == 0 {
			continue
		}
		c.at[i] = end
		end = (end + n + 255) &^ 255
	}
	var err error
	if c.window, err = d.Driver.NewWindow(end); err != nil {
		return nil, fmt.Errorf("%s of samples on %s: %w", shardify.FormatSize(end), d, err)
	}
	t.Device = c
	if t.Used != nil {
		t.Used.Device.Add(end)
	}
	return c, nil
}

func (d *CUDA) Reserve(t *load.Table) error {
	_, err := d.newWindow(t, func(i int) int64 {
		if !t.Absent[i] {
			return 0
		}
		return t.Counts[i] * t.Layout.Tensors[i].Row
	})
	return err
}

func (d *CUDA) Keep(t *load.Table, tensors []bool, lo, hi int64) error {
	c, ok := t.Device.(*cudaTable)
	if !ok {
		var err error
		if c, err = d.newWindow(t, func(i int) int64 {
			if !tensors[i] {
				return 0
			}
			return (hi - lo) * t.Layout.Tensors[i].Row
		}); err != nil {
			return err
		}
	}
	c.first, c.held = lo, hi-lo
	var pieces []cuda.Piece
	for i, at := range c.at {
		if at >= 0 {
			pieces = append(pieces, cuda.Piece{At: at, From: t.Part(i, lo, hi)})
		}
	}
	return c.window.LoadPieces(pieces)
}

func (d *CUDA) Store(t, from *load.Table, rows []CopyRun) error {
	c := t.Device.(*cudaTable)
	var pieces []cuda.Piece
	for i, at := range c.at {
		if at < 0 {
			continue
		}
		row := t.Layout.Tensors[i].Row
		for _, r := range rows {
			pieces = append(pieces, cuda.Piece{At: at + r.Row*row, From: from.Part(i, r.Lo, r.Hi)})
		}
	}
	return c.window.LoadPieces(pieces)
}

func (d *CUDA) Stored(ctx context.Context, t *load.Table) error {
	return t.Device.(*cudaTable).window.Wait(ctx)
}

// Refill waits until the table's memory may be written: until it was copied, or
// until what is gathered from it was.
func (d *CUDA) Refill(ctx context.Context, t *load.Table) error {
	c, ok := t.Device.(*cudaTable)
	switch {
	case ok && t.Mirrored:
		return c.window.Wait(ctx)
	case ok:
		return c.window.Left(ctx)
	case t.Mirrored:
		return nil
	}
	w, err := d.Driver.NewWindow(0)
	if err == nil {
		t.Device = &cudaTable{window: w}
	}
	return err
}

func (d *CUDA) Drop(t *load.Table) {
	if c, ok := t.Device.(*cudaTable); ok {
		if t.Used != nil {
			t.Used.Device.Add(-c.window.Bytes())
		}
		d.keep(c.window.Close())
	}
	t.Device = nil
}
