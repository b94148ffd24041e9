package rntuple

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// place names one of the columns of a field: an index, the characters of a string.
type place struct{ field, place int }

// slot is the columns that hold the same elements, one per representation.
type slot struct{ columns []int }

type stepKind uint8

const (
	list  stepKind = iota // collection: an index column
	maybe                 // optional, unique_ptr: a collection of at most one item
	alt                   // one alternative of a variant: a switch column
	array                 // n items each
)

// step leads from the elements of one node of the type tree to those below.
type step struct {
	kind stepKind
	slot int // of list, maybe, alt
	tag  uint32
	n    int64 // of array: its length; of alt: the number of alternatives
	name string
}

type leafKind uint8

const (
	values leafKind = iota
	counts          // the lengths of the list that is the last step
)

type leaf struct {
	kind leafKind
	slot int
	n    int64 // values per element of the last step: the product of the shape
}

const (
	maxDepth = 64
	maxName  = 255
	// maxArray bounds the values of one element of fixed shape.
	maxArray = 1 << 30
)

func (n *Ntuple) findSlots() {
	n.bySlot = map[place]int{}
	for i := range n.Columns {
		c := &n.Columns[i]
		key := place{c.Field, c.place}
		s, ok := n.bySlot[key]
		if !ok {
			s = len(n.slots)
			n.bySlot[key] = s
			n.slots = append(n.slots, slot{})
		}
		n.slots[s].columns = append(n.slots[s].columns, i)
	}
}

// slotsOf returns a field's columns in their order; those of a projected field are
// another's.
func (n *Ntuple) slotsOf(field int) []int {
	var all []int
	if n.Fields[field].Source >= 0 {
		for _, id := range n.aliases[field] {
			c := &n.Columns[id]
			all = append(all, n.bySlot[place{c.Field, c.place}])
		}
		return all
	}
	for i := 0; ; i++ {
		s, ok := n.bySlot[place{field, i}]
		if !ok {
			return all
		}
		all = append(all, s)
	}
}

// slotFault says why one of the columns cannot be decoded, or "". A projected field
// may show a column of a field that is left out.
func (n *Ntuple) slotFault(slots []int) string {
	for _, s := range slots {
		for _, c := range n.slots[s].columns {
			if why := n.Columns[c].fault(); why != "" {
				return why
			}
		}
	}
	return ""
}

// walker makes flats from fields.
type walker struct {
	n    *Ntuple
	full []string // by flat: the name with nothing hidden
}

// at is where the walk is.
type at struct {
	field      int
	name, full string
	path       []step
	depth      int
}

func (n *Ntuple) flatten() {
	w := walker{n: n}
	for _, id := range n.Top {
		f := &n.Fields[id]
		switch why := n.foreign[id]; {
		case why == "":
			w.walk(at{field: id, name: f.Name, full: f.Name})
		default:
			w.leave(f.Name, "%s", why)
		}
	}
	n.hideShown()
	w.settleNames()
	n.settleCounters()
}

func (w *walker) leave(name, format string, args ...any) {
	if len(name) > maxName {
		name = name[:maxName] + "..."
	}
	w.n.Unreadable = append(w.n.Unreadable, unreadable{name, fmt.Sprintf(format, args...)})
}

// below is the place of a child.
func (w *walker) below(a at, child int, hide bool, s ...step) at {
	f := &w.n.Fields[child]
	b := at{field: child, name: a.name, full: a.full + "." + f.Name, path: append(slices.Clip(a.path), s...), depth: a.depth + 1}
	if !hide && !strings.HasPrefix(f.Name, ":_") {
		b.name += "." + f.Name
	}
	return b
}

func (w *walker) walk(a at) {
	f := &w.n.Fields[a.field]
	slots := w.n.slotsOf(a.field)
	why := w.n.slotFault(slots)
	switch {
	case why != "":
		w.leave(a.name, "%s", why)
	case a.depth > maxDepth || len(a.full) > 16*maxName:
		w.leave(a.name, "nested too deep")
	case len(a.name) > maxName:
		w.leave(a.name, "the name is longer than %d bytes", maxName)
	case f.flags&fieldRepetitive != 0:
		w.array(a, f, slots)
	case f.Role == rolePlain:
		w.plain(a, f, slots)
	case f.Role == roleRecord && len(f.Children) == 0 && strings.HasPrefix(f.Name, ":_"): // an interface, as base class
	case f.Role == roleRecord && len(f.Children) == 0:
		w.leave(a.name, "%s has no members", typeName(f))
	case f.Role == roleRecord:
		for _, child := range f.Children {
			w.walk(w.below(a, child, false))
		}
	case f.Role == roleCollection:
		w.collection(a, f, slots)
	case f.Role == roleVariant:
		w.variant(a, f, slots)
	case f.Role == roleStreamer:
		w.leave(a.name, "%s is stored as an opaque object", typeName(f))
	default:
		w.leave(a.name, "field of structure %d", f.Role)
	}
}

func typeName(f *Field) string {
	if f.TypeName == "" {
		return "untyped " + f.Role.String()
	}
	return f.TypeName
}

func (w *walker) array(a at, f *Field, slots []int) {
	if f.ArraySize == 0 || f.ArraySize > maxArray {
		w.leave(a.name, "array of %d elements", f.ArraySize)
		return
	}
	s := step{kind: array, n: int64(f.ArraySize), name: a.name}
	switch {
	case len(f.Children) == 1 && len(slots) == 0:
		w.walk(w.below(a, f.Children[0], true, s))
	case len(f.Children) == 0 && len(slots) == 1: // bitset
		a.path = append(slices.Clip(a.path), s)
		w.value(a, f, slots[0])
	default:
		w.leave(a.name, "array %s with %d children and %d columns", typeName(f), len(f.Children), len(slots))
	}
}

// optional reports types that ROOT stores as collections of at most one item.
func optional(f *Field) bool {
	return strings.HasPrefix(f.TypeName, "std::optional<") || strings.HasPrefix(f.TypeName, "std::unique_ptr<")
}

func (w *walker) collection(a at, f *Field, slots []int) {
	if len(f.Children) != 1 || len(slots) != 1 || !w.n.indexSlot(slots[0]) {
		w.leave(a.name, "collection %s with %d children and %d columns", typeName(f), len(f.Children), len(slots))
		return
	}
	s := step{kind: list, slot: slots[0], name: a.name}
	if optional(f) {
		s.kind = maybe
	}
	w.walk(w.below(a, f.Children[0], true, s))
}

func (w *walker) variant(a at, f *Field, slots []int) {
	if len(slots) != 1 || !w.n.slotOf(slots[0], func(t colType) bool { return t == colSwitch }) || len(f.Children) == 0 {
		w.leave(a.name, "variant %s with %d children and %d columns", typeName(f), len(f.Children), len(slots))
		return
	}
	for i, child := range f.Children {
		s := step{kind: alt, slot: slots[0], tag: uint32(i + 1), n: int64(len(f.Children)), name: a.name + "." + w.n.Fields[child].Name}
		w.walk(w.below(a, child, false, s))
	}
}

// slotOf reports whether all representations are of a kind.
func (n *Ntuple) slotOf(slot int, is func(colType) bool) bool {
	for _, c := range n.slots[slot].columns {
		if !is(n.Columns[c].Type) {
			return false
		}
	}
	return true
}

func (n *Ntuple) indexSlot(slot int) bool { return n.slotOf(slot, colType.index) }

func (w *walker) plain(a at, f *Field, slots []int) {
	switch {
	case len(slots) == 0 && len(f.Children) == 1: // atomic, enum
		w.walk(w.below(a, f.Children[0], true))
	case len(slots) == 1 && len(f.Children) == 0 && w.n.indexSlot(slots[0]):
		w.cardinality(a, f, slots[0])
	case len(slots) == 1 && len(f.Children) == 0:
		w.value(a, f, slots[0])
	case len(slots) == 2 && w.n.indexSlot(slots[0]) && w.n.slotOf(slots[1], func(t colType) bool { return t == colChar }):
		a.path = append(slices.Clip(a.path), step{kind: list, slot: slots[0], name: a.name})
		w.add(a, f, leaf{values, slots[1], 1}, shardify.Field{DType: shardify.U8, Media: "txt"})
	default:
		w.leave(a.name, "%s with %d children and %d columns", typeName(f), len(f.Children), len(slots))
	}
}

const cardinalityPrefix = "ROOT::RNTupleCardinality<"

func (w *walker) cardinality(a at, f *Field, slot int) {
	dtype := shardify.U32
	switch {
	case !strings.HasPrefix(f.TypeName, cardinalityPrefix):
		w.leave(a.name, "%s on an index column", typeName(f))
		return
	case strings.Contains(f.TypeName, "64"):
		dtype = shardify.U64
	}
	// Its list is a step of the path, so that it shares the offsets that are read
	// for the list itself.
	a.path = append(slices.Clip(a.path), step{kind: list, slot: slot, name: a.name})
	w.add(a, f, leaf{counts, slot, 1}, shardify.Field{DType: dtype})
}

func (w *walker) value(a at, f *Field, slot int) {
	cols := w.n.slots[slot].columns
	dtype, ok := names[f.TypeName]
	if !ok {
		dtype = columnTypes[w.n.Columns[cols[0]].Type].dtype
	}
	for _, c := range cols {
		if t := w.n.Columns[c].Type; !convertible(dtype, columnTypes[t].dtype) {
			w.leave(a.name, "%s in a column of type %v", typeName(f), t)
			return
		}
	}
	w.add(a, f, leaf{values, slot, 1}, shardify.Field{DType: dtype})
}

// add makes the flat. Steps of presence come first, arrays at the end are the
// shape, and each step between is a level.
func (w *walker) add(a at, f *Field, l leaf, sf shardify.Field) {
	path := a.path
	end := len(path)
	if l.kind == values {
		for end > 0 && path[end-1].kind == array {
			end--
		}
	}
	for _, s := range path[end:] {
		if l.n *= s.n; l.n > maxArray {
			w.leave(a.name, "more than %d values in one element", maxArray)
			return
		}
		sf.Shape = append(sf.Shape, int(s.n))
	}
	path = path[:end]
	first := 0
	for first < end && (path[first].kind == maybe || path[first].kind == alt) {
		first++
	}
	sf.Name, sf.Nullable, sf.Levels = a.name, first > 0, end-first
	if l.kind == counts {
		sf.Levels--
	}
	fl := flatColumn{Field: sf, FieldID: f.ID, TypeName: f.TypeName, Projected: f.Source >= 0, path: path, leaf: l}
	switch {
	case sf.Levels == maxLevels && path[first+1].kind == list:
		w.deep(a, fl, first)
		return
	case sf.Levels >= maxLevels:
		w.leave(a.name, "%d levels of variable length (at most %d, and the second is one of lists)", sf.Levels, maxLevels)
		return
	case sf.Levels > 0 && path[first].name != a.name:
		fl.Counter = path[first].name
	}
	w.flat(a.full, fl)
}

// maxLevels is what a field can have, and one more that has a flat of its own.
const maxLevels = 3

func (w *walker) flat(full string, f flatColumn) {
	w.n.Flats = append(w.n.Flats, f)
	w.full = append(w.full, full)
}

// deep adds a flat of three levels as two: the values in the lists of all lists of an
// entry, and the lengths of the lists of the second level.
func (w *walker) deep(a at, f flatColumn, first int) {
	f.Levels, f.Deep = maxLevels-1, true
	w.flat(a.full, f)
	second := f.path[first+1]
	lengths := f
	lengths.Field = shardify.Field{Name: a.name + ".lengths", DType: shardify.I64, Levels: 1, Nullable: f.Nullable}
	if f.path[first].name != a.name {
		lengths.Counter = f.path[first].name
	}
	lengths.Deep, lengths.Lists = false, true
	lengths.path, lengths.leaf = f.path[:first+2], leaf{counts, second.slot, 1}
	w.flat(a.full+".lengths", lengths)
}
