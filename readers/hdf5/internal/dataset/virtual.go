package dataset

import (
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Mappings parses the mappings of a virtual data set.
//
// mappings parses the block of a virtual data set in the global heap.
//
//	v0, 1: u8 version, L entries, entries, u32 lookup3
//	entry: [v1: u8 flags], source file NUL, source data set NUL, source selection, virtual selection
//
// Version 1, which the library writes since 2.0 where it is shorter, leaves out the
// file if it is this one (flag 4), and has L the number of an earlier entry in place
// of a file (flag 1) or a data set (flag 2) with the same name.
func (ds *Dataset) Mappings() ([]Mapping, error) {
	list, err := ds.parseMappings()
	return list, ds.File.Fail(err, ds.Path)
}

func (ds *Dataset) parseMappings() ([]Mapping, error) {
	f, l := ds.File, &ds.Layout
	if l.Class != Virtual {
		return nil, shardify.Corrupt(ds.Addr, "the data set is not virtual")
	}
	if l.Addr == meta.Undefined {
		return nil, nil
	}
	b, err := heap.New(f, 1).Object(l.Addr, l.params.heapIndex)
	if err != nil {
		return nil, err
	}
	d := f.Decode(b, -1, "virtual mappings")
	version := d.U8()
	if version > 1 {
		return nil, shardify.Unsupported("virtual mappings of version %d", version)
	}
	n := d.Length()
	if n > uint64(d.Rest()/18) { // two names and two selections of 8 bytes
		return nil, d.Corrupt("%d mappings in %d bytes", n, d.Rest())
	}
	list := make([]Mapping, n)
	for i := range list {
		m := &list[i]
		if err := mappingNames(&d, list, i, version); err != nil {
			return nil, err
		}
		if m.Source, err = readSelection(&d); err != nil {
			return nil, err
		}
		if m.Virtual, err = readSelection(&d); err != nil {
			return nil, err
		}
		if r := m.Virtual.Rank; r != 0 && r != ds.Space.Rank() {
			return nil, d.Corrupt("selection of rank %d in a dataspace of rank %d", r, ds.Space.Rank())
		}
	}
	return list, d.Checksum()
}

// The flags of an entry of version 1.
const (
	sharedFile    = 1 << 0
	sharedDataset = 1 << 1
	sameFile      = 1 << 2
)

// mappingNames reads the names of entry i.
func mappingNames(d *meta.Decoder, list []Mapping, i int, version uint8) (err error) {
	m, flags := &list[i], uint8(0)
	if version > 0 {
		if flags = d.U8(); flags > sharedFile|sharedDataset|sameFile || flags&sharedFile != 0 && flags&sameFile != 0 {
			return d.Corrupt("flags %#x", flags)
		}
	}
	earlier := func() (*Mapping, error) {
		k := d.Length()
		if d.Bad || k >= uint64(i) {
			return nil, d.Corrupt("entry %d has the name of entry %d", i, k)
		}
		return &list[k], nil
	}
	var e *Mapping
	switch {
	case flags&sameFile != 0:
		m.File = "."
	case flags&sharedFile != 0:
		if e, err = earlier(); err != nil {
			return err
		}
		m.File = e.File
	default:
		if m.File, err = d.Text(); err != nil {
			return err
		}
	}
	if flags&sharedDataset == 0 {
		m.Dataset, err = d.Text()
		return err
	}
	if e, err = earlier(); err == nil {
		m.Dataset = e.Dataset
	}
	return err
}

// readSelection reads u32 kind, u32 version and what the kind has.
func readSelection(d *meta.Decoder) (Selection, error) {
	kind, version := d.U32(), d.U32()
	s := Selection{Kind: selectionKind(kind)}
	var err error
	switch {
	case kind == uint32(SelectNone) || kind == uint32(SelectAll):
		d.Skip(8)
	case kind == uint32(selectPoints) && version == 1:
		d.Skip(8)
		err = readBoxes(d, &s, int(d.U32()), 4, 4, true)
	case kind == uint32(selectPoints) && version == 2:
		w := int(d.U8())
		err = readBoxes(d, &s, int(d.U32()), w, w, true)
	case kind == uint32(SelectSlab) && version == 1:
		d.Skip(8)
		err = readBoxes(d, &s, int(d.U32()), 4, 4, false)
	case kind == uint32(SelectSlab) && version == 2:
		flags := d.U8()
		d.Skip(4)
		err = readSlab(d, &s, flags, 8)
	case kind == uint32(SelectSlab) && version == 3:
		flags, w := d.U8(), int(d.U8())
		err = readSlab(d, &s, flags, w)
	default:
		err = d.Corrupt("selection of kind %d version %d", kind, version)
	}
	if err == nil {
		err = d.Err()
	}
	return s, err
}

func readSlab(d *meta.Decoder, s *Selection, flags uint8, w int) error {
	rank := int(d.U32())
	if flags&1 == 0 {
		return readBoxes(d, s, rank, w, w, false)
	}
	if err := readRank(d, s, rank, w); err != nil {
		return err
	}
	all := make([]int64, 4*rank)
	s.Start, s.Stride, s.Count, s.Block = all[:rank], all[rank:2*rank], all[2*rank:3*rank], all[3*rank:]
	for i := range rank {
		s.Start[i], s.Stride[i] = readCoordinate(d, w, false), readCoordinate(d, w, false)
		s.Count[i], s.Block[i] = readCoordinate(d, w, true), readCoordinate(d, w, true)
		if s.Stride[i] == 0 || s.Block[i] != datatype.Unlimited && s.Count[i] != 1 && s.Stride[i] < s.Block[i] {
			return d.Corrupt("hyperslab with stride %d, count %d, block %d", s.Stride[i], s.Count[i], s.Block[i])
		}
	}
	return d.Err()
}

func readRank(d *meta.Decoder, s *Selection, rank, w int) error {
	if rank < 1 || rank > datatype.MaxRank || w != 1 && w != 2 && w != 4 && w != 8 {
		return d.Corrupt("selection of rank %d, %d bytes a number", rank, w)
	}
	s.Rank = rank
	return nil
}

// readCoordinate reads a number of w bytes. All ones mean Unlimited where that can be;
// otherwise a number beyond an int64 is one that no dataspace has.
func readCoordinate(d *meta.Decoder, w int, unlimited bool) int64 {
	v := d.Uint(w)
	if unlimited && v == math.MaxUint64>>(64-8*w) {
		return datatype.Unlimited
	}
	return int64(min(v, math.MaxInt64))
}

// readBoxes reads a count of cw bytes and that many boxes (or points) with numbers of w
// bytes.
func readBoxes(d *meta.Decoder, s *Selection, rank, cw, w int, points bool) error {
	if err := readRank(d, s, rank, w); err != nil {
		return err
	}
	n := d.Uint(cw)
	per := 2 * rank
	if points {
		per = rank
	}
	if n > uint64(d.Rest()/(per*w)) {
		return d.Corrupt("%d blocks or points in %d bytes", n, d.Rest())
	}
	s.Boxes = make([]Box, n)
	all := make([]int64, int(n)*per)
	for i := range all {
		all[i] = readCoordinate(d, w, false)
	}
	for i := range s.Boxes {
		c := all[i*per : (i+1)*per]
		s.Boxes[i] = Box{c[:rank:rank], c[per-rank:]}
		for k := range rank {
			if s.Boxes[i].Last[k] < s.Boxes[i].First[k] {
				return d.Corrupt("block from %d to %d", s.Boxes[i].First[k], s.Boxes[i].Last[k])
			}
		}
	}
	return d.Err()
}
