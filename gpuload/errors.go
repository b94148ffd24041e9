package gpuload

import (
	"errors"
)

// The decisions callers make. Test with errors.Is. Damaged or replaced shards are
// shardify.ErrCorrupt.
var (
	// ErrFingerprint: the state belongs to another data set.
	ErrFingerprint = errors.New("state of another data set")
	// ErrOrder: the state belongs to another order of the same data set.
	ErrOrder = errors.New("state of another order")
	// ErrState: the state cannot be read.
	ErrState = errors.New("not a state of a loader")
	// ErrClosed: the Loader was closed.
	ErrClosed = errors.New("loader is closed")
	// ErrReleased: the batch was released.
	ErrReleased = errors.New("batch was released")
	// ErrHeld: the consumer holds every slot, so no batch can be made until it releases
	// one. Next may be called again.
	ErrHeld = errors.New("all batches are held")
)
