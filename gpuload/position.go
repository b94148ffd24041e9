package gpuload

import (
	"fmt"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
)

// place is where the consumer is.
type place struct {
	mu       sync.Mutex
	epoch    int
	position int64
}

func (p *place) at() (epoch int, position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch, p.position
}

func (p *place) set(epoch int, position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch, p.position = epoch, position
}

// Steps is the number of steps of a whole epoch, the same on every rank: of batches,
// unless Config.Group is set. With Drop it is 0 where an epoch has fewer samples than Batch
// times World: Next then returns io.EOF each time, and Notes names both numbers.
// With Config.Budget epochs differ: it is that of the current one.
func (l *Loader) Steps() int {
	epoch, _ := l.place.at()
	return int(l.want.Steps.Count(epoch, 0))
}

// Together is the most steps that a batch holds.
func (l *Loader) Together() int { return int(l.want.Steps.Together) }

// Remaining is the number of steps up to the end of the current epoch.
func (l *Loader) Remaining() int {
	return int(l.want.Steps.Count(l.place.at()))
}

// Strided reports that the rows of a step go to the ranks in turn, as under a Block shuffle;
// else each rank has rows that follow each other.
func (l *Loader) Strided() bool { return l.want.Steps.Strided }

// Order is the order of the samples.
func (l *Loader) Order() *order.Order { return l.want.Order }

// Notes are sentences that the user may want to read: choices that were made, and settings
// that do not work out as asked.
func (l *Loader) Notes() []string { return l.notes.all() }

// Columns are the names of what every batch has.
func (l *Loader) Columns() []string { return slices.Clone(l.want.Columns) }

// Schema is the delivered fields, companions included.
func (l *Loader) Schema() []shardify.Field { return slices.Clone(l.want.Out.Schema) }

// Window is what the rows of a window are, and its anchors over all inputs; nil without
// Config.Window.
func (l *Loader) Window() *index.View { return l.want.windowView() }

// State is the place behind the last batch that Next returned.
func (l *Loader) State() State {
	epoch, position := l.place.at()
	return l.want.Order.State(l.want.Set.Fingerprint(), epoch, position)
}

// Restore goes to the place of a state, in time that does not depend on it. World
// and batch size may differ from those of the loader that wrote it. Batches not yet
// released stay valid.
func (l *Loader) Restore(s State) error {
	if err := s.Matches(l.want.Set.Fingerprint(), l.want.Order); err != nil {
		return err
	}
	return l.moveTo(s.Epoch, s.Position)
}

// SetEpoch goes to the beginning of an epoch. It costs nothing if that is where
// the Loader is.
func (l *Loader) SetEpoch(epoch int) error {
	if epoch < 0 || epoch >= order.MaxEpoch {
		return fmt.Errorf("epoch %d: want 0 to 2^31-1", epoch)
	}
	return l.moveTo(epoch, 0)
}

func (l *Loader) moveTo(epoch int, position int64) error {
	l.use.Lock()
	defer l.use.Unlock()
	if l.queue.isClosed() {
		return ErrClosed
	}
	if e, p := l.place.at(); e == epoch && p == position && l.failed == nil {
		return nil
	}
	l.halt()
	l.place.set(epoch, position)
	return nil
}

// Device describes where the batches are delivered.
func (l *Loader) Device() DeviceInfo { return device.Describe(l.dev.Dev) }
