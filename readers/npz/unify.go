package npz

import (
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// use is a type that some files store an array in.
type use struct {
	typ uint32
	in  survey.Inputs
}

// unify finds what each field is in all files together, by the rule of all formats, and
// notes what readers will change for it. npyFile says what may be wrong if there is no
// such field.
func (g *group) unify(t *format.Table, npyFile bool, rounds func(field string) bool) (notes []string, err error) {
	var empty survey.Inputs
	for i := range g.files {
		if g.files[i].samples == 0 {
			empty.Add(g.files[i].input)
		}
	}
	notes = survey.Empty(t, &empty)
	u := survey.Unifier{Table: t, Rounds: rounds}
	for j := range g.columns {
		c := &g.columns[j]
		uses := g.uses(j)
		for i := range c.wanted {
			w := &c.wanted[i]
			var kinds survey.Kinds
			for k := range uses {
				leaves := g.types[uses[k].typ].Leaves
				if w.leaf < 0 || w.leaf >= len(leaves) {
					return nil, badState("unknown field")
				}
				f := c.field(&leaves[w.leaf], w.name)
				kinds.Add(&f, &uses[k].in)
			}
			f, changes, ok := u.Field(w.name, &kinds)
			if ok {
				w.field = f
				notes = append(notes, changes...)
			}
		}
	}
	hint := survey.LeaveOut + ", numpy.astype makes them alike"
	if npyFile {
		hint = "numpy.astype makes them alike; files with columns of the same samples are joined by --zip A B"
	}
	return notes, u.Err(hint)
}

// oneSeries refuses .npy files of different types whose names differ in more than numbers:
// x.npy and y.npy are rather columns of the same samples than one behind the other.
func (g *group) oneSeries(t *format.Table) error {
	series := func(u *use) (name, stem string) {
		name = t.Name(int(u.in.First()))
		return name, strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, path.Base(name))
	}
	if len(g.types) < 2 {
		return nil
	}
	for j := range g.columns {
		uses := g.uses(j)
		for k := 1; k < len(uses); k++ {
			a, stemA := series(&uses[0])
			b, stemB := series(&uses[k])
			if stemA != stemB {
				return shardify.Mismatch("%s and %s have other types: columns of the same samples are joined by --zip A B; to read one after the other, convert them to one type with numpy.astype", a, b)
			}
		}
	}
	return nil
}

// uses lists the types of a column in the order of the files. Files without samples
// do not count, unless all are such: they often have another type.
func (g *group) uses(j int) []use {
	var all []use
	at := map[uint32]int{}
	for i := range g.files {
		if g.files[i].samples == 0 && g.samples > 0 {
			continue
		}
		typ := g.parts[i*len(g.columns)+j].typ
		k, ok := at[typ]
		if !ok {
			k = len(all)
			at[typ], all = k, append(all, use{typ: typ})
		}
		all[k].in.Add(g.files[i].input)
	}
	return all
}

// field is what a leaf of the column becomes.
func (c *column) field(l *npy.Leaf, name string) shardify.Field {
	ragged := c.ragged && !l.Scalar.IsText()
	inner := c.inner
	if ragged {
		inner = nil
	}
	f := l.Field(inner)
	f.Name = name
	if ragged {
		f.Levels, f.Ragged = 1, true
	}
	return f
}

// wide is the size of so many bytes of the leaf, once they have the type of all files.
func (w *wanted) wide(l *npy.Leaf, bytes int64) int64 {
	d, _ := l.Scalar.DType()
	return rows.SatMul(bytes/int64(d.Size()), int64(w.field.DType.Size()))
}

// widens reports whether the values of the leaf get another type.
func (w *wanted) widens(l *npy.Leaf) bool {
	d, _ := l.Scalar.DType()
	return d != w.field.DType
}
