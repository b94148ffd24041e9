package gpuload

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify/index"
)

// Stream is the consumer's queue on a device (a CUstream); 0 on the host.
type Stream uintptr

// device is the memory that batches live in and the way there. The pipeline
// gathers a batch into the slot's table, sends it, hands it over, and reuses the
// slot after it was taken back. Where the device's memory is the host's, nothing is
// to be done in between.
//
// Methods may be called from several goroutines, those about one slot never at
// once. All memory is allocated before the first batch, but for tensors of variable
// length that turn out longer (table.grow), and for the tables of a tier.
type device interface {
	String() string // "host", "cuda:0"
	// alloc returns n zero bytes of host memory, aligned to 64, that send and gather
	// may read from: pinned for a GPU. Rows of row bytes are kept whole where memory
	// is registered in pieces.
	alloc(n, row int64) ([]byte, error)
	free(b []byte)
	// attach makes what a slot needs on the device (slot.device). The tensors of its
	// table have their first size.
	attach(s *slot) error
	// reuse waits until the slot may be written again.
	reuse(ctx context.Context, s *slot) error
	// send starts the copy of a gathered slot to the device and does not wait.
	send(s *slot) error
	// ready makes a consumer's stream wait for the slot's data.
	ready(s *slot, stream Stream) error
	// release notes the point on a stream after which the slot is free.
	release(s *slot, stream Stream) error
	// tensor is where tensor i of a sent slot lies on the device.
	tensor(s *slot, i int) uintptr
	// detach gives back what attach made.
	detach(s *slot)
	close() error
}

// deviceGatherer is a device that gathers from tables by itself: the tensors it can
// from the first list, the others, laid out and copied by the host, from the second.
type deviceGatherer interface {
	gather(c *crew, s *slot, rows int64, from, host []segment) error
}

// residentDevice is a device that keeps tables in memory of its own: those of
// TierDevice, and windows that are filled from TierPinned. It is a tableDevice too.
type residentDevice interface {
	// holds tells whether it can keep a tensor of a layout, cast so when gathered.
	holds(spec *index.TensorSpec, k *caster) bool
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

// tableDevice is a device that wants to know of the tables that batches are
// gathered from: windows, and the pinned tier. It keeps what it needs in
// table.device.
type tableDevice interface {
	// filled: the table has its content and keeps it until refill.
	filled(t *table) error
	// refill waits until nothing reads the table any more.
	refill(ctx context.Context, t *table) error
	// drop gives back what filled made, before the memory is freed.
	drop(t *table)
}

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
