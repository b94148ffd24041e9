package gpuload

import "context"

// Stream is the consumer's queue on a device (a CUstream); 0 on the host.
type Stream uintptr

// device is the memory that batches live in and the way there. The pipeline
// gathers a batch into the slot's host tensors, sends it, hands it over, and reuses
// the slot after it was taken back; a device whose memory is the host's has nothing
// to do in between.
//
// Methods may be called from several goroutines, those about one slot never at
// once. All memory is allocated before the first batch, but for tensors of variable
// length that turn out longer (table.grow).
type device interface {
	String() string
	// alloc returns n bytes of host memory, aligned to 64, that send may copy from:
	// pinned for a GPU. Its content is zero.
	alloc(n int64) ([]byte, error)
	free(b []byte)
	// attach makes what a slot needs on the device. Its tensors are allocated.
	attach(s *slot) error
	// send starts the copy of a gathered slot to the device and does not wait.
	send(s *slot) error
	// ready makes a consumer's stream wait for the slot's data.
	ready(s *slot, stream Stream) error
	// release notes the point on a stream after which the slot is free.
	release(s *slot, stream Stream) error
	// reuse waits until the slot may be written again.
	reuse(ctx context.Context, s *slot) error
	// detach gives back what attach made.
	detach(s *slot)
	close() error
}

// deviceGatherer is a device that gathers by itself from tables in its host
// memory: the pipeline then only tells it the rows. It computes the slot's lengths
// as gather does.
type deviceGatherer interface {
	gather(s *slot, from []segment) error
}
