package cuda

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
)

//go:embed kernels.ptx
var kernelsPTX string

// Cast converts the elements of rows on their way: x * Scale[c] + Shift[c] in
// float32, rounded after each step, then to the slot's type. Element e of a row is
// of channel c = e / Inner % len(Scale).
type Cast struct {
	From, To shardify.DType
	// Scale and Shift have one element for each channel; both nil converts only.
	Scale, Shift []float32
	Inner        int64 // elements of a channel that stand together; default 1
}

var castNames = map[shardify.DType]string{
	shardify.U8: "u8", shardify.I16: "i16", shardify.I32: "i32",
	shardify.F16: "f16", shardify.BF16: "bf16", shardify.F32: "f32",
}

// castSources is castNames in the order of the kernels.
var (
	castSources = []shardify.DType{shardify.U8, shardify.I16, shardify.I32, shardify.F16, shardify.BF16, shardify.F32}
	castTargets = []shardify.DType{shardify.F16, shardify.BF16, shardify.F32}
)

func castKernel(from, to shardify.DType) string {
	return "cast_" + castNames[from] + "_" + castNames[to]
}

// Casts reports that there is a kernel for a Cast.
func Casts(from, to shardify.DType) bool {
	return slices.Contains(castSources, from) && slices.Contains(castTargets, to)
}

// check refuses what no kernel does, and fills in Inner.
func (c *Cast) check() error {
	if !Casts(c.From, c.To) {
		return fmt.Errorf("cast %v to %v: want u8, i16, i32, f16, bf16 or f32 to f16, bf16 or f32", c.From, c.To)
	}
	if len(c.Scale) != len(c.Shift) {
		return fmt.Errorf("cast with %d scales and %d shifts", len(c.Scale), len(c.Shift))
	}
	if c.Inner == 0 {
		c.Inner = 1
	}
	if c.Inner < 1 || c.Inner > 1<<31-1 {
		return fmt.Errorf("cast with %d elements of a channel side by side", c.Inner)
	}
	return nil
}

func kernelNames() []string {
	list := []string{"gather16", "gather8", "gather4", "gather1", "read16", "spin"}
	for _, f := range castSources {
		for _, t := range castTargets {
			list = append(list, castKernel(f, t))
		}
	}
	return list
}

const (
	blockThreads = 512
	pieceBytes   = 16 << 10 // of a row, for a group of threads
	maxItems     = 1<<31 - 1
)

// pieces is how rows of n units (bytes or elements) of size bytes are cut for
// groups of 2^log2 threads that move unit units each: count pieces of piece.
func pieces(n, size, unit int64) (count, piece int64, log2 uint64) {
	lanes := (n + unit - 1) / unit
	for log2 < 5 && int64(1)<<log2 < lanes {
		log2++
	}
	piece = n
	if most := pieceBytes / size; n > most {
		piece = most
	}
	return (n + piece - 1) / piece, piece, log2
}
