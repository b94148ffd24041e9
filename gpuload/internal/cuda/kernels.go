package cuda

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/order"
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
	Inner        int64 // consecutive elements of a channel; default 1
}

// castSources are the types as kernels.cu numbers them.
var (
	castSources = []shardify.DType{shardify.U8, shardify.I16, shardify.I32, shardify.F16, shardify.BF16, shardify.F32}
	castTargets = []shardify.DType{shardify.F16, shardify.BF16, shardify.F32}
)

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

// kernelNames are the kernels: a batch without and with casts, images of a batch, dense rows of
// a sparse matrix, a measurement, a training step's stand-in.
var kernelNames = []string{"batch", "batch_cast", "pixels", "dense", "read16", "spin"}

// The numbers of kernels.cu.
const (
	maxColumns = 42
	maxTile    = 1024

	byBytes, byLanes4, byLanes8, byLanes16, byCast = 0, 1, 2, 3, 4
)

// launch is the parameter of a batch: struct launch of kernels.cu.
type launch struct {
	size, rows, split            uint64
	first, held                  uint64
	ids, indices, numbers        uint64
	tile, slices, columns, tiles uint32
	sent                         uint64 // columns behind the others: bytes as they are
	formula                      order.Formula
	column                       [maxColumns]column
}

// column is a tensor of a launch, of which a row is units of 1 to 16 bytes.
type column struct {
	dst                           uint64
	src                           [2]uint64
	units, pieces, piece          uint64
	scale                         uint64
	channels, inner               uint32
	kind, log2, from, to, each, _ uint32
}

const (
	blockThreads = 256
	pieceBytes   = 16 << 10 // of a row, for a group of threads
	tileBytes    = 8 << 10  // of a tile, at least
	sentBytes    = 16 << 10 // of what is sent, for a block
	maxItems     = 1<<31 - 1
)

// lanes chooses the widest units that all addresses and a row allow.
func (c *column) lanes(row int64) {
	unit := int64(1)
	c.kind = byBytes
	switch bits := c.dst | c.src[0] | c.src[1] | uint64(row); {
	case bits%16 == 0:
		c.kind, unit = byLanes16, 16
	case bits%8 == 0:
		c.kind, unit = byLanes8, 8
	case bits%4 == 0:
		c.kind, unit = byLanes4, 4
	}
	c.cut(row/unit, unit, max(4/unit, 1))
}

// casts is the units of a cast: 16 bytes, or four elements, where addresses and rows allow.
func (c *column) casts(k *Cast, elems int64, scale uint64) {
	from, to := int64(k.From.Size()), int64(k.To.Size())
	unit := int64(1)
	if c.dst%uint64(4*to) == 0 { // elements are stored four at a time
		for _, n := range []int64{16 / from, 4} {
			if elems%n == 0 && (c.src[0]|c.src[1])%uint64(n*from) == 0 {
				unit = n
				break
			}
		}
	}
	c.each = uint32(unit)
	c.kind, c.from, c.to = byCast, uint32(slices.Index(castSources, k.From)), uint32(slices.Index(castSources, k.To))
	c.channels, c.inner = uint32(len(k.Scale)), uint32(k.Inner)
	if len(k.Scale) > 0 {
		c.scale = scale
	}
	c.cut(elems/unit, unit*from, 1)
}

// cut cuts rows of units of so many bytes into pieces for groups of threads, of which
// each moves so many units at a time.
func (c *column) cut(units, size, each int64) {
	for c.log2 = 0; c.log2 < 5 && each<<c.log2 < units; c.log2++ {
	}
	piece := min(units, max(pieceBytes/size, 1))
	c.units, c.piece, c.pieces = uint64(units), uint64(piece), uint64((units+piece-1)/piece)
}

// tiles cuts a batch into tiles for so many blocks, of rows of so many bytes: no more rows
// than the blocks can share, and rows that are long in slices.
func (l *launch) cut(row int64, blocks int64) error {
	size, pieces := int64(l.size), uint64(1)
	for i := range l.columns {
		pieces = max(pieces, l.column[i].pieces)
	}
	tile := max((size+blocks-1)/blocks, tileBytes/max(row, 1), 1)
	for tile > 1 && uint64(tile) > maxItems/pieces {
		tile /= 2
	}
	if pieces > maxItems {
		return fmt.Errorf("gather of rows in %d pieces", pieces)
	}
	l.tile = uint32(min(tile, maxTile))
	tiles := (l.split+uint64(l.tile)-1)/uint64(l.tile) + (l.size-l.split+uint64(l.tile)-1)/uint64(l.tile)
	l.slices = uint32(min(pieces, max(uint64(blocks)/max(tiles, 1), 1)))
	if tiles*uint64(l.slices) > maxItems {
		return fmt.Errorf("gather of %d rows in %d pieces", size, pieces)
	}
	l.tiles = uint32(tiles) * l.slices
	return nil
}
