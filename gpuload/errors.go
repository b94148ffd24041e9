package gpuload

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/shardify/shardify/gpuload/order"
)

// The decisions callers make. Test with errors.Is. Damaged or replaced shards are
// shardify.ErrCorrupt.
var (
	// ErrFingerprint: the state belongs to another data set.
	ErrFingerprint = order.ErrFingerprint
	// ErrOrder: the state belongs to another order of the same data set.
	ErrOrder = order.ErrOrder
	// ErrState: the state cannot be read.
	ErrState = order.ErrState
	// ErrClosed: the Loader was closed.
	ErrClosed = errors.New("loader is closed")
	// ErrReleased: the batch was released.
	ErrReleased = errors.New("batch was released")
	// ErrHeld: the consumer holds every slot, so no batch can be made until it releases
	// one. Next may be called again.
	ErrHeld = errors.New("all batches are held")
	// ErrFolder: a folder that the configuration names is not there.
	ErrFolder = errors.New("there is no such folder")
)

// folder says of an error which option named the folder that is not there.
func folder(option, dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s %s: %w: make it first, or name another", option, dir, ErrFolder)
	}
	return err
}
