package gpuload

import (
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
)

type (
	// Cast says what a column becomes on its way into the batch.
	Cast = load.Cast
	// Verify says when the checksums in the shards are compared with the data. Size
	// and header of a shard are compared with the manifest whenever it is opened.
	Verify = load.Verify
	// State is a place in the order of samples. It does not depend on world and batch
	// size: a Loader with others continues at the same sample.
	State = order.State
	// Stream is the consumer's queue on a device (a CUstream). 0 and 1 are the default
	// stream, 2 is that of the calling thread: in Go, of a goroutine that is locked to one.
	Stream = device.Stream
	// Documents are the stretches of tokens in a batch of sequences that belong together, as attention
	// over all of its tokens needs them: CuSeqlens is where each begins, and the number of tokens.
	Documents = load.Documents
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

// FindDocuments reads the lengths of the documents of rows: those of row i are lens[offsets[i]:offsets[i+1]].
// Sequences are stored with so many tokens, of which the first length are those of the batch. cu is
// memory for the result.
func FindDocuments(cu []int32, lens []int32, offsets []int64, stored, length int) (Documents, error) {
	return load.FindDocuments(cu, lens, offsets, stored, length)
}

// DecodeState reads what State.Encode wrote. Unknown keys are refused: they would mean
// something that this program does not heed.
func DecodeState(b []byte) (State, error) { return order.DecodeState(b) }

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
