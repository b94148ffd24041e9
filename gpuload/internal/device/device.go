package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
)

// Stream is the consumer's queue on a device (a CUstream). 0 and 1 are the default stream, 2
// is that of the calling thread: in Go, of a goroutine that is locked to one.
type Stream uintptr

// Unknown is the stream of a consumer that does not say which it is: its reads have ended
// when the device has nothing to do.
const Unknown = ^Stream(0)

// Device is where batches are delivered. A batch is gathered into its slot's table, sent,
// handed over, and the slot is used again after it was taken back. Where the device's memory
// is the host's, nothing is to be done in between.
//
// Methods may be called from several goroutines, those about one slot never at
// once. All memory is allocated before the first batch, except for tensors of variable
// length that turn out longer (Table.grow), and for the tables of a tier.
type Device interface {
	load.Memory
	String() string // "host", "cuda:0"
	// Attach makes what a slot needs on the device. The tensors of its table have their
	// first size.
	Attach(s *Slot) error
	// Reuse waits until the slot may be written again.
	Reuse(ctx context.Context, s *Slot) error
	// Send starts the copy of a gathered slot to the device and does not wait. epoch and
	// step are for errors.
	Send(s *Slot, epoch int, step int64) error
	// Ready makes a consumer's stream wait for the slot's data, and notes that it uses them.
	Ready(s *Slot, stream Stream) error
	// Use notes a stream that uses the data and waits for them by itself.
	Use(s *Slot, stream Stream) error
	// Leave notes that a stream has got all that it has to do with the data.
	Leave(s *Slot, stream Stream) error
	// Release frees the slot as soon as these streams, and all that use the data, have done
	// what they have got to do by now. After ErrCapture it is not released.
	Release(s *Slot, streams ...Stream) error
	// Tensor is where tensor i of a sent slot is on the device.
	Tensor(s *Slot, i int) uintptr
	// Detach gives back what attach made.
	Detach(s *Slot)
	// Describe adds what there is to know about the device.
	Describe(info *Info)
	Close() error
}

// Slot is the memory of one batch.
type Slot struct {
	Table *load.Table
	// Listed: the rows of its batches are found by number; else the device computes them.
	// Numbers: it writes the samples down, too.
	Listed, Numbers bool
	State           any // the device's own
}

// GPU is a device with memory of its own, which gathers from tables by itself.
type GPU interface {
	Device
	// Gather makes a slot the batch of some rows: of the tensors that it holds by itself, of
	// the others by the host. Send starts the device's part.
	Gather(c *load.Crew, s *Slot, r *Rows) error
	// Indices keeps the samples that formulas draw from.
	Indices(list []int64) error
	// Numbers is where the samples of a slot are written.
	Numbers(s *Slot) uintptr
	// Holds reports whether it can keep a tensor of a layout, cast so when gathered.
	Holds(spec *index.TensorSpec, k *load.Caster) bool
	// Filled: a table that batches are gathered from has its content and keeps it until
	// refill. One that is mirrored is copied to the device.
	Filled(t *load.Table) error
	// Refill waits until nothing reads the table any more.
	Refill(ctx context.Context, t *load.Table) error
	// Reserve makes room for the absent tensors of a table of its size.
	Reserve(t *load.Table) error
	// Keep copies rows [lo, hi) of some tensors of a table to the device, which finds them there
	// from then on and the others in the table: it keeps its content.
	Keep(t *load.Table, tensors []bool, lo, hi int64) error
	// Store starts the copy of rows of another table, in host memory that send may
	// read from, into the absent tensors of t. They stay as they are until stored.
	Store(t, from *load.Table, rows []CopyRun) error
	// Stored waits until all copies into t are done.
	Stored(ctx context.Context, t *load.Table) error
	// CopyOut copies tensors of a slot to memory of the consumer, in order of its stream.
	CopyOut(s *Slot, stream Stream, list []Out) error
	// Wait waits on the host for the slot's data.
	Wait(ctx context.Context, s *Slot) error
	// Bind makes the calling thread ready for the device until unbind.
	Bind() (unbind func())
	// Place checks that an address is in the device's memory.
	Place(at uintptr) error
}

// Out is memory of the consumer on a device, for the first bytes of a tensor.
type Out struct {
	Tensor int // or -1: the numbers of the samples
	To     uintptr
	Bytes  int64
}

// PixelForm is what the images of a batch become, in memory at Out: bytes, or floats that are scaled
// and shifted by channel.
type PixelForm struct {
	Out                     uintptr
	Width, Height, Channels int
	Last                    bool // channels are the last dimension, else the first
	To                      shardify.DType
	Scale, Shift            []float32
}

// PictureBytes is the size of an image in the list of Pixels: struct shardify_picture of
// capi/shardify.h.
const PictureBytes = 48

// Rows is the rows of a batch.
type Rows struct {
	// Size is all of them. Those from Rows on are padding; those from Split on are of the
	// second table.
	Size, Rows, Split int64
	From              [2]*load.Table
	Formula           *order.Formula // may be nil
	By                numbering
}

// numbering finds rows on the host, where the device cannot.
type numbering interface {
	// Listed is, by row, its number in the table that it is from.
	Listed() ([]int64, error)
	// Hosted is the rows for what the host gathers.
	Hosted() ([]load.Segment, error)
}

// CopyRun is rows [lo, hi) of one table that go to row row of another.
type CopyRun struct{ Lo, Hi, Row int64 }

// Machine is where /proc and /sys are looked at; tests bring their own.
var Machine = host.Env{Getenv: os.Getenv}

// Open makes the device of a Config ready.
func Open(name string) (Device, error) {
	switch {
	case name == "host":
		return Host{}, nil
	case name == "" || name == "auto":
		return autoDevice()
	case strings.HasPrefix(name, "cuda"):
		return openCUDA(name)
	}
	return nil, fmt.Errorf("device %q: want host, cuda:N or auto", name)
}

// Why there is no device.
var (
	// ErrNoDriver: there is no usable driver of the device, or this program was built
	// without.
	ErrNoDriver = errors.New("no driver")
	// ErrNoDevice: the driver knows no such device.
	ErrNoDevice = errors.New("no such device")
	// ErrCapture: a stream is being captured into a graph. Nothing was done.
	ErrCapture = errors.New("stream capture")
)
