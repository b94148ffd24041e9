package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/gpuload/order"
)

// The results and layouts of shardify.h.
const (
	ok     = 0
	end    = 1
	again  = 2
	failed = -1
)

const (
	stepBatch = iota
	stepLease
	stepEpoch
	stepIndex
	stepRows
	stepFrom
	stepPosition
	stepLent
	stepSteps
	stepHead
)

const (
	tensorAddress = iota
	tensorCount
	tensorHost
	tensorEach
)

// loader is a Loader that the caller knows.
type loader struct {
	*gpuload.Loader
	set     *gpuload.Dataset
	trace   *os.File
	tensors []tensorInfo
	info    info
	slots   int
	grow    bool // slots, where the caller holds all but one

	// How the rows of a step are placed: docs/design/loader.md section 1.
	strided            bool
	rank, world, batch int64
	drop               bool

	use sync.Mutex // one Next at a time, so that the place before it is known

	away *away

	mu     sync.Mutex
	lent   map[*batch]struct{}
	closed bool
}

// batch is one that the caller has or has lent.
type batch struct {
	*gpuload.Batch
	of      *loader
	handle  uint64
	tensors []gpuload.Tensor
	// views is the lease, in memory of C; nil if the batch is not lent.
	views *lease
}

// spareThreads is what Go may use beside a Loader's workers.
const spareThreads = 2

// fewerThreads keeps Go from taking all cores of a node that has other ranks too. It
// never takes from a Loader that is there what it has.
func fewerThreads(workers int) {
	known.mu.Lock()
	first := len(known.loaders) == 0
	known.mu.Unlock()
	if n := workers + spareThreads; os.Getenv("GOMAXPROCS") == "" && n <= runtime.NumCPU() && (first || n > runtime.GOMAXPROCS(0)) {
		runtime.GOMAXPROCS(n)
	}
}

func openLoader(text []byte, indices func(kind string) ([]int64, error), weights []float64) (_ *loader, err error) {
	c, err := decodeConfig(text)
	if err != nil {
		return nil, err
	}
	l := &loader{lent: map[*batch]struct{}{}, grow: c.Grow, rank: int64(c.Rank), world: int64(max(c.World, 1)), batch: int64(c.Batch), drop: c.Last == string(gpuload.Drop)}
	if l.set, err = gpuload.Open(context.Background(), c.Paths...); err != nil {
		return nil, err
	}
	if c.IDs != nil {
		if err = l.set.Are(context.Background(), c.IDs); err != nil {
			return nil, err
		}
	}
	g := c.loaderConfig()
	g.Weights = weights
	if g.Indices, err = indices(c.IndicesType); err != nil {
		return nil, err
	}
	if l.trace, err = c.openTrace(); err != nil {
		return nil, err
	}
	if l.trace != nil {
		g.Trace = l.trace
	}
	if l.Loader, err = l.set.Loader(g); err != nil {
		if l.trace != nil {
			err = errors.Join(err, l.trace.Close())
		}
		return nil, err
	}
	l.away = newAway()
	fewerThreads(l.Stats().Workers)
	l.slots = g.Depth + 1
	if g.Depth == 0 {
		l.slots = 4
	}
	l.strided = g.Shuffle == gpuload.Block && weights == nil && c.Balance == ""
	l.describe(c.Numbers)
	return l, nil
}

// next delivers a batch into step.
func (l *loader) next(wait time.Duration, stream gpuload.Stream, lend bool, step []int64) (int, error) {
	l.use.Lock()
	defer l.use.Unlock()
	b, code, err := l.deliver(wait, stream, step)
	if b == nil {
		return code, err
	}
	l.mu.Lock()
	if lend {
		b.views = newLease()
		l.lent[b] = struct{}{}
	}
	n := len(l.lent)
	l.mu.Unlock()
	known.addBatch(b)
	step[stepBatch], step[stepLease], step[stepLent] = int64(b.handle), int64(uintptr(unsafe.Pointer(b.views))), int64(n)
	return ok, nil
}

// fetch delivers a batch as next and take do; on a GPU, to memory of the caller there.
func (l *loader) fetch(wait time.Duration, stream gpuload.Stream, step, to, sizes []int64) (int, error) {
	l.use.Lock()
	defer l.use.Unlock()
	defer l.Bind()()
	b, code, err := l.deliver(wait, nobody, step)
	if b == nil {
		return code, err
	}
	step[stepBatch], step[stepLease], step[stepLent] = 0, 0, 0
	err = b.take(stream, to, sizes)
	if e := b.ReleaseOn(); err == nil {
		err = e
	}
	if err != nil {
		return failed, l.undo(b.Batch, err)
	}
	return ok, nil
}

// undo goes back to a batch that a stream could not take because it is being captured.
func (l *loader) undo(b *gpuload.Batch, err error) error {
	if !errors.Is(err, gpuload.ErrCapture) {
		return err
	}
	s := l.State()
	s.Epoch, s.Position = b.Epoch(), b.From()
	return errors.Join(err, l.Restore(s))
}

// copyOn copies a batch to memory of the caller on the GPU.
func (b *batch) copyOn(stream gpuload.Stream, to, sizes []int64) error {
	list := make([]gpuload.DeviceCopy, 0, len(to))
	for i, address := range to {
		if address != 0 {
			list = append(list, gpuload.DeviceCopy{From: b.tensors[i], To: uintptr(address), Bytes: sizes[i]})
		}
	}
	return b.CopyOn(stream, list...)
}

// deliver gets a batch and describes it in step. nil: there is no batch, and the code says
// why. The caller holds l.use.
func (l *loader) deliver(wait time.Duration, stream gpuload.Stream, step []int64) (*batch, int, error) {
	if l.calls(stream) {
		defer l.Bind()()
	}
	l.away.sweep()
	if err := l.sweep(); err != nil {
		return nil, failed, err
	}
	if err := l.room(); err != nil {
		return nil, failed, err
	}
	ctx := &patience{wait: wait}
	defer ctx.end()
	g, err := l.Next(ctx)
	switch {
	case err == io.EOF:
		return nil, end, nil
	case errors.Is(err, context.DeadlineExceeded):
		l.mu.Lock()
		defer l.mu.Unlock()
		step[stepLent] = int64(len(l.lent))
		return nil, again, nil
	case err != nil:
		return nil, failed, err
	}
	b := &batch{Batch: g, of: l, tensors: make([]gpuload.Tensor, len(l.tensors))}
	if err := b.hand(l, stream, step); err != nil {
		g.Release()
		return nil, failed, l.undo(g, err)
	}
	step[stepEpoch], step[stepIndex], step[stepRows] = int64(g.Epoch()), g.Index(), int64(g.Rows())
	step[stepFrom], step[stepPosition], step[stepSteps] = g.From(), g.Position(), int64(g.Steps())
	if p := l.Order().Packs(); p != nil && l.Together() > 1 {
		l.part(p, g, step[stepHead+len(l.tensors)*tensorEach:])
	}
	return b, ok, nil
}

// part writes the rows of each step of a batch.
func (l *loader) part(p *order.Packs, b *gpuload.Batch, rows []int64) {
	s := order.Steps{Packs: p, Rank: l.rank, World: l.world}
	for k := range b.Steps() {
		rows[k] = int64(s.RowsOf(b.Epoch(), b.From(), int64(k)))
	}
}

// stepLength is the numbers of a step.
func (l *loader) stepLength() int {
	n := stepHead + len(l.tensors)*tensorEach
	if l.Order().Packs() != nil && l.Together() > 1 {
		n += l.Together()
	}
	return n
}

// calls reports whether the device is called before the caller has the batch: for a stream, or to
// take batches back.
func (l *loader) calls(stream gpuload.Stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return stream != nobody || len(l.lent) > 0
}

// room makes a slot where the next batch would be the last that can be lent.
func (l *loader) room() error {
	l.mu.Lock()
	n := len(l.lent)
	l.mu.Unlock()
	if !l.grow || n+1 < l.slots {
		return nil
	}
	err := l.Grow()
	if err == nil {
		l.slots++
	}
	return err
}

const (
	nobody    = gpuload.Unknown // SHARDIFY_NOBODY: no stream waits for the batch yet
	theCaller = nobody - 1      // SHARDIFY_CALLER: the host does
)

// hand makes the stream, or the caller, wait for the batch and writes its tensors' places.
func (b *batch) hand(l *loader, stream gpuload.Stream, step []int64) (err error) {
	switch stream {
	case nobody:
	case theCaller:
		err = b.Wait(context.Background())
	default:
		err = b.Ready(stream)
	}
	if err != nil {
		return err
	}
	at := step[stepHead:]
	for i := range l.tensors {
		t := &b.tensors[i]
		if *t, err = l.tensors[i].get(b.Batch); err != nil {
			return err
		}
		at[tensorAddress], at[tensorCount], at[tensorHost] = int64(t.Ptr), t.Shape[0], 0
		if len(t.Data) > 0 {
			at[tensorHost] = int64(uintptr(unsafe.Pointer(unsafe.SliceData(t.Data))))
		}
		at = at[tensorEach:]
	}
	return nil
}

// copyAlone is up to how many bytes a batch is copied by the caller's own thread: to
// wake others takes longer, and they have the next batches to make.
const copyAlone = 4 << 20

// detach is SHARDIFY_DETACH.
const detach = -1

// take copies a batch to memory of the caller, on a GPU in order of a stream, or makes its
// memory the caller's.
func (b *batch) take(stream gpuload.Stream, to, sizes []int64) error {
	if b.of.info.Device != "host" {
		return b.copyOn(stream, to, sizes)
	}
	total := int64(0)
	for i, address := range to {
		if address != 0 && address != detach {
			n := int64(len(b.tensors[i].Data))
			if n > sizes[i] || n < sizes[i] && b.Steps() == b.of.Together() {
				return fmt.Errorf("tensor %d has %d bytes on the host, there is room for %d", i, n, sizes[i])
			}
			total += n
		}
	}
	list := make([]gpuload.Copy, 0, len(to))
	for i, address := range to {
		data := b.tensors[i].Data
		switch {
		case address == 0 || address == detach || sizes[i] == 0:
		case total <= copyAlone:
			copy(at(address, sizes[i]), data)
		default:
			list = append(list, gpuload.Copy{From: b.tensors[i], To: at(address, int64(len(data)))})
		}
	}
	if len(list) > 0 {
		if err := b.CopyTo(list...); err != nil {
			return err
		}
	}
	for i, address := range to {
		if address != detach {
			continue
		}
		d, err := b.Detach(b.tensors[i])
		if err != nil {
			return err // of the first or of none: the batch is the caller's alone
		}
		to[i], sizes[i] = int64(uintptr(unsafe.Pointer(unsafe.SliceData(d.Data)))), b.of.away.add(d)
	}
	return nil
}

// at is memory of C.
func at(address, n int64) []byte {
	p := uintptr(address)
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

// idle reports whether a lent batch has no holder.
func (b *batch) idle() bool { return atomic.LoadInt64(&b.views.held) == 0 }

// sweep gives back what was lent and has no holder any more.
func (l *loader) sweep() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for b := range l.lent {
		if b.idle() {
			_, e := l.giveBack(b)
			err = errors.Join(err, e)
		}
	}
	return err
}

// giveBack ends a loan, unless a stream that uses the batch is being captured: then it is
// swept up later. The caller holds l.mu.
func (l *loader) giveBack(b *batch) (int, error) {
	err := b.ReleaseOn()
	if errors.Is(err, gpuload.ErrCapture) {
		return again, nil
	}
	delete(l.lent, b)
	if _, e := known.takeBatch(b.handle); e == nil {
		freeLease(b.views)
	}
	return ok, err
}

// settle gives a lent batch without a holder back.
func (l *loader) settle(b *batch) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !b.idle() {
		return again, nil
	}
	return l.giveBack(b)
}

// orphansEvery is how often batches that outlive their Loader are looked at.
const orphansEvery = 100 * time.Millisecond

// close ends the Loader. What is lent is given back as it comes.
func (l *loader) close() error {
	err := errors.Join(l.sweep(), l.Close())
	if l.trace != nil {
		err = errors.Join(err, l.trace.Close())
	}
	l.away.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; len(l.lent) == 0 {
		return err
	}
	go func() {
		for {
			_ = l.sweep()
			time.Sleep(orphansEvery)
			l.mu.Lock()
			n := len(l.lent)
			l.mu.Unlock()
			if n == 0 {
				return
			}
		}
	}()
	return err
}

// idsAt computes the samples of a step that is gone.
func (l *loader) idsAt(epoch, from int64, ids []int64) {
	switch p := l.Order().Packs(); {
	case p != nil && from+l.rank < p.Batches(int(epoch)):
		copy(ids, p.Samples(int(epoch), from+l.rank))
	case p != nil:
	case l.strided:
		l.Order().IDs(ids, int(epoch), from+l.rank, l.world)
	default:
		l.Order().IDs(ids, int(epoch), from+l.rank*l.batch, 1)
	}
}

// batches is what shardify_batches answers.
type batches struct {
	Steps  int64         `json:"steps"`
	Total  int64         `json:"total"` // positions of the epoch, over all ranks
	Report *order.Report `json:"report,omitempty"`
}

// batchesOf says how many steps an epoch has from a position on, and what its batches by a budget hold.
func (l *loader) batchesOf(epoch int, from int64, report bool) (b batches, err error) {
	p, all, each := l.Order().Packs(), int64(0), l.world
	switch {
	case p != nil:
		all = p.Batches(epoch)
	case report:
		return b, errors.New("batches are of one size, without a budget")
	default:
		all, each = l.Order().LenOf(epoch), l.batch*l.world
	}
	left := max(all-from, 0)
	b.Total = all
	if b.Steps = left / each; !l.drop {
		b.Steps = (left + each - 1) / each
	}
	if report {
		r := p.Report(epoch)
		b.Report = &r
	}
	return b, nil
}
