package look

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

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
func (s *scanner) fixed(f *column.File, o *h5.Object, a *array.Array, obj *object, leaves []element.Leaf) []element.Leaf {
	if !s.tree.frames[naming.Group(obj.path)] || len(a.Dims) != 2 || a.Dims[1] > element.MaxLeaves || len(leaves) != 1 {
		return leaves
	}
	l := &leaves[0]
	names := frameColumns(f, o, obj.path, "")
	if l.Err != nil || l.Kind != element.Numbers || l.CF != nil || len(l.Dims) > 0 || !s.separate(names, int(a.Dims[1])) {
		return leaves
	}
	obj.wide, obj.dims, obj.unlimited, obj.axes = true, a.Dims[:1], obj.unlimited[:1], nil
	out := l.Columns(int(a.Dims[1]))
	for i := range out {
		out[i].Name = names[i]
	}
	return out
}

// ways are those in which users may write a field of a data set.
func (o *object) ways(leaf string) []string {
	out := naming.Ways(o.path, leaf)
	if o.wide {
		out = append(out, naming.Ways(naming.Group(o.path), leaf)...)
	}
	return out
}
