package device

import (
	"context"

	"github.com/shardify/shardify/gpuload/internal/load"
)

// Host delivers batches in host memory.
type Host struct{ load.HostMemory }

func (Host) String() string { return "host" }

func (Host) Attach(*Slot) error { return nil }

func (Host) Reuse(context.Context, *Slot) error { return nil }

func (Host) Send(*Slot, int, int64) error { return nil }

func (Host) Ready(*Slot, Stream) error { return nil }

func (Host) Use(*Slot, Stream) error { return nil }

func (Host) Leave(*Slot, Stream) error { return nil }

func (Host) Release(*Slot, ...Stream) error { return nil }

func (Host) Tensor(s *Slot, i int) uintptr { return load.Address(s.Table.Bytes(i)) }

func (Host) Detach(*Slot) {}

func (Host) Describe(*Info) {}

func (Host) Close() error { return nil }
