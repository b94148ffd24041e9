package s3

import (
	"context"
	"time"
)

// SetPart changes the size of parts. It returns the one that was.
func SetPart(bytes int64) (before int64) {
	before, partBytes = partBytes, bytes
	return before
}

// Quick has files tried again without a pause.
func Quick(f *Files) *Files {
	f.hosts.Pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return f
}
