package gpuload

import "context"

// hostDevice delivers batches in host memory.
type hostDevice struct{ hostMemory }

func (hostDevice) String() string { return "host" }

func (hostDevice) attach(*deviceSlot) error { return nil }

func (hostDevice) reuse(context.Context, *deviceSlot) error { return nil }

func (hostDevice) send(*deviceSlot, int, int64) error { return nil }

func (hostDevice) ready(*deviceSlot, Stream) error { return nil }

func (hostDevice) release(*deviceSlot, Stream) error { return nil }

func (hostDevice) tensor(s *deviceSlot, i int) uintptr { return address(s.table.bytes(i)) }

func (hostDevice) detach(*deviceSlot) {}

func (hostDevice) describe(*DeviceInfo) {}

func (hostDevice) close() error { return nil }
