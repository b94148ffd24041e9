package survey

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
)

// layout is the fields that some files have in common.
type layout struct {
	empty   bool // they have no samples
	dropped bool // by --missing drop
	fields  []shardify.Field
	at      []int32              // index of each field in Facts.Fields
	bytes   []int64              // of jagged fields, summed over the files
	varies  []bool               // the shape differs from file to file
	lengths lengthClasses        // of lists
	coords  map[string]dimCoords // by field
	left    []leftField
	void    []string

	files int64
	first []uint32 // the first of the files, in order
}

type leftField struct {
	name, reason string
	unreadable   bool
	input        uint32 // that the reason is about
	err          error  // the reason, nil where it is a text alone
}

// layouts are those of all files. Facts are dropped as soon as they are in one:
// those of 100,000 files with 2,600 fields would not fit into memory.
type layouts struct {
	list   []*layout
	byKey  map[string]uint32
	fields int // in all
	most   int // of fields
}

// add adds a file to the layout that it has.
func (ls *layouts) add(input uint32, empty bool, s *checked) (id uint32, jagged int64, err error) {
	id, ok := ls.byKey[string(s.key)]
	if !ok {
		if ls.fields += len(s.fields) + len(s.left) + len(s.void); ls.fields > ls.most {
			return 0, 0, shardify.Mismatch("the inputs have nothing in common: %d different sets of fields among the first ones looked at; name those that are one table, or the wanted fields with --columns", len(ls.list))
		}
		id = uint32(len(ls.list))
		ls.byKey[string(s.key)] = id
		ls.list = append(ls.list, &layout{
			empty: empty, fields: s.fields, at: s.at, void: s.void, bytes: make([]int64, len(s.fields)), varies: make([]bool, len(s.fields)), coords: map[string]dimCoords{},
		})
	}
	return id, ls.list[id].join(input, s, !ok), nil
}

// join adds a file to a layout. The result must not depend on the order of files.
func (l *layout) join(input uint32, s *checked, isNew bool) (jagged int64) {
	l.files++
	at, _ := slices.BinarySearch(l.first, input)
	l.first = slices.Insert(l.first, at, input)
	l.first = l.first[:min(len(l.first), shown)]
	l.lengths = l.lengths.refine(s.lengths)
	for i := range s.coords {
		x := &s.coords[i]
		all := l.coords[x.Field].upTo(x.Dim)
		all[x.Dim].add(inputCoord{input, x.Name, x.Values})
		l.coords[x.Field] = all
	}
	for i := range s.fields {
		f := &s.fields[i]
		if n := s.bytes[i]; n > 0 {
			l.bytes[i] = rows.SatAdd(l.bytes[i], n)
			jagged = rows.SatAdd(jagged, n)
		}
		if isNew {
			continue
		}
		l.varies[i] = l.varies[i] || !slices.Equal(f.Shape, l.fields[i].Shape)
		l.fields[i].Attrs = commonAttrs(l.fields[i].Attrs, f.Attrs)
	}
	for i, x := range s.left { // those of one layout have the same names
		left := leftField{x.Name, x.Reason, x.Unreadable, input, x.Err}
		if isNew {
			l.left = append(l.left, left)
		} else if input < l.left[i].input {
			l.left[i] = left
		}
	}
	return jagged
}
