package device

import (
	"github.com/shardify/shardify/gpuload/internal/load"
)

// Info is what there is to know about a device.
type Info struct {
	Device string // "host", "cuda:0"
	// Of a GPU: its name, the newest CUDA of its driver (13000 is 13.0), the library,
	// compute capability, and place.
	Name            string
	UUID, PCI       string
	Driver          int
	Library         string
	Capability      [2]int
	Multiprocessors int
	CopyEngines     int
	NUMA            int // node, or -1
	// Memory and Free are the bytes of the device's memory.
	Memory, Free int64
	// Engine and Read are measured bytes per second: one large copy from pinned memory,
	// and a kernel that reads it.
	Engine, Read float64
	// EngineRow is the bytes of a row from which the copy engine is used row by row.
	EngineRow int64
	// PinsReadOnly: read-only mappings of files can be pinned.
	PinsReadOnly bool
	// Of the host: cores that this process may run on, and what the system says of huge
	// pages ("always", "madvise", "never"; "" is unknown).
	Cores     int
	HugePages string
}

// Describe is all that there is to know about a device.
func Describe(d Device) Info {
	info := Info{Device: d.String(), NUMA: -1, Cores: load.CoresAllowed(), HugePages: load.HugePages()}
	d.Describe(&info)
	return info
}
