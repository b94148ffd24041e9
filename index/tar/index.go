package tar

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// IndexExt follows a shard's name in the name of its offset index, the form
// of Megatron-Energon: u64[N+1] without a header, the offset of the first header
// block of each sample, then that of the first end block.
const IndexExt = ".idx"

// IndexBytes is the size of the offset index of this many samples.
func IndexBytes(samples int64) int64 { return (samples + 1) * 8 }

// AppendIndex appends one entry.
func AppendIndex(dst []byte, offset int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(offset))
}

// DecodeIndex decodes entries [first, first+len(dst)) of the offset index of
// a shard of ours of tarBytes bytes and samples samples, from their bytes b. The
// first entry of all is 0, entries rise by a header at least, and the last is
// where the two end blocks begin. Offsets in errors are those in the index.
func DecodeIndex(dst []int64, b []byte, first, samples, tarBytes int64) error {
	if int64(len(b)) != 8*int64(len(dst)) || first < 0 || first+int64(len(dst)) > samples+1 {
		return shardify.Corrupt(first*8, "offset index: %d bytes for entries [%d, %d) of %d", len(b), first, first+int64(len(dst)), samples+1)
	}
	end := tarBytes - End
	for i := range dst {
		v := int64(binary.LittleEndian.Uint64(b[i*8:]))
		n := first + int64(i)
		switch {
		case v < 0 || v%Block != 0 || v > end:
			return shardify.Corrupt(n*8, "offset index: entry %d is %d, in a tar that ends at %d", n, uint64(v), end)
		case n == 0 && v != 0:
			return shardify.Corrupt(0, "offset index: the first sample is at %d, want 0", v)
		case n == samples && v != end:
			return shardify.Corrupt(n*8, "offset index: the last entry is %d, the tar ends at %d", v, end)
		case i > 0 && v < dst[i-1]+Block:
			return shardify.Corrupt(n*8, "offset index: entry %d is %d, the one before %d", n, v, dst[i-1])
		}
		dst[i] = v
	}
	return nil
}

// ParseIndex decodes a whole offset index.
func ParseIndex(b []byte, samples, tarBytes int64) ([]int64, error) {
	if n := int64(len(b)); n == 0 || n%8 != 0 || n/8-1 != samples {
		return nil, shardify.Corrupt(int64(len(b)), "offset index of %d bytes for %d samples, want 8 for each and 8 more", len(b), samples)
	}
	offsets := make([]int64, samples+1)
	return offsets, DecodeIndex(offsets, b, 0, samples, tarBytes)
}
