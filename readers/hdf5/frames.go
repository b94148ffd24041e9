package hdf5

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/number"
)

// Columns of one type stand in a pandas frame as a block: a member values_block_k of a
// table, a data set blockk_values of a fixed frame. Each column is a field, by its name.
// A block of many columns stays one field, which lists their names.

// maxFrameColumns is how many columns of a block become fields unless --frame says so.
const maxFrameColumns = 128

const blockPrefix = "values_block_"

// withBlocks adds a leaf for each column of the blocks of a table, behind all others so
// that their numbers follow from the type alone.
func withBlocks(leaves []leaf) []leaf {
	for i, n := 0, len(leaves); i < n; i++ {
		l := &leaves[i]
		if !l.isBlock() || len(leaves)+l.dims[0] > maxLeaves {
			continue
		}
		leaves = append(leaves, l.columns(l.dims[0])...)
	}
	return leaves
}

// isBlock tells a block that can be taken apart.
func (l *leaf) isBlock() bool {
	return strings.HasPrefix(l.name, blockPrefix) && len(l.dims) == 1 && l.err == nil && (l.kind == numbers || l.kind == texts)
}

// columns are n leaves, one behind the other.
func (l *leaf) columns(n int) []leaf {
	step := l.size
	if l.kind == numbers {
		step = l.num.Size
	}
	if len(l.at.Step) == 1 {
		step = l.at.Step[0]
	}
	out := make([]leaf, n)
	for i := range out {
		out[i] = *l
		out[i].of, out[i].dims, out[i].at = l.name, nil, number.Strided{Off: l.at.Off + i*step}
	}
	return out
}

// apart tells whether the columns of a block become fields.
func (s *scanner) apart(names []string, n int) bool {
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

// blocks names the columns of a table's blocks. It tells which leaves are none: blocks that
// are taken apart, and the columns of others.
func (s *scanner) blocks(f *file, o *h5.Object, p string, leaves []leaf) (skip map[int]bool) {
	skip = map[int]bool{}
	taken := map[string]bool{}
	for i := range leaves {
		if leaves[i].of == "" {
			taken[leaves[i].name] = true
		}
	}
	for i := range leaves {
		l := &leaves[i]
		first := slices.IndexFunc(leaves, func(c leaf) bool { return c.of != "" && c.of == l.name })
		if l.of != "" || first < 0 {
			continue
		}
		n := l.dims[0]
		names := frameColumns(f, o, p, l.name)
		asked := slices.ContainsFunc(s.want.Names(), func(name string) bool {
			return name == l.name || strings.TrimPrefix(name, "/") == strings.TrimPrefix(p, "/")+"/"+l.name
		})
		apart := s.apart(names, n) && !asked && !slices.ContainsFunc(names, func(name string) bool { return taken[name] })
		skip[i] = apart
		for k := range n {
			if skip[first+k] = !apart; apart {
				leaves[first+k].name, taken[names[k]] = names[k], true
			}
		}
	}
	return skip
}

// fixed makes columns of a block of a fixed frame: leaves of whole rows.
func (s *scanner) fixed(f *file, o *h5.Object, a *array.Array, obj *object, leaves []leaf) []leaf {
	if !s.tree.frames[groupOf(obj.path)] || len(a.Dims) != 2 || a.Dims[1] > maxLeaves || len(leaves) != 1 {
		return leaves
	}
	l := &leaves[0]
	names := frameColumns(f, o, obj.path, "")
	if l.err != nil || l.kind != numbers || l.cf != nil || len(l.dims) > 0 || !s.apart(names, int(a.Dims[1])) {
		return leaves
	}
	obj.wide, obj.dims, obj.unlimited, obj.axes = true, a.Dims[:1], obj.unlimited[:1], nil
	out := l.columns(int(a.Dims[1]))
	for i := range out {
		out[i].name = names[i]
	}
	return out
}

// wideLeaves are the columns of a block of a fixed frame.
func (a *dataset) wideLeaves(leaves []leaf) []leaf {
	if len(leaves) != 1 || leaves[0].kind != numbers || len(a.Dims) != 2 || a.Dims[1] > maxLeaves {
		return nil
	}
	return leaves[0].columns(int(a.Dims[1]))
}

// ways are those in which users may write a field of a data set.
func (o *object) ways(leaf string) []string {
	out := names(o.path, leaf)
	if o.wide {
		out = append(out, names(groupOf(o.path), leaf)...)
	}
	return out
}
