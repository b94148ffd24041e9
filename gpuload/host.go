package gpuload

import "context"

// hostDevice delivers batches in host memory.
type hostDevice struct{}

func (hostDevice) String() string { return "host" }

func (hostDevice) alloc(n, _ int64) ([]byte, error) { return allocate(n) }

func (hostDevice) free(b []byte) { release(b) }

func (hostDevice) attach(*slot) error { return nil }

func (hostDevice) send(*slot) error { return nil }

func (hostDevice) ready(*slot, Stream) error { return nil }

func (hostDevice) release(s *slot, _ Stream) error {
	s.poison()
	return nil
}

func (hostDevice) reuse(context.Context, *slot) error { return nil }

func (hostDevice) tensor(s *slot, i int) uintptr { return address(s.table.bytes(i)) }

func (hostDevice) detach(*slot) {}

func (hostDevice) close() error { return nil }
