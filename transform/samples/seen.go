package samples

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

const (
	// recordsKept is how many records a part of the samples has before all get them.
	recordsKept = 4096
	// seenBuckets is into how many pieces the records are cut, by their hashes: one of them is in
	// memory at once.
	seenBuckets = 1024
	recordBytes = 36
)

// seenKept is how many bytes of records stay in memory; tests make it smaller.
var seenKept = 32 << 20

// record names the sample that has values with a hash: sample n of a part of the samples.
type record struct {
	hash    [16]byte
	sample  int64
	input   uint32
	part, n uint32
}

// seen collects records of many parts, in buckets by hash: in memory, and in a scratch file once
// there are too many. It may be used by several goroutines.
type seen struct {
	mu      sync.Mutex
	store   storage.Store
	file    *local.Spill
	kept    int
	buckets [seenBuckets]seenBucket
	place   []uint32 // by part: its place among all
	parts   uint32   // that have one
}

type seenBucket struct {
	kept  []byte
	after []local.Extent // in the file, in front of kept
}

func newSeen(store storage.Store) *seen { return &seen{store: store} }

// begin gives a part its number. The first is the one that the others follow.
func (s *seen) begin() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = append(s.place, math.MaxUint32)
	return uint32(len(s.place) - 1)
}

// follows says that a part comes after those that were named before.
func (s *seen) follows(part uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts++
	s.place[part] = s.parts
}

// add takes records.
func (s *seen) add(list []record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		r := &list[i]
		b := &s.buckets[binary.LittleEndian.Uint16(r.hash[:])%seenBuckets]
		b.kept = append(b.kept, r.hash[:]...)
		b.kept = binary.LittleEndian.AppendUint64(b.kept, uint64(r.sample))
		b.kept = binary.LittleEndian.AppendUint32(b.kept, r.input)
		b.kept = binary.LittleEndian.AppendUint32(b.kept, r.part)
		b.kept = binary.LittleEndian.AppendUint32(b.kept, r.n)
	}
	if s.kept += len(list) * recordBytes; s.kept <= seenKept {
		return nil
	}
	return s.spill()
}

// spill writes what is kept.
func (s *seen) spill() (err error) {
	if s.file == nil {
		if s.file, err = local.NewSpill(s.store); err != nil {
			return err
		}
	}
	for i := range s.buckets {
		b := &s.buckets[i]
		if len(b.kept) == 0 {
			continue
		}
		b.after = append(b.after, local.Extent{Off: s.file.Size(), Len: int64(len(b.kept))})
		if _, err := s.file.Write(b.kept); err != nil {
			return err
		}
		b.kept = b.kept[:0]
	}
	s.kept = 0
	return nil
}

// again is the samples that come after another one with the same hash. It ends the use of s.
func (s *seen) again() (out sampleSet, err error) {
	s.place[0] = 0
	var list, found []record
	for i := range s.buckets {
		if list, err = s.records(list[:0], &s.buckets[i]); err != nil {
			return out, err
		}
		slices.SortFunc(list, func(a, b record) int {
			return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(s.place[a.part], s.place[b.part]), cmp.Compare(a.n, b.n))
		})
		for k, first := 1, 0; k < len(list); k++ {
			if list[k].hash != list[first].hash {
				first = k
				continue
			}
			if list[k].input == list[first].input && list[k].sample == list[first].sample {
				return out, shardify.Unsupported("duplicates of samples of which two are number %d of input %d", list[k].sample, list[k].input)
			}
			found = append(found, list[k])
		}
	}
	slices.SortFunc(found, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.sample, b.sample))
	})
	for _, r := range found {
		out.add(r.input, r.sample)
	}
	if s.file != nil {
		err = s.file.Close()
	}
	return out, err
}

// records are those of a bucket. What it held is free.
func (s *seen) records(list []record, b *seenBucket) ([]record, error) {
	data := b.kept
	for _, x := range b.after {
		n := len(data)
		data = slices.Grow(data, int(x.Len))[:n+int(x.Len)]
		if _, err := s.file.ReadAt(data[n:], x.Off); err != nil {
			return nil, err
		}
	}
	for ; len(data) >= recordBytes; data = data[recordBytes:] {
		r := record{hash: [16]byte(data), sample: int64(binary.LittleEndian.Uint64(data[16:])), input: binary.LittleEndian.Uint32(data[24:])}
		r.part, r.n = binary.LittleEndian.Uint32(data[28:]), binary.LittleEndian.Uint32(data[32:])
		list = append(list, r)
	}
	*b = seenBucket{}
	return list, nil
}
