package gpuload

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/order"
)

// Steps is the number of steps of a whole epoch, the same on every rank: of batches,
// unless Config.Group is set. With Drop it is 0 where an epoch has fewer samples than Batch
// times World: Next then returns io.EOF each time, and Notes names both numbers.
func (l *Loader) Steps() int { return int(l.steps.Count(0)) }

// Together is the most steps that a batch holds.
func (l *Loader) Together() int { return int(l.steps.Together) }

// Remaining is the number of steps up to the end of the current epoch.
func (l *Loader) Remaining() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.steps.Count(l.position))
}

// Strided reports that the rows of a step go to the ranks in turn, as under a Block shuffle;
// else each rank has rows that follow each other.
func (l *Loader) Strided() bool { return l.steps.Strided }

// Order is the order of the samples.
func (l *Loader) Order() *order.Order { return l.order }

// Notes are sentences that the user may want to read: choices that were made, and settings
// that do not work out as asked.
func (l *Loader) Notes() []string { return append([]string(nil), l.notes...) }

// Columns are the names of what every batch has.
func (l *Loader) Columns() []string { return append([]string(nil), l.columns...) }

// Schema is the delivered fields, companions included.
func (l *Loader) Schema() []shardify.Field { return append([]shardify.Field(nil), l.out.Schema...) }

// State is the place behind the last batch that Next returned.
func (l *Loader) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{stateVersion, l.set.fingerprint, l.order.String(), l.order.Seed(), l.epoch, l.position}
}

// Restore goes to the place of a state, in time that does not depend on it. World
// and batch size may differ from those of the loader that wrote it. Batches not yet
// released stay valid.
func (l *Loader) Restore(s State) error {
	if err := s.matches(l.set.fingerprint, l.order); err != nil {
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
	if l.isClosed() {
		return ErrClosed
	}
	l.mu.Lock()
	here := l.epoch == epoch && l.position == position
	l.mu.Unlock()
	if here && l.failed == nil {
		return nil
	}
	l.halt()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch, l.position = epoch, position
	return nil
}

// Device describes where the batches are delivered.
func (l *Loader) Device() DeviceInfo { return device.Describe(l.dev) }

// Probe opens a device as a Loader would, measures it, and closes it again.
func Probe(name string) (DeviceInfo, error) {
	d, err := device.Open(name)
	if err != nil {
		return device.Info{}, err
	}
	info := device.Describe(d)
	return info, d.Close()
}
