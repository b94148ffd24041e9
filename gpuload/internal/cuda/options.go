package cuda

import (
	"fmt"

	"github.com/shardify/shardify"
)

// Options says which GPU to open and how. The zero value is the first one.
type Options struct {
	// Library is the path of the driver's library. By default it is that of the
	// environment variable GPULOAD_LIBCUDA, else where drivers are installed.
	Library string
	// Device is the ordinal, as in cuda:0.
	Device int
	// Chunk is the most bytes of host memory that are registered by one call
	// (default 1 GiB, a multiple of 2 MiB). Drivers refuse calls of hundreds of
	// GiB, and hold locks of the whole machine during one.
	Chunk int64
	// Speed is what an earlier Open of the device measured; nil measures again.
	Speed *Speed
	// Node finds the NUMA node of a PCI device, on which host memory is to be; -1 is
	// unknown, as is nil.
	Node func(pci string) int
	// NoCalibration leaves the speeds unmeasured; paths are then chosen by typical
	// ones.
	NoCalibration bool
}

const (
	pageBytes    = 4096
	hugeBytes    = 2 << 20
	defaultChunk = 1 << 30
)

func (o *Options) check() error {
	if o.Chunk == 0 {
		o.Chunk = defaultChunk
	}
	if o.Device < 0 || o.Device > 1<<16 {
		return fmt.Errorf("%w: cuda:%d", ErrNoDevice, o.Device)
	}
	if o.Chunk < pageBytes || o.Chunk%pageBytes != 0 {
		return fmt.Errorf("chunk %s: want a multiple of %d bytes", shardify.FormatSize(o.Chunk), pageBytes)
	}
	return nil
}

// Info is what the driver says about a device.
type Info struct {
	Ordinal         int      `json:"ordinal"`
	Name            string   `json:"name"`
	UUID            string   `json:"uuid"`
	PCI             string   `json:"pci"`
	NUMA            int      `json:"numa"` // node, or -1
	Memory          uint64   `json:"memory_bytes"`
	Multiprocessors int32    `json:"multiprocessors"`
	CopyEngines     int32    `json:"copy_engines"`
	Capability      [2]int32 `json:"capability"`
	// Driver is the newest CUDA it speaks: 13000 is 13.0.
	Driver  int32  `json:"driver"`
	Library string `json:"library"`

	unified, mapsHost, registers, readOnly int32
}

// PinsReadOnly reports that Register takes read-only memory.
func (i *Info) PinsReadOnly() bool { return i.readOnly == 1 }

// Speed is measured figures, in bytes per second.
type Speed struct {
	// Engine is one large copy from pinned memory, Read a kernel that reads it.
	Engine float64 `json:"engine_bytes_per_second"`
	Read   float64 `json:"read_bytes_per_second"`
	// EngineRow is the bytes of a row from which the copy engine, row by row, is
	// faster than the kernel.
	EngineRow int64 `json:"engine_row_bytes"`
	// Batch: rows are copied many by one call.
	Batch bool `json:"batch"`
}

// What an H100 has, where nothing was measured.
const (
	typicalEngineRow = 64 << 10
	typicalRead      = 35e9
	typicalEngine    = 52e9
)
