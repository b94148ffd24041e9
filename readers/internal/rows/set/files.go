package set

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
)

// File is what is kept of an input, or of a part of one: 48 bytes. What files may have in common is kept
// once, by number.
type File struct {
	Input                      uint32 // in the table of inputs
	Layout                     uint32 // number of the fields that it has; once settled, of its mapping
	part, borders, blob, shape uint32
	Samples                    int64
	Size                       int64 // bytes of the input
	Jagged                     int64 // decoded bytes of its jagged fields
}

// Files are the files of a set and what they have in common. A survey adds them in any order and settles
// them when it has seen all.
type Files struct {
	List []File

	mappings []*Mapping
	borders  interner // encoded
	blobs    interner
	shapes   interner // of fields that are fixed in a file and Ragged in the schema; of all that may vary, before they are settled
	parts    parts
	samples  int64
}

// Add adds a file, or the part of one whose first sample is first.
func (fs *Files) Add(f File, part string, first int64, borders, blob, shapes []byte) {
	f.part, f.borders, f.blob, f.shape = fs.parts.add(part, first), fs.borders.add(borders), fs.blobs.add(blob), fs.shapes.add(shapes)
	fs.List = append(fs.List, f)
}

// Settle puts the files in order and gives them their mappings, and the shapes that these need; a file without one is
// left out. What the files have in common is numbered in their order, so that the state does not depend on which
// survey ended first.
func (fs *Files) Settle(of func(f *File, shapes []byte) (*Mapping, []byte)) {
	slices.SortStableFunc(fs.List, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(fs.first(&a), fs.first(&b)))
	})
	var mappings, borders, blobs, shapes interner
	kept := fs.List[:0]
	for _, f := range fs.List {
		m, s := of(&f, fs.shapes.list[f.shape])
		if m == nil {
			continue
		}
		f.Layout = mappings.add(m.key)
		if int(f.Layout) == len(fs.mappings) {
			fs.mappings = append(fs.mappings, m)
		}
		f.shape = shapes.add(s)
		f.borders, f.blob = borders.add(fs.borders.list[f.borders]), blobs.add(fs.blobs.list[f.blob])
		kept = append(kept, f)
		fs.samples += f.Samples
	}
	fs.List = kept
	fs.borders, fs.blobs, fs.shapes = interner{list: borders.list}, interner{list: blobs.list}, interner{list: shapes.list}
}

// place is where a file begins in its input.
func (fs *Files) place(f *File) place {
	if int(f.part) >= len(fs.parts.list) {
		return place{}
	}
	return fs.parts.list[f.part]
}

func (fs *Files) first(f *File) int64 { return fs.place(f).first }

// bytes estimates n samples of a file in a batch. It is at least n, so that
// samples of no bytes are cut too.
func (fs *Files) bytes(f *File, n int64) int64 {
	return max(n, rows.SatAdd(rows.SatMul(fs.mappings[f.Layout].fixed, n), rows.MulDiv(f.Jagged, n, max(f.Samples, 1))))
}

func (fs *Files) span(f *File, lo, hi int64) shardify.Span {
	first := fs.first(f)
	return shardify.Span{Input: f.Input, Lo: first + lo, Hi: first + hi, Bytes: fs.bytes(f, hi-lo)}
}

// find returns the file that has the span.
func (fs *Files) find(sp shardify.Span) (*File, error) {
	wrong := func(what string, args ...any) error {
		return fmt.Errorf("span [%d, %d) of input %d, run %d: %s", sp.Lo, sp.Hi, sp.Input, sp.Run, fmt.Sprintf(what, args...))
	}
	k := sort.Search(len(fs.List), func(k int) bool {
		f := &fs.List[k]
		return f.Input > sp.Input || f.Input == sp.Input && (fs.first(f)+f.Samples > sp.Lo || k+1 == len(fs.List) || fs.List[k+1].Input != f.Input)
	})
	if k == len(fs.List) || fs.List[k].Input != sp.Input {
		return nil, wrong("no such input")
	}
	f := &fs.List[k]
	switch first := fs.first(f); {
	case sp.Lo < first || sp.Hi <= sp.Lo || sp.Hi > first+f.Samples:
		return nil, wrong("the input has %d samples from %d on", f.Samples, first)
	case sp.Run != 0:
		return nil, wrong("there is no such run")
	}
	return f, nil
}

// place is what a part of an input is: the split that it belongs to, and its first sample's
// number in the input.
type place struct {
	name  string
	first int64
}

// parts numbers the places of parts; inputs that are one part without a name share one.
type parts struct {
	list []place
	ids  map[place]uint32
}

func (p *parts) add(name string, first int64) uint32 {
	x := place{name, first}
	id, ok := p.ids[x]
	if !ok {
		if p.ids == nil {
			p.ids = map[place]uint32{}
		}
		id = uint32(len(p.list))
		p.list, p.ids[x] = append(p.list, x), id
	}
	return id
}

// interner keeps equal byte strings once.
type interner struct {
	list [][]byte
	ids  map[string]uint32
}

func (n *interner) add(b []byte) uint32 {
	id, ok := n.ids[string(b)]
	if !ok {
		if n.ids == nil {
			n.ids = map[string]uint32{}
		}
		id = uint32(len(n.list))
		n.list = append(n.list, append([]byte(nil), b...))
		n.ids[string(b)] = id
	}
	return id
}
