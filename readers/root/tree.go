package root

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/root/internal/entries"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
)

// tree is a TTree as a table.
type tree struct {
	f        *rfile.File
	t        *ttree.Tree
	readings []*entries.Reading // by branch
	columns  []treeColumn       // by field
	list     []field
	cannot   []leftOut
	reached  atomic.Int64 // the entry up to which readers have announced
}

// treeColumn is where a field comes from.
type treeColumn struct {
	reading *entries.Reading
	column  int
}

func newTree(f *rfile.File, t *ttree.Tree) *tree {
	x := &tree{f: f, t: t, readings: entries.Interpret(t, f.Streamers())}
	names := rows.Names{} // branches of one name in a tree are legal
	given := make(map[treeColumn]string, len(x.readings))
	// Counts first get their names, which other columns refer to.
	for _, r := range x.readings {
		for i := range r.Columns {
			given[treeColumn{r, i}] = names.Unique(columnName(r, i))
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
		x.cannot = append(x.cannot, problem(t))
	}
	return x
}

// damage is why a column cannot be read, unless it has no form. A class that is not
// described may be one of those whose descriptions are damaged.
func (x *tree) damage(c *entries.Column, name string) error {
	err := c.Err
	if problem := x.f.Streamers().Problem; err == nil && errors.Is(problem, shardify.ErrCorrupt) && strings.Contains(c.Unreadable, "not described") {
		err = problem
	}
	if err == nil {
		return nil
	}
	return shardify.Amend(shardify.Annotate(err, "open", "", x.t.Path), func(e *shardify.Error) { e.Field = cmp.Or(e.Field, name) })
}

// problem is what is wrong with the tree's list of branches.
func problem(t *ttree.Tree) leftOut {
	l := leftOut{name: t.Path, reason: "its list of branches: " + format.Reason(t.Problem), list: true}
	if errors.Is(t.Problem, shardify.ErrCorrupt) {
		l.damage = t.Problem
	}
	return l
}

func columnName(r *entries.Reading, i int) string {
	name := plainName(r.Branch.Dotted)
	if member := r.Columns[i].Name; member != "" {
		name += "." + member
	}
	return name
}

// add makes a field of column i of a reading, or notes why it cannot.
func (x *tree) add(r *entries.Reading, i int, given map[treeColumn]string) {
	c := &r.Columns[i]
	name := given[treeColumn{r, i}]
	aliases := []string{r.Branch.Path, r.Branch.Name, r.Branch.Dotted}
	if c.Name != "" {
		aliases = []string{r.Branch.Path + "/" + c.Name, r.Branch.Path + "." + c.Name}
	}
	reason := c.Unreadable
	fd := shardify.Field{Name: name, DType: c.DType, Shape: c.Shape, Levels: c.Levels, Media: c.Media}
	if reason == "" && r.Counts != nil && c.Levels > 0 && !c.Deep {
		fd.Counter = given[treeColumn{r.Counts, r.CountsColumn}]
	}
	if reason == "" {
		if err := fd.Validate(); err != nil {
			reason = format.Reason(err)
		}
	}
	if reason != "" {
		x.cannot = append(x.cannot, leftOut{name: name, aliases: aliases, reason: typed(c.Type, reason), damage: x.damage(c, name)})
		return
	}
	x.columns = append(x.columns, treeColumn{r, i})
	f := field{Field: fd, aliases: aliases, bytes: r.Bytes(i)}
	if c.Lists {
		f.of = given[treeColumn{r, i - 1}]
	}
	x.list = append(x.list, f)
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

// try decodes the first entries of branches whose layout is known only from a class
// description.
func (x *tree) try(want []int) map[int]string {
	bad := map[int]string{}
	var s ttree.Scratch
	tried := map[*entries.Reading]string{}
	for _, i := range want {
		r := x.columns[i].reading
		if !r.Risky {
			continue
		}
		reason, done := tried[r]
		if !done {
			if err := r.Try(x.f, &s); err != nil {
				reason = "its bytes are not what its type says: " + format.Reason(err)
			}
			tried[r] = reason
		}
		if reason != "" {
			bad[i] = typed(r.Columns[x.columns[i].column].Type, reason)
		}
	}
	return bad
}

// insideBytes is how much is read at a time where there are no common borders.
const insideBytes = 16 << 20

// borders are the entries at which a basket begins in every wanted branch. A few
// small branches that have other borders do not count: what is decoded twice for
// them is less than what smaller pieces save.
func (x *tree) borders(want []int) set.Borders {
	tables, total := x.basketTables(want)
	if len(tables) == 0 || x.t.Entries == 0 {
		return set.Borders{Every: 1}
	}
	slices.SortStableFunc(tables, func(a, b basketTable) int { return cmp.Compare(b.bytes, a.bytes) })
	common, ignored := tables[0].first, int64(0)
	for _, t := range tables[1:] {
		both := intersect(common, t.first)
		if len(both) < len(common)/2 && ignored+t.bytes < total/10 {
			ignored += t.bytes
			continue
		}
		common = both
	}
	b := set.Borders{At: inner(common, x.t.Entries), Inside: x.inside(want)}
	if len(b.At) == 0 {
		b.At = nil
		b.Every = x.t.Entries
	}
	return b
}

// basketTable is where the baskets of some branches begin, and their bytes.
type basketTable struct {
	first []int64
	bytes int64
}

// basketTables lists the tables of the branches that are read, equal ones in a row
// as one.
func (x *tree) basketTables(want []int) (tables []basketTable, total int64) {
	seen := map[*entries.Reading]bool{}
	use := func(r *entries.Reading) {
		if r == nil || seen[r] {
			return
		}
		seen[r] = true
		t := basketTable{r.Branch.Baskets.First, max(r.Branch.TotBytes, 1)}
		total += t.bytes
		if n := len(tables); n > 0 && slices.Equal(tables[n-1].first, t.first) {
			tables[n-1].bytes += t.bytes
			return
		}
		tables = append(tables, t)
	}
	for _, i := range want {
		use(x.columns[i].reading)
		use(x.columns[i].reading.Counts)
		use(x.columns[i].reading.Each)
	}
	return tables, total
}

// intersect returns the entries of both ascending lists.
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

// inside is how many entries are read at a time between far borders: so many that
// the baskets at both ends, which are decoded twice, are at most half of it.
func (x *tree) inside(want []int) int64 {
	perEntry, baskets := 0.0, 0.0
	seen := map[*entries.Reading]bool{}
	for _, i := range want {
		f := &x.list[i]
		bytes := float64(f.bytes)
		if f.Levels == 0 {
			bytes = float64(f.ElemBytes()) * float64(x.t.Entries)
		}
		perEntry += bytes / float64(x.t.Entries)
		if r := x.columns[i].reading; !seen[r] {
			seen[r] = true
			baskets += float64(max(r.Branch.TotBytes, 0)) / float64(max(r.Branch.Baskets.Len(), 1))
		}
	}
	return int64(min(max(max(insideBytes, 2*baskets)/max(perEntry, 1e-9), 1), math.MaxInt32))
}

func (x *tree) describe() []string {
	t := x.t
	lines := []string{fmt.Sprintf("%s: %s with %s, %s, %s compressed to %s", t.Path, t.Class, many(t.Entries, "entry", "entries"), many(len(t.All), "branch", "branches"),
		shardify.FormatSize(t.TotBytes), shardify.FormatSize(t.ZipBytes))}
	baskets := 0
	for _, b := range t.All {
		baskets += b.Baskets.Len()
	}
	lines = append(lines, fmt.Sprintf("%s: %s, compression %s", t.Path, many(baskets, "basket", "baskets"), algorithm(x.f.Compress/100)))
	if n := len(x.borders(x.all()).At); n > 0 {
		lines = append(lines, fmt.Sprintf("%s: %s, at whose ends the branches are cut", t.Path, many(n+1, "cluster", "clusters")))
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

// many writes a count with its noun.
func many[T int | int64](n T, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
