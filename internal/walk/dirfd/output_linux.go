//go:build linux && !portable

package dirfd

import "time"

// Output writes to an open file and keeps the processor as Pace does: as long as
// the page cache takes all there is at once.
type Output struct {
	fd    uintptr
	local bool
	keep  bool
}

// quickWrite is the time per mebibyte, and for one more, of a write that did not
// wait.
const quickWrite = 2 * time.Millisecond

// NewOutput is for the file of this descriptor, which the caller keeps open.
func NewOutput(fd uintptr) *Output { return &Output{fd: fd, local: local(int(fd))} }

// Write writes at the file's position.
func (o *Output) Write(b []byte) (int, error) {
	start := time.Now()
	n, err := write(o.fd, b, o.keep)
	o.keep = o.local && err == nil && time.Since(start) < quickWrite*time.Duration(1+len(b)>>20)
	return n, err
}
