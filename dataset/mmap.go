package dataset

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Mmap is an mmap shard whose header is what the manifest says, or a pair of Megatron-LM (OpenPair),
// which has the same tensors. It may be used concurrently.
type Mmap struct {
	*index.MmapShard
	File io.ReaderAt
	pair *pair
}

// Placed reports whether tensor i is in the file as it is read.
func (s *Mmap) Placed(i int) bool { return s.pair == nil || s.Tensors[i].Lead != index.LeadOffsets }

// OpenMmap holds the header of an mmap shard of size bytes against its record in the
// manifest and the layout of the set.
func OpenMmap(r io.ReaderAt, size int64, record *shardify.Shard, set *index.Layout) (*Mmap, error) {
	head, err := index.OpenShard(r, size, record)
	if err != nil {
		return nil, err
	}
	if head.SchemaText() != set.SchemaText() || head.Keyed != set.Keyed {
		return nil, shardify.Corrupt(-1, "the schema in the header is not that of the manifest")
	}
	return &Mmap{MmapShard: head, File: r}, nil
}

// Read fills b with tensor i from step lo of its first dimension on, and checks the
// values as Check does.
func (s *Mmap) Read(b []byte, i int, lo int64) error {
	if !s.Placed(i) {
		return s.pair.offsets(shardify.View[int64](b), lo)
	}
	if err := ReadFull(s.File, b, s.at(i, lo)); err != nil {
		return shardify.Annotate(err, "", "", s.Tensors[i].Name)
	}
	return s.Check(b, i, lo)
}

// at is the offset in the file of a step of tensor i.
func (s *Mmap) at(i int, lo int64) int64 { return s.Places[i].Lo + lo*s.Tensors[i].Row }

// Check checks values of tensor i, from step lo on, as far as their type promises
// something: booleans are 0 or 1, offsets begin at 0, never fall and end at the count of
// what they index.
func (s *Mmap) Check(b []byte, i int, lo int64) error {
	switch t := &s.Tensors[i]; {
	case len(b) == 0:
		return nil
	case t.Lead == index.LeadOffsets || t.Lead == index.LeadLists:
		o, total := shardify.View[int64](b), s.Indexed(i)
		if k := badOffset(o, total, lo == 0, lo+int64(len(o)) == s.Counts[i]); k >= 0 {
			return shardify.Annotate(shardify.Corrupt(s.at(i, lo+int64(k)), "offset %d of list %d: want from 0 to %d, never falling", o[k], lo+int64(k), total), "", "", t.Name)
		}
	case t.DType == shardify.Bool:
		return shardify.Annotate(checkBools(b, s.at(i, lo)), "", "", t.Name)
	}
	return nil
}

// badOffset is the place of an offset that cannot be, or -1. o begins or ends the tensor
// when first or last.
func badOffset(o []int64, total int64, first, last bool) int {
	if o[0] < 0 || first && o[0] != 0 {
		return 0
	}
	for i := 1; i < len(o); i++ {
		if o[i] < o[i-1] {
			return i
		}
	}
	if end := o[len(o)-1]; end > total || last && end != total {
		return len(o) - 1
	}
	return -1
}

func checkBools(b []byte, at int64) error {
	for i, v := range b {
		if v > 1 {
			return shardify.Corrupt(at+int64(i), "bool with value %d", v)
		}
	}
	return nil
}
