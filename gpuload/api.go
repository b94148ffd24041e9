package gpuload

import (
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
)

type (
	// Cast says what a column becomes on its way into the batch.
	Cast = load.Cast
	// Verify says when the checksums in the shards are compared with the data. Size
	// and header of a shard are compared with the manifest whenever it is opened.
	Verify = load.Verify
	// Stream is the consumer's queue on a device (a CUstream); 0 on the host.
	Stream = device.Stream
	// DeviceInfo is what there is to know about a device.
	DeviceInfo = device.Info
)

// The kinds of Verify.
const (
	VerifyWhole = load.VerifyWhole
	VerifyOpen  = load.VerifyOpen
	VerifyNone  = load.VerifyNone
)

// Why there is no device.
var (
	ErrNoDriver = device.ErrNoDriver
	ErrNoDevice = device.ErrNoDevice
)
