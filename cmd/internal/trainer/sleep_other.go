//go:build !linux

package trainer

import (
	"context"
	"time"
)

// sleep waits as long as an accelerator would compute.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
