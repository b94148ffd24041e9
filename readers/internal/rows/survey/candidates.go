package survey

import (
	"maps"
	"slices"

	"github.com/shardify/shardify"
)

// candidates are the fields that may become those of the schema, in their order.
type candidates struct {
	list   []*candidate
	byName map[string]*candidate
}

// candidate is a field that may become one of the schema.
type candidate struct {
	name  string
	refs  []ref            // by layout, in the order of those that count
	files int64            // that have it
	fill  bool             // some files lack it, or have nothing but missing values
	void  map[*layout]bool // that have nothing but missing values
	field shardify.Field
	rank  int // of a Ragged field
	// shape is, for layouts in which the field is Ragged, the index of its companion.
	shape map[*layout]int
}

// ref is a field of a layout.
type ref struct {
	layout *layout
	field  int
}

func (r ref) get() *shardify.Field { return &r.layout.fields[r.field] }

// add makes candidates of the fields of a layout, except companions, which go with their
// fields.
func (cs *candidates) add(l *layout) {
	shapes := map[string]int{}
	for i := range l.fields {
		if shardify.Companion(l.fields, i) {
			shapes[l.fields[i].Name] = i
		}
	}
	for i := range l.fields {
		f := &l.fields[i]
		if _, ok := shapes[f.Name]; ok {
			continue
		}
		c := cs.byName[f.Name]
		if c == nil {
			if cs.byName == nil {
				cs.byName = map[string]*candidate{}
			}
			c = &candidate{name: f.Name}
			cs.byName[c.name] = c
			cs.list = append(cs.list, c)
		}
		if k, ok := shapes[f.Name+shardify.ShapeSuffix]; ok {
			if c.shape == nil {
				c.shape = map[*layout]int{}
			}
			c.shape[l] = k
		}
		c.refs = append(c.refs, ref{l, i})
		c.files += l.files
	}
}

// drop takes candidates out.
func (cs *candidates) drop(is func(c *candidate) bool) {
	cs.list = slices.DeleteFunc(cs.list, func(c *candidate) bool {
		if !is(c) {
			return false
		}
		delete(cs.byName, c.name)
		return true
	})
}

// layouts are those of the files that have the field.
func (c *candidate) layouts() map[*layout]bool {
	all := make(map[*layout]bool, len(c.refs)+len(c.void))
	maps.Copy(all, c.void)
	for _, r := range c.refs {
		all[r.layout] = true
	}
	return all
}

// isVoid notes a layout whose files have nothing but missing values of the field.
func (c *candidate) isVoid(l *layout) {
	if c.void == nil {
		c.void = map[*layout]bool{}
	}
	c.void[l], c.fill = true, true
	c.files += l.files
}

// kinds groups the files that have a field by how they have it.
func (c *candidate) kinds() *Kinds {
	k := &Kinds{}
	for _, r := range c.refs {
		f := r.get()
		n := len(f.Shape)
		if f.Ragged {
			n = rank(r.layout.fields, f.Name)
		}
		k.of(f, r.layout.varies[r.field], n).in.join(r.layout.files, r.layout.first)
	}
	return k
}
