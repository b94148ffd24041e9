package memory

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/host"
)

// hugeBytes is the size of a huge page, and from which size memory is asked for
// them: gathers of small rows from huge pages are up to four times faster.
const hugeBytes = 2 << 20

// Allocate returns n zero bytes that the garbage collector does not know of.
func Allocate(n int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	size := n
	if n >= hugeBytes {
		size = (n + hugeBytes - 1) &^ (hugeBytes - 1)
	}
	b, err := Plain(size)
	if err != nil {
		return nil, err
	}
	if n >= hugeBytes {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // not to be had everywhere
	}
	return b[:n], nil
}

// Plain is Allocate without huge pages: for what is written and read once, since looking for
// huge pages can take several times as long as filling them.
func Plain(n int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, noMemory(n, err)
	}
	return b, nil
}

// noMemory says whether a limit of this process is why there are no n bytes.
func noMemory(n int64, err error) error {
	err = fmt.Errorf("allocating %s: %w", shardify.FormatSize(n), err)
	if room, limited := (host.Env{Getenv: os.Getenv}).AddressSpace(); limited && room < n {
		err = shardify.Hint(fmt.Errorf("%w: the address space of this process is limited (ulimit -v), and %s of it are left", err, shardify.FormatSize(room)),
			"raise the limit: ulimit -v unlimited")
	}
	return err
}

// Release gives memory of Allocate and Plain back.
func Release(b []byte) {
	if cap(b) > 0 {
		_ = unix.Munmap(b[:cap(b)])
	}
}
