package cuda

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/shardify/shardify"
)

// sparse is the parameter of the kernel dense: struct sparse of kernels.cu.
type sparse struct {
	dst, values, indices, offsets, choice, found uint64
	rows, elements, width, kept                  uint64
	size, index                                  uint32
}

// Dense makes dense rows of those of a sparse matrix in the memory of the device, in order of a stream. words are the fields of
// sparse up to size: addresses, numbers, and the bytes of a value. choice is i32 for each stored column, its number in the result,
// or -1, or it is 0: columns stay. The u32 at found grows by the rows whose numbers of columns are not below width, or do not rise.
func (d *Device) Dense(stream uintptr, words []uint64, indices shardify.DType) error {
	if len(words) != 11 {
		return fmt.Errorf("dense rows of %d words", len(words))
	}
	p := sparse{words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9], uint32(min(words[10], maxItems)), 0}
	switch indices {
	case shardify.I8, shardify.I16, shardify.I32, shardify.I64:
		p.index = 4
	case shardify.U8, shardify.U16, shardify.U32, shardify.U64:
	default:
		return shardify.Unsupported("numbers of columns of type %s", indices)
	}
	p.index |= uint32(bits.TrailingZeros(uint(indices.Size())))
	switch size := uint64(p.size); {
	case size != 1 && size != 2 && size != 4 && size != 8:
		return fmt.Errorf("dense rows of values of %d bytes", size)
	case max(p.rows, p.elements) > 1<<40 || max(p.width, p.kept) > maxItems || p.choice == 0 && p.kept != p.width:
		return fmt.Errorf("%d dense rows of %d columns, of %d, and %d values", p.rows, p.kept, p.width, p.elements)
	case (p.dst|p.values)%size != 0 || p.indices%uint64(indices.Size()) != 0 || p.offsets%8 != 0 || (p.choice|p.found)%4 != 0 || p.found == 0:
		return fmt.Errorf("dense rows at %#x of %#x, %#x, %#x, %#x, and %#x: an address is not aligned", p.dst, p.values, p.indices, p.offsets, p.choice, p.found)
	case p.rows == 0:
		return nil
	}
	return d.do(func() error {
		if err := d.captured(stream); err != nil {
			return err
		}
		return d.drv.launchStruct(d.kernels["dense"], uint32(min(p.rows, maxItems)), blockThreads, stream, unsafe.Pointer(&p))
	})
}
