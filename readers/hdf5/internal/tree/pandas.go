package tree

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/pandas"
)

// frameColumns are the names of the columns in a block of a pandas frame; nil for any other
// leaf.
func frameColumns(f *column.File, o *h5.Object, p, leaf string) []string {
	dir, base := path.Split(p)
	switch {
	case base == "table" && strings.HasPrefix(leaf, "values_block_"):
		return pandas.PickledTexts(element.TextOf(f.H5, o, leaf+"_kind"))
	case leaf == "" && strings.HasPrefix(base, "block") && strings.HasSuffix(base, "_values"):
		return f.ShortTexts(dir + strings.TrimSuffix(base, "values") + "items")
	}
	return nil
}

// categoriesOf is the table with the categories of a column of pandas' table p: codes are
// their places, -1 a missing value.
func categoriesOf(p, column string) string {
	return path.Dir(p) + "/meta/" + column + "/meta/table"
}

// isCategories reports whether p is such a table.
func isCategories(p string) bool {
	parts := strings.Split(p, "/")
	n := len(parts)
	return n > 4 && parts[n-1] == "table" && parts[n-2] == "meta" && parts[n-4] == "meta"
}

// categories are the texts of the codes of a column; nil if it has no codes.
func categories(f *column.File, o *h5.Object, p, leaf string) []string {
	if path.Base(p) != "table" || element.TextOf(f.H5, o, leaf+"_meta") != "category" {
		return nil
	}
	a, err := f.Dataset(categoriesOf(p, leaf))
	if err != nil || a.Set.Type.Class != datatype.Compound || len(a.Dims) != 1 || a.Rows > element.MaxColumns || a.Rows*a.RowBytes > element.MaxText || a.Usable() != nil {
		return nil
	}
	for _, m := range a.Set.Type.Members {
		if m.Name == "values" && m.Type.Class == datatype.String {
			return a.Texts(m)
		}
	}
	return nil
}

// withTimes adds the unit of pandas' dates and times to a column's attributes, which are counts.
// A table says it of each block or column and of the index, a fixed frame of a block.
func withTimes(attrs map[string]string, f *column.File, o *h5.Object, leaf string) map[string]string {
	for _, name := range []string{leaf + "_dtype", leaf + "_kind", "value_type", "kind"} {
		text := element.TextOf(f.H5, o, name)
		kind, unit, _ := strings.Cut(strings.TrimSuffix(text, "]"), "[")
		if kind != "datetime64" && kind != "timedelta64" {
			continue
		}
		if unit = cmp.Or(unit, "ns"); unit == "s" || unit == "ms" || unit == "us" || unit == "ns" {
			if attrs = element.WithAttr(attrs, "time", unit); kind == "timedelta64" {
				attrs["delta"] = "true"
			}
		}
		break
	}
	return attrs
}

// A pandas frame stores columns of one type as a block: a member values_block_k of a table,
// a data set blockk_values of a fixed frame. Each column is a field, by its name. A block
// of many columns stays one field, which lists their names.

// maxFrameColumns is how many columns of a block become fields unless --frame says so.
const maxFrameColumns = 128

// separate reports whether the columns of a block become fields.
func (s *scanner) separate(names []string, n int) bool {
	if len(names) == n {
		s.opts.Used.Mark("frame")
	}
	if len(names) != n || s.opts.frame == "blocks" || s.opts.frame == "auto" && n > maxFrameColumns {
		return false
	}
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" || seen[name] || !utf8.ValidString(name) {
			return false
		}
		seen[name] = true
	}
	return true
}

// blocks names the columns of a table's blocks. It returns which leaves to skip: blocks
// that are split, and the columns of others.
func (s *scanner) blocks(f *column.File, o *h5.Object, p string, leaves []element.Leaf) (skip map[int]bool) {
	skip = map[int]bool{}
	taken := map[string]bool{}
	for i := range leaves {
		if leaves[i].Of == "" {
			taken[leaves[i].Name] = true
		}
	}
	for i := range leaves {
		l := &leaves[i]
		first := slices.IndexFunc(leaves, func(c element.Leaf) bool { return c.Of != "" && c.Of == l.Name })
		if l.Of != "" || first < 0 {
			continue
		}
		n := l.Dims[0]
		names := frameColumns(f, o, p, l.Name)
		asked := slices.ContainsFunc(s.want.Names(), func(name string) bool {
			return name == l.Name || strings.TrimPrefix(name, "/") == strings.TrimPrefix(p, "/")+"/"+l.Name
		})
		apart := s.separate(names, n) && !asked && !slices.ContainsFunc(names, func(name string) bool { return taken[name] })
		skip[i] = apart
		for k := range n {
			if skip[first+k] = !apart; apart {
				leaves[first+k].Name, taken[names[k]] = names[k], true
			}
		}
	}
	return skip
}

// fixed makes columns of a block of a fixed frame: leaves of whole rows.
func (s *scanner) fixed(f *column.File, o *h5.Object, a *array.Array, obj *Object, leaves []element.Leaf) []element.Leaf {
	if !s.tree.Frames[naming.Group(obj.Path)] || len(a.Dims) != 2 || a.Dims[1] > element.MaxLeaves || len(leaves) != 1 {
		return leaves
	}
	l := &leaves[0]
	names := frameColumns(f, o, obj.Path, "")
	if l.Err != nil || l.Kind != element.Numbers || l.CF != nil || len(l.Dims) > 0 || !s.separate(names, int(a.Dims[1])) {
		return leaves
	}
	obj.Wide, obj.Dims, obj.Unlimited, obj.Axes = true, a.Dims[:1], obj.Unlimited[:1], nil
	out := l.Columns(int(a.Dims[1]))
	for i := range out {
		out[i].Name = names[i]
	}
	return out
}
