package gpuload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify/index"
)

// Stream is the consumer's queue on a device (a CUstream); 0 on the host.
type Stream uintptr

// device is where batches are delivered. A batch is gathered into its slot's table, sent,
// handed over, and the slot is used again after it was taken back. Where the device's memory
// is the host's, nothing is to be done in between.
//
// Methods may be called from several goroutines, those about one slot never at
// once. All memory is allocated before the first batch, but for tensors of variable
// length that turn out longer (table.grow), and for the tables of a tier.
type device interface {
	memory
	String() string // "host", "cuda:0"
	// attach makes what a slot needs on the device. The tensors of its table have their
	// first size.
	attach(s *deviceSlot) error
	// reuse waits until the slot may be written again.
	reuse(ctx context.Context, s *deviceSlot) error
	// send starts the copy of a gathered slot to the device and does not wait. epoch and
	// step are for errors.
	send(s *deviceSlot, epoch int, step int64) error
	// ready makes a consumer's stream wait for the slot's data.
	ready(s *deviceSlot, stream Stream) error
	// release notes the point on a stream after which the slot is free.
	release(s *deviceSlot, stream Stream) error
	// tensor is where tensor i of a sent slot lies on the device.
	tensor(s *deviceSlot, i int) uintptr
	// detach gives back what attach made.
	detach(s *deviceSlot)
	// describe adds what there is to know about the device.
	describe(info *DeviceInfo)
	close() error
}

// deviceSlot is the memory of one batch.
type deviceSlot struct {
	table *table
	state any // the device's own
}

// gpu is a device with memory of its own, which gathers from tables by itself.
type gpu interface {
	device
	// gather makes a slot the batch of segments: of the tensors that it can from the first
	// list, of the others, laid out and copied by the host, from the second.
	gather(c *crew, s *deviceSlot, rows int64, from, host []segment) error
	// holds tells whether it can keep a tensor of a layout, cast so when gathered.
	holds(spec *index.TensorSpec, k *caster) bool
	// filled: a table that batches are gathered from has its content and keeps it until
	// refill. One that is mirrored is copied to the device.
	filled(t *table) error
	// refill waits until nothing reads the table any more.
	refill(ctx context.Context, t *table) error
	// reserve makes room for the absent tensors of a table of its size.
	reserve(t *table) error
	// store starts the copy of rows of another table, in host memory that send may
	// read from, into the absent tensors of t. They stay as they are until stored.
	store(t, from *table, rows []copyRun) error
	// stored waits until all copies into t are done.
	stored(ctx context.Context, t *table) error
}

// copyRun is rows [lo, hi) of one table that go to row row of another.
type copyRun struct{ lo, hi, row int64 }

// openDevice makes the device of a Config ready.
func openDevice(name string) (device, error) {
	switch {
	case name == "host":
		return hostDevice{}, nil
	case name == "" || name == "auto":
		return autoDevice()
	case strings.HasPrefix(name, "cuda"):
		return openCUDA(name)
	}
	return nil, fmt.Errorf("device %q: want host, cuda:N or auto", name)
}

// Why there is no device.
var (
	// ErrNoDriver: there is no usable driver of the device, or this program was built
	// without.
	ErrNoDriver = errors.New("no driver")
	// ErrNoDevice: the driver knows no such device.
	ErrNoDevice = errors.New("no such device")
)
