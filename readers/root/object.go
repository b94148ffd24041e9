package root

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/rntuple"
	"github.com/shardify/shardify/readers/root/internal/ttree"
)

// table is a tree or an RNTuple of an open file.
type table interface {
	path() string
	entries() int64
	// fields are the columns that can be read, with valid and unique names.
	fields() []field
	// left are those that cannot.
	left() []leftOut
	// borders are where the wanted fields may be cut.
	borders(want []int) set.Borders
	// reader reads the wanted fields. It is used by one goroutine at a time.
	reader(want []int) tableReader
	// try returns which of the wanted fields turn out to be unreadable once a look is taken
	// at the bytes, and why.
	try(want []int) map[int]string
	// alike returns which wanted fields have lists that are equally long in each entry.
	equalLists(want []int) map[int]string
	describe() []string
}

// tableReader reads entries of a table. cols are those that were wanted, in order;
// their Field is set, the rest is filled in. Columns of one counter share slices.
type tableReader interface {
	read(ctx context.Context, lo, hi int64, mem *shardify.Arena, cols []*shardify.Column) error
	close()
}

// field is a column of a table.
type field struct {
	shardify.Field
	// aliases are other names that users know it by.
	aliases []string
	// of is the field with the values of the lists whose lengths these are: it is asked
	// for, or excluded, together with this one.
	of string
	// bytes of its data in the whole table, decoded, an estimate.
	bytes int64
}

// leftOut is a column that cannot be read.
type leftOut struct {
	name    string
	aliases []string
	reason  string
	// damage is why, unless the column has no form that is read.
	damage error
	// list: it is the list of columns that is damaged, any of which may be missing.
	list bool
}

// openTable finds a table in a file. An empty path is the only one there.
func openTable(f *rfile.File, r io.ReaderAt, path string) (table, error) {
	o, err := find(f, r, path)
	if err != nil {
		return nil, err
	}
	return readTable(f, r, o)
}

func readTable(f *rfile.File, r io.ReaderAt, o rfile.Object) (table, error) {
	switch class := o.Key.Class; {
	case rfile.IsTree(class):
		t, err := ttree.Read(f, o)
		if err != nil {
			return nil, err
		}
		return newTree(f, t), nil
	case class == rfile.NTupleClass:
		rec, h, err := f.Object(o.Key)
		if err != nil {
			return nil, err
		}
		n, err := rntuple.Open(r, f.Size(), rec[h.KeyLen:])
		if err != nil {
			return nil, shardify.Annotate(err, "open", f.Name(), o.Path)
		}
		return newNtuple(n, o.Path), nil
	case class == rfile.OldNTupleClass:
		return nil, shardify.Annotate(shardify.Unsupported("RNTuple from before version 1.0 of the format; ROOT 6.34 or older made it: write it again with a newer one"), "open", f.Name(), o.Path)
	default:
		return nil, shardify.Annotate(shardify.Mismatch("it is a %s, no tree", class), "open", f.Name(), o.Path)
	}
}

// find returns the object of a path, or the only table.
func find(f *rfile.File, r io.ReaderAt, path string) (rfile.Object, error) {
	if path != "" {
		return f.Lookup(path)
	}
	all := append(f.Trees(), f.NTuples()...)
	if problems := f.Problems(); len(problems) > 0 && len(all) < 2 { // there may be others
		return rfile.Object{}, problems[0]
	}
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return rfile.Object{}, shardify.Annotate(shardify.Mismatch("no tree in it"), "open", f.Name(), "")
	}
	return rfile.Object{}, shardify.Annotate(format.NewAmbiguous("several trees", waysOf(f, r, all)), "open", f.Name(), "")
}

// waysOf are the trees to choose from, the one with the most bytes first.
func waysOf(f *rfile.File, r io.ReaderAt, all []rfile.Object) []format.Way {
	var ways []format.Way
	for _, o := range all {
		w := format.Way{Options: format.Options{"object": o.Path}, Makes: o.Path}
		if t, err := readTable(f, r, o); err != nil {
			w.Makes += " (" + format.Reason(err) + ")"
		} else {
			w.Makes = many(t.entries(), "sample", "samples") + " of " + o.Path
			for _, field := range t.fields() {
				if w.Bytes += field.bytes; field.Levels == 0 {
					w.Bytes += int64(field.ElemBytes()) * t.entries()
				}
			}
		}
		ways = append(ways, w)
	}
	slices.SortStableFunc(ways, func(a, b format.Way) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return ways
}
