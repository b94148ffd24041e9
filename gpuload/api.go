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
	// Stream is the consumer's queue on a device (a CUstream). 0 and 1 are the default
	// stream, 2 is that of the calling thread: in Go, of a goroutine that is locked to one.
	Stream = device.Stream
	// DeviceInfo is what there is to know about a device.
	DeviceInfo = device.Info
	// PixelForm is what the images of a batch become on a GPU.
	PixelForm = device.PixelForm
)

// PictureBytes is the size of an image in the list of Pixels: struct shardify_picture of
// capi/shardify.h.
const PictureBytes = device.PictureBytes

// Pixels makes one array of parts of images that are in the memory of a GPU, in order of a
// stream: resized as Pillow does it (bilinear), mirrored, and scaled.
func Pixels(name string, s Stream, f *PixelForm, list []byte) error {
	return device.Pixels(name, s, f, list)
}

// The kinds of Verify.
const (
	VerifyWhole = load.VerifyWhole
	VerifyOpen  = load.VerifyOpen
	VerifyNone  = load.VerifyNone
)

// Unknown is the stream of a consumer that does not say which it is.
const Unknown = device.Unknown

// Why there is no device, or nothing is done with it.
var (
	ErrNoDriver = device.ErrNoDriver
	ErrNoDevice = device.ErrNoDevice
	// ErrCapture: a stream is being captured into a CUDA graph.
	ErrCapture = device.ErrCapture
)
