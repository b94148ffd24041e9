package h5

import (
	"math"

	"github.com/shardify/shardify"
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
	return list, ds.f.fail(err, ds.Path)
}

func (ds *Dataset) parseMappings() ([]Mapping, error) {
	f, l := ds.f, &ds.Layout
	if l.Class != Virtual {
		return nil, shardify.Corrupt(ds.Addr, "the data set is not virtual")
	}
	if l.Addr == Undefined {
		return nil, nil
	}
	b, err := NewHeap(f, 1).Object(l.Addr, l.params.heapIndex)
	if err != nil {
		return nil, err
	}
	d := f.decode(b, -1, "virtual mappings")
	version := d.u8()
	if version > 1 {
		return nil, shardify.Unsupported("virtual mappings of version %d", version)
	}
	n := d.length()
	if n > uint64(d.rest()/18) { // two names and two selections of 8 bytes
		return nil, d.corrupt("%d mappings in %d bytes", n, d.rest())
	}
	list := make([]Mapping, n)
	for i := range list {
		m := &list[i]
		if err := d.mappingNames(list, i, version); err != nil {
			return nil, err
		}
		if m.Source, err = d.selection(); err != nil {
			return nil, err
		}
		if m.Virtual, err = d.selection(); err != nil {
			return nil, err
		}
		if r := m.Virtual.Rank; r != 0 && r != ds.Space.Rank() {
			return nil, d.corrupt("selection of rank %d in a dataspace of rank %d", r, ds.Space.Rank())
		}
	}
	return list, d.checksum()
}

// The flags of an entry of version 1.
const (
	sharedFile    = 1 << 0
	sharedDataset = 1 << 1
	sameFile      = 1 << 2
)

// mappingNames reads the names of entry i.
func (d *decoder) mappingNames(list []Mapping, i int, version uint8) (err error) {
	m, flags := &list[i], uint8(0)
	if version > 0 {
		if flags = d.u8(); flags > sharedFile|sharedDataset|sameFile || flags&sharedFile != 0 && flags&sameFile != 0 {
			return d.corrupt("flags %#x", flags)
		}
	}
	earlier := func() (*Mapping, error) {
		k := d.length()
		if d.bad || k >= uint64(i) {
			return nil, d.corrupt("entry %d has the name of entry %d", i, k)
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
		if m.File, err = d.text(); err != nil {
			return err
		}
	}
	if flags&sharedDataset == 0 {
		m.Dataset, err = d.text()
		return err
	}
	if e, err = earlier(); err == nil {
		m.Dataset = e.Dataset
	}
	return err
}

// selection reads u32 kind, u32 version and what the kind has.
func (d *decoder) selection() (Selection, error) {
	kind, version := d.u32(), d.u32()
	s := Selection{Kind: SelectionKind(kind)}
	var err error
	switch {
	case kind == uint32(SelectNone) || kind == uint32(SelectAll):
		d.skip(8)
	case kind == uint32(SelectPoints) && version == 1:
		d.skip(8)
		err = d.boxes(&s, int(d.u32()), 4, 4, true)
	case kind == uint32(SelectPoints) && version == 2:
		w := int(d.u8())
		err = d.boxes(&s, int(d.u32()), w, w, true)
	case kind == uint32(SelectSlab) && version == 1:
		d.skip(8)
		err = d.boxes(&s, int(d.u32()), 4, 4, false)
	case kind == uint32(SelectSlab) && version == 2:
		flags := d.u8()
		d.skip(4)
		err = d.slab(&s, flags, 8)
	case kind == uint32(SelectSlab) && version == 3:
		flags, w := d.u8(), int(d.u8())
		err = d.slab(&s, flags, w)
	default:
		err = d.corrupt("selection of kind %d version %d", kind, version)
	}
	if err == nil {
		err = d.err()
	}
	return s, err
}

func (d *decoder) slab(s *Selection, flags uint8, w int) error {
	rank := int(d.u32())
	if flags&1 == 0 {
		return d.boxes(s, rank, w, w, false)
	}
	if err := d.selectionRank(s, rank, w); err != nil {
		return err
	}
	all := make([]int64, 4*rank)
	s.Start, s.Stride, s.Count, s.Block = all[:rank], all[rank:2*rank], all[2*rank:3*rank], all[3*rank:]
	for i := range rank {
		s.Start[i], s.Stride[i] = d.coordinate(w, false), d.coordinate(w, false)
		s.Count[i], s.Block[i] = d.coordinate(w, true), d.coordinate(w, true)
		if s.Stride[i] == 0 || s.Block[i] != Unlimited && s.Count[i] != 1 && s.Stride[i] < s.Block[i] {
			return d.corrupt("hyperslab with stride %d, count %d, block %d", s.Stride[i], s.Count[i], s.Block[i])
		}
	}
	return d.err()
}

func (d *decoder) selectionRank(s *Selection, rank, w int) error {
	if rank < 1 || rank > maxRank || w != 1 && w != 2 && w != 4 && w != 8 {
		return d.corrupt("selection of rank %d, %d bytes a number", rank, w)
	}
	s.Rank = rank
	return nil
}

// coordinate reads a number of w bytes. All ones mean Unlimited where that can be;
// otherwise a number beyond an int64 is one that no dataspace has.
func (d *decoder) coordinate(w int, unlimited bool) int64 {
	v := d.uint(w)
	if unlimited && v == math.MaxUint64>>(64-8*w) {
		return Unlimited
	}
	return int64(min(v, math.MaxInt64))
}

// boxes reads a count of cw bytes and that many boxes (or points) with numbers of w
// bytes.
func (d *decoder) boxes(s *Selection, rank, cw, w int, points bool) error {
	if err := d.selectionRank(s, rank, w); err != nil {
		return err
	}
	n := d.uint(cw)
	per := 2 * rank
	if points {
		per = rank
	}
	if n > uint64(d.rest()/(per*w)) {
		return d.corrupt("%d blocks or points in %d bytes", n, d.rest())
	}
	s.Boxes = make([]Box, n)
	all := make([]int64, int(n)*per)
	for i := range all {
		all[i] = d.coordinate(w, false)
	}
	for i := range s.Boxes {
		c := all[i*per : (i+1)*per]
		s.Boxes[i] = Box{c[:rank:rank], c[per-rank:]}
		for k := range rank {
			if s.Boxes[i].Last[k] < s.Boxes[i].First[k] {
				return d.corrupt("block from %d to %d", s.Boxes[i].First[k], s.Boxes[i].Last[k])
			}
		}
	}
	return d.err()
}
