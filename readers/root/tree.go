package root

import (
	"fmt"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
)

// tree is a TTree as a table.
type tree struct {
	f        *rfile.File
	t        *ttree.Tree
	readings []*ttree.Reading // by branch
	columns  []treeColumn     // by field
	list     []field
	cannot   []leftOut
}

// treeColumn is where a field comes from.
type treeColumn struct {
	reading *ttree.Reading
	column  int
}

func newTree(f *rfile.File, t *ttree.Tree) *tree {
	x := &tree{f: f, t: t, readings: t.Interpret(f.Streamers())}
	var names namer
	given := make(map[treeColumn]string, len(x.readings))
	// Counts first get their names, which other columns refer to.
	for _, r := range x.readings {
		for i := range r.Columns {
			given[treeColumn{r, i}] = names.unique(columnName(r, i))
		}
	}
	for _, r := range x.readings {
		for i := range r.Columns {
			if !r.Hidden {
				x.add(r, i, given)
			}
		}
	}
	if t.Problem != nil {
		x.cannot = append(x.cannot, leftOut{name: t.Path, reason: "its list of branches is damaged: " + t.Problem.Error()})
	}
	return x
}

func columnName(r *ttree.Reading, i int) string {
	name := plainName(r.Branch.Dotted)
	if member := r.Columns[i].Name; member != "" {
		name += "." + member
	}
	return name
}

// add makes a field of column i of a reading, or notes why it is none.
func (x *tree) add(r *ttree.Reading, i int, given map[treeColumn]string) {
	c := &r.Columns[i]
	name := given[treeColumn{r, i}]
	aliases := []string{r.Branch.Path, r.Branch.Name}
	if c.Name != "" {
		aliases = []string{r.Branch.Path + "/" + c.Name, r.Branch.Path + "." + c.Name}
	}
	reason := c.Unreadable
	fd := shardify.Field{Name: name, DType: c.DType, Shape: c.Shape, Levels: c.Levels, Media: c.Media}
	if reason == "" && r.Counts != nil && c.Levels > 0 {
		fd.Counter = given[treeColumn{r.Counts, r.CountsColumn}]
	}
	if reason == "" {
		if err := fd.Validate(); err != nil {
			reason = reasonOf(err)
		}
	}
	if reason != "" {
		x.cannot = append(x.cannot, leftOut{name: name, aliases: aliases, reason: typed(c.Type, reason)})
		return
	}
	x.columns = append(x.columns, treeColumn{r, i})
	x.list = append(x.list, field{Field: fd, aliases: aliases, bytes: r.Bytes(i)})
}

// typed puts the type before a reason that does not name it.
func typed(typ, reason string) string {
	if typ == "" || strings.Contains(reason, typ) {
		return reason
	}
	return typ + ": " + reason
}

func (x *tree) path() string    { return x.t.Path }
func (x *tree) entries() int64  { return x.t.Entries }
func (x *tree) fields() []field { return x.list }
func (x *tree) left() []leftOut { return x.cannot }

// try decodes the first entries of branches whose layout only a class description
// tells.
func (x *tree) try(want []int) map[int]string {
	bad := map[int]string{}
	var s ttree.Scratch
	tried := map[*ttree.Reading]string{}
	for _, i := range want {
		r := x.columns[i].reading
		if !r.Risky {
			continue
		}
		reason, done := tried[r]
		if !done {
			if err := r.Try(x.f, &s); err != nil {
				reason = "its bytes are not what its type says: " + reasonOf(err)
			}
			tried[r] = reason
		}
		if reason != "" {
			bad[i] = typed(r.Columns[x.columns[i].column].Type, reason)
		}
	}
	return bad
}

// insideBytes is how much of a tree without common borders is read at a time: so
// much that few baskets are read twice.
const insideBytes = 16 << 20

// borders are the entries at which a basket begins in every wanted branch.
func (x *tree) borders(want []int) rows.Borders {
	tables := x.basketTables(want)
	if len(tables) == 0 || x.t.Entries == 0 {
		return rows.Borders{Every: 1}
	}
	common := tables[0]
	for _, t := range tables[1:] {
		common = intersect(common, t)
	}
	b := rows.Borders{At: inner(common, x.t.Entries), Inside: x.inside(want)}
	if len(b.At) == 0 {
		b.At = nil
		b.Every = x.t.Entries
	}
	return b
}

// basketTables lists the first entries of the baskets of the branches that are
// read, each list once.
func (x *tree) basketTables(want []int) [][]int64 {
	var tables [][]int64
	seen := map[*ttree.Reading]bool{}
	use := func(r *ttree.Reading) {
		if r == nil || seen[r] {
			return
		}
		seen[r] = true
		first := r.Branch.Baskets.First
		if len(tables) > 0 && equal(tables[len(tables)-1], first) {
			return
		}
		tables = append(tables, first)
	}
	for _, i := range want {
		use(x.columns[i].reading)
		use(x.columns[i].reading.Counts)
	}
	return tables
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// intersect returns what stands in both ascending lists.
func intersect(a, b []int64) []int64 {
	var out []int64
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			out = append(out, a[i])
			i, j = i+1, j+1
		}
	}
	return out
}

// inner keeps the ascending values between 0 and end.
func inner(list []int64, end int64) []int64 {
	out := make([]int64, 0, len(list))
	last := int64(0)
	for _, v := range list {
		if v > last && v < end {
			out = append(out, v)
			last = v
		}
	}
	return out
}

// inside is how many entries are read at a time between far borders.
func (x *tree) inside(want []int) int64 {
	perEntry := 0.0
	for _, i := range want {
		f := &x.list[i]
		if f.Levels == 0 {
			perEntry += float64(f.ElemBytes())
		} else {
			perEntry += float64(f.bytes) / float64(x.t.Entries)
		}
	}
	return int64(min(max(insideBytes/max(perEntry, 1e-9), 1), math.MaxInt32))
}

func (x *tree) describe() []string {
	t := x.t
	lines := []string{fmt.Sprintf("%s: %s with %d entries, %d branches, %s compressed to %s", t.Path, t.Class, t.Entries, len(t.All),
		shardify.FormatSize(t.TotBytes), shardify.FormatSize(t.ZipBytes))}
	how := map[int]int{}
	most, baskets := 0, 0
	for _, b := range t.All {
		if b.Baskets.Len() > 0 {
			how[b.Compress/100]++
			if how[b.Compress/100] > how[most] {
				most = b.Compress / 100
			}
			baskets += b.Baskets.Len()
		}
	}
	lines = append(lines, fmt.Sprintf("%s: %d baskets, compression %s", t.Path, baskets, algorithm(most)))
	if n := len(x.borders(x.all()).At); n > 0 {
		lines = append(lines, fmt.Sprintf("%s: %d clusters, at whose ends all branches are cut", t.Path, n+1))
	}
	for _, f := range t.Friends {
		lines = append(lines, fmt.Sprintf("%s: friend tree %s %s is named in it, and joined only with --friend", t.Path, f.Tree, f.File))
	}
	return lines
}

func (x *tree) all() []int {
	want := make([]int, len(x.list))
	for i := range want {
		want[i] = i
	}
	return want
}

func algorithm(n int) string {
	if names := []string{"none", "zlib", "lzma", "old", "lz4", "zstd"}; n >= 0 && n < len(names) {
		return names[n]
	}
	return fmt.Sprintf("algorithm %d", n)
}
