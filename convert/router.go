package convert

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

// Cuts is where the hashes of one class of samples are divided: part order[i] has
// those from Below[i-1] up to Below[i].
type Cuts struct {
	Class string   `json:"class,omitempty"` // digits of the hash of the value of Split.Stratify
	Below []uint64 `json:"below"`
	Order []int    `json:"order"`
}

// all marks a cut without an end.
const all = ^uint64(0)

// part is the part that a hash belongs to.
func (c *Cuts) part(h uint64) uint16 {
	for i, b := range c.Below {
		if h < b || b == all {
			return uint16(c.Order[i])
		}
	}
	return Nowhere
}

// seeds of what is random about a plan as a whole; operations have their ordinals.
const (
	seedSplit   = 1 << 40
	seedShuffle = 2 << 40
)

func (p *Plan) newRouter() (Router, error) {
	s := p.Split
	switch {
	case s.named():
		return &nameRouter{p: p}, nil
	case s.Stratify != "":
		r := &hashRouter{hasher: p.hasher(), field: s.Stratify, classes: map[uint64]*Cuts{}}
		for i := range p.Cuts {
			if p.Cuts[i].Class == "" {
				continue // no samples, and so no classes
			}
			var h uint64
			if _, err := fmt.Sscanf(p.Cuts[i].Class, "%x", &h); err != nil {
				return nil, shardify.Corrupt(-1, "class %q: %v", p.Cuts[i].Class, err)
			}
			r.classes[h] = &p.Cuts[i]
		}
		return r, nil
	case s.counted():
		r := &hashRouter{hasher: p.hasher()}
		if len(p.Cuts) > 0 {
			r.cuts = &p.Cuts[0]
		}
		return r, nil
	}
	cum, order := s.shares()
	c := &Cuts{Order: order}
	for _, f := range cum {
		c.Below = append(c.Below, cut(f))
	}
	return &hashRouter{hasher: p.hasher(), cuts: c}, nil
}

// hasher gives samples the hashes that splits go by.
type hasher struct {
	table  *shardify.Table
	seed   uint64
	fields []string // empty: the sample's place
}

func (p *Plan) hasher() hasher {
	h := hasher{table: p.Table, seed: shardify.Mix(shardify.Mix(p.Seed) + seedSplit), fields: p.Split.Identity}
	if p.Split.GroupBy != "" {
		h.fields = []string{p.Split.GroupBy}
	}
	return h
}

// hash appends the hashes of a batch.
func (h *hasher) hash(dst []uint64, b *shardify.Batch) ([]uint64, error) {
	from := len(dst)
	if len(h.fields) == 0 {
		dst = h.table.Identity(dst, b)
	} else {
		for range b.Samples {
			dst = append(dst, 0)
		}
		for _, name := range h.fields {
			c, err := column(b, name)
			if err != nil {
				return nil, err
			}
			for i := range b.Samples {
				dst[from+i] = shardify.Mix(dst[from+i] + valueHash(c, i))
			}
		}
	}
	for i := from; i < len(dst); i++ {
		dst[i] = shardify.SampleSeed(h.seed, dst[i], 0)
	}
	return dst, nil
}

func column(b *shardify.Batch, name string) (*shardify.Column, error) {
	for i := range b.Columns {
		if b.Columns[i].Name == name {
			return &b.Columns[i], nil
		}
	}
	return nil, shardify.Misuse("the split goes by field %q, which is not there", name)
}

// valueHash is a hash of the value of sample i; a missing one has its own.
func valueHash(c *shardify.Column, i int) uint64 {
	if c.Valid != nil && c.Valid[i] == 0 {
		return 0x5bd1e995
	}
	lo, hi := c.Range(i, i+1)
	return xxh3.Hash(c.Data[lo:hi])
}

// hashRouter goes by the sample's hash, within its class if there are classes.
type hashRouter struct {
	hasher
	cuts    *Cuts
	field   string
	classes map[uint64]*Cuts
}

func (r *hashRouter) Needs() []string {
	if r.field != "" {
		return append([]string{r.field}, r.fields...)
	}
	return r.fields
}

func (r *hashRouter) Route(b *shardify.Batch, to []uint16) error {
	hashes, err := r.hash(make([]uint64, 0, b.Samples), b)
	if err != nil {
		return err
	}
	if r.field == "" {
		if r.cuts == nil {
			return shardify.Mismatch("the samples have not been counted for the split")
		}
		for i, h := range hashes {
			to[i] = r.cuts.part(h)
		}
		return nil
	}
	c, err := column(b, r.field)
	if err != nil {
		return err
	}
	for i, h := range hashes {
		k := r.classes[valueHash(c, i)]
		if k == nil {
			return shardify.Mismatch("sample %d has a value of %s that no sample had when the plan was made", b.ID(i).Sample, r.field)
		}
		to[i] = k.part(h)
	}
	return nil
}

// nameRouter goes by the input's name.
type nameRouter struct{ p *Plan }

func (*nameRouter) Needs() []string { return nil }

func (r *nameRouter) Route(b *shardify.Batch, to []uint16) error {
	in, k := r.p.Split.Inputs, 0
	for i := range b.Samples {
		id := b.ID(i)
		if i > 0 && in[k].holds(id) && (k == 0 || !in[k-1].holds(id)) {
			to[i] = to[i-1]
			continue
		}
		if k = sort.Search(len(in), func(k int) bool { return in[k].holds(id) }); k == len(in) {
			return shardify.Mismatch("input %s belongs to no split", r.p.inputName(id.Input))
		}
		to[i] = uint16(in[k].Part)
	}
	return nil
}

// byObject makes parts of the splits that the inputs hold.
func (s *Split) byObject(src shardify.Source) error {
	var ranges []shardify.SplitRange
	if p, ok := src.(shardify.Splitter); ok {
		ranges = p.Splits()
	}
	if len(ranges) == 0 {
		return shardify.Mismatch("--split-from objects: the inputs hold no splits; HDF5 files with data sets such as /train/x and /test/x do")
	}
	s.Parts, s.Inputs = nil, nil
	names := map[string]int{}
	for _, x := range ranges {
		k, ok := names[x.Name]
		if !ok {
			k, names[x.Name] = len(s.Parts), len(s.Parts)
			s.Parts = append(s.Parts, Part{Name: x.Name})
		}
		r := InputPart{End: x.Input, Samples: x.End, Part: k}
		n := len(s.Inputs)
		switch {
		case n > 0 && s.Inputs[n-1].Part == k:
			s.Inputs[n-1] = r
		case n == 0 || r.follows(&s.Inputs[n-1]):
			s.Inputs = append(s.Inputs, r)
		}
	}
	return s.check()
}

// MatchInput tells whether a glob names an input, which has a slash path below its
// INPUT argument: the whole of it, a folder that it lies in, or its last part.
func MatchInput(glob, name string) bool {
	for at := range len(name) + 1 {
		if at == len(name) || name[at] == '/' {
			if ok, _ := path.Match(glob, name[:at]); ok {
				return true
			}
		}
	}
	if strings.Contains(glob, "/") {
		return false
	}
	ok, _ := path.Match(glob, path.Base(name))
	return ok
}

// byInput settles a split that goes by input names: every input has exactly one part,
// and folders become parts.
func (s *Split) byInput(t *shardify.Table) error {
	if t.Len() == 0 {
		return shardify.Mismatch("the inputs have no names for the split to go by")
	}
	if s.Dirs {
		return s.byDir(t)
	}
	if len(s.Inputs) > 0 {
		return nil
	}
	hits := make([]int, len(s.Parts))
	var none, twice []string
	for i := range t.Len() {
		n := 0
		for k := range s.Parts {
			if MatchInput(s.Parts[k].Glob, t.Name(i)) {
				hits[k]++
				n++
				s.assign(i, k)
			}
		}
		switch {
		case n == 0:
			none = append(none, t.Name(i))
		case n > 1:
			twice = append(twice, t.Name(i))
		}
	}
	switch {
	case len(none) > 0:
		return shardify.Mismatch("%d inputs belong to no split: %s", len(none), someOf(none))
	case len(twice) > 0:
		return shardify.Mismatch("%d inputs belong to several splits: %s", len(twice), someOf(twice))
	}
	for k, n := range hits {
		if n == 0 {
			return shardify.Mismatch("split %s: no input matches %q", s.Parts[k].Name, s.Parts[k].Glob)
		}
	}
	return nil
}

// assign gives input i, the next one, to a part.
func (s *Split) assign(i, part int) {
	if n := len(s.Inputs); n > 0 && s.Inputs[n-1].Part == part {
		s.Inputs[n-1].End = uint32(i + 1)
		return
	}
	s.Inputs = append(s.Inputs, InputPart{End: uint32(i + 1), Part: part})
}

// byDir makes a part of each folder: those given as INPUT if they are several, else
// those in it.
func (s *Split) byDir(t *shardify.Table) error {
	dirs := make([]string, t.Len())
	names := map[string]int{}
	var none []string
	for i := range dirs {
		dir, _, ok := strings.Cut(t.Name(i), "/")
		if len(t.Roots) > 1 && len(t.NameBytes(i)) > 0 && t.Roots[t.Root(i)] != "" {
			dir, ok = filepath.Base(t.Roots[t.Root(i)]), true
		}
		if !ok {
			none = append(none, t.Name(i))
		}
		dirs[i] = dir
		if names[dir]++; len(names) > maxSplits {
			return shardify.Mismatch("more than %d folders: these are no splits", maxSplits)
		}
	}
	if len(none) > 0 {
		return shardify.Mismatch("%d inputs lie in no folder that could name a split: %s", len(none), someOf(none))
	}
	s.Parts, s.Inputs = nil, nil
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		names[dir] = len(s.Parts)
		s.Parts = append(s.Parts, Part{Name: dir})
	}
	for i, dir := range dirs {
		s.assign(i, names[dir])
	}
	return s.check()
}

// someOf lists the first three of many.
func someOf(list []string) string {
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + ", ..."
	}
	return strings.Join(list, ", ")
}
