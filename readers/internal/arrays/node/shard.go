package node

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/crc32c"
)

// shard decodes a chunk that holds smaller ones, and an index of where they are:
//
//	u64 offset, u64 size   for each inner chunk; both 2^64-1: never written
//	u32                    CRC-32C of these, if the index has one
type shard struct {
	shape []int64 // as it is stored
	inner []int64
	count int64
	chain *chain
	start bool // the index comes before the chunks
	big   bool
	crc   bool
}

const (
	maxNested = 4
	maxIndex  = 1 << 24 // entries, which are in memory for each open shard
	neverSet  = math.MaxUint64
)

func newShard(t Type, shape []int64, o object, depth int) (*shard, error) {
	if depth >= maxNested {
		return nil, shardify.Unsupported("shards in shards, %d deep", depth)
	}
	s := &shard{shape: shape}
	var err error
	if s.inner, err = lengths(o["chunk_shape"], "sharding_indexed: chunk_shape", false); err != nil {
		return nil, err
	}
	if len(s.inner) != len(shape) {
		return nil, shardify.Corrupt(-1, "sharding_indexed: inner chunks of %d dimensions in shards of %d", len(s.inner), len(shape))
	}
	grid := make([]int64, len(shape))
	for i, n := range s.inner {
		if shape[i]%n != 0 {
			return nil, shardify.Corrupt(-1, "sharding_indexed: inner chunks of %d do not divide shards of %d", n, shape[i])
		}
		grid[i] = shape[i] / n
	}
	var ok bool
	if s.count, ok = product(grid); !ok || s.count > math.MaxInt64/16-4 {
		return nil, shardify.Corrupt(-1, "sharding_indexed: %v inner chunks", grid)
	}
	switch text(o, "index_location", "end") {
	case "start":
		s.start = true
	case "end":
	default:
		return nil, shardify.Corrupt(-1, "sharding_indexed: index_location %v", o["index_location"])
	}
	if err := s.indexCodecs(o["index_codecs"]); err != nil {
		return nil, err
	}
	if s.count > maxIndex {
		return nil, shardify.Corrupt(-1, "sharding_indexed: an index of %d entries", s.count)
	}
	codecs, _ := o["codecs"].([]any)
	s.chain, err = chain3(t, s.inner, codecs, depth+1)
	return s, err
}

// indexCodecs reads what the index has, which must be of a fixed size.
func (s *shard) indexCodecs(v any) error {
	l, ok := v.([]any)
	if !ok || len(l) == 0 {
		return shardify.Corrupt(-1, "sharding_indexed: no index_codecs")
	}
	for i, x := range l {
		name, o := named(x)
		switch {
		case i == 0 && name == "bytes":
			switch text(o, "endian", "") {
			case "little":
			case "big":
				s.big = true
			default:
				return shardify.Corrupt(-1, "sharding_indexed: the index has the byte order %v", o["endian"])
			}
		case i == 1 && name == "crc32c":
			s.crc = true
		default:
			return shardify.Unsupported("sharding_indexed: an index with codec %q", name)
		}
	}
	return nil
}

// indexSize is the bytes of the index.
func (s *shard) indexSize() int64 {
	n := 16 * s.count
	if s.crc {
		n += 4
	}
	return n
}

// Entry is where an inner chunk is in its shard; Len is -1 of one that was never written.
type Entry struct{ Off, Len int64 }

// at is where the index of a shard of size bytes begins.
func (s *shard) at(size int64) (int64, error) {
	width := s.indexSize()
	if width > size {
		return 0, shardify.Corrupt(0, "a shard of %d bytes has an index of %d", size, width)
	}
	if s.start {
		return 0, nil
	}
	return size - width, nil
}

// entries checks the index of a shard of size bytes, and calls f for each inner chunk.
func (s *shard) entries(p []byte, size int64, f func(i int64, e Entry) error) error {
	at, err := s.at(size)
	if err != nil {
		return err
	}
	lo, hi := int64(0), at
	if s.start {
		lo, hi = s.indexSize(), size
	}
	table := p[:16*s.count]
	if s.crc {
		stored := binary.LittleEndian.Uint32(p[16*s.count:])
		if got := crc32c.Update(0, table); got != stored {
			return shardify.Corrupt(at+16*s.count, "crc32c of the index is %08x, stored %08x", got, stored)
		}
	}
	for i := range s.count {
		e := table[16*i:]
		off, n := binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
		if s.big {
			off, n = binary.BigEndian.Uint64(e), binary.BigEndian.Uint64(e[8:])
		}
		if off == neverSet && n == neverSet {
			if err := f(i, Entry{0, -1}); err != nil {
				return err
			}
			continue
		}
		if off > uint64(hi) || n > uint64(hi)-off || off < uint64(lo) {
			return shardify.Corrupt(at+16*i, "inner chunk %d: %d bytes at %d, the shard has them from %d to %d", i, n, off, lo, hi)
		}
		if err := f(i, Entry{int64(off), int64(n)}); err != nil {
			return err
		}
	}
	return nil
}

// index is entries of a whole shard.
func (s *shard) index(p []byte, f func(i, off, n int64) error) error {
	at, err := s.at(int64(len(p)))
	if err != nil {
		return err
	}
	return s.entries(p[at:at+s.indexSize()], int64(len(p)), func(i int64, e Entry) error { return f(i, e.Off, e.Len) })
}

func (s *shard) decode(dst, src, fill []byte, scratch *Scratch) error {
	size := int64(s.chain.typ.Size)
	own := scratch.below() // the buffers of scratch are in use
	part := sized(&own.one, s.chain.elements*size)
	return s.index(src, func(i, off, n int64) error {
		if n < 0 {
			for at := int64(0); at < int64(len(part)); at += size {
				copy(part[at:], fill)
			}
		} else if err := s.chain.decode(part, src[off:off+n], fill, own); err != nil {
			return err
		}
		s.place(i, func(to, from, run int64) { copy(dst[to*size:(to+run)*size], part[from*size:]) })
		return nil
	})
}

func (s *shard) values(dst [][]byte, src, fill []byte) error {
	part := make([][]byte, s.chain.elements)
	return s.index(src, func(i, off, n int64) error {
		if n < 0 {
			for k := range part {
				part[k] = fill
			}
		} else {
			var own Scratch // it holds the values
			if err := s.chain.values(part, src[off:off+n], fill, &own); err != nil {
				return err
			}
		}
		s.place(i, func(to, from, run int64) { copy(dst[to:to+run], part[from:]) })
		return nil
	})
}

// place passes to f which elements of the shard the rows of inner chunk i are.
func (s *shard) place(i int64, f func(to, from, run int64)) {
	rank := len(s.shape)
	if rank == 0 {
		f(0, 0, 1)
		return
	}
	start := make([]int64, rank)
	for k := rank - 1; k >= 0; k-- {
		g := s.shape[k] / s.inner[k]
		start[k] = i % g * s.inner[k]
		i /= g
	}
	at := make([]int64, rank)
	run := s.inner[rank-1]
	for from := int64(0); from < s.chain.elements; from += run {
		to := int64(0)
		for k := range rank {
			to = to*s.shape[k] + start[k] + at[k]
		}
		f(to, from, run)
		for k := rank - 2; k >= 0; k-- {
			if at[k]++; at[k] < s.inner[k] {
				break
			}
			at[k] = 0
		}
	}
}
