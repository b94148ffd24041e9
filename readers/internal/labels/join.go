package labels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/storage"
)

// By is a kind of name that samples have.
type By int

// The kinds of names, in the order in which Join tries them: cats/0001.jpg,
// cats/0001, 0001.jpg, 0001.
const (
	ByPath By = iota
	ByStem
	ByBase
	ByBaseStem
	kinds
)

// String names the kind for people.
func (b By) String() string {
	return [...]string{"path", "path without its extension", "file name", "file name without its extension"}[b]
}

// Names gives do all names that sample k has of a kind: paths with slashes below the
// input. The bytes are do's during the call.
type Names func(k int, by By, do func(name []byte))

// Joined is tables in the order of the samples.
type Joined struct {
	Values *Values
	Left   []format.Leftover
	Notes  []string
	// Kept are the samples that are left, if some are not.
	Kept []bool
}

// JoinAll joins tables to samples. missing says what becomes of rows without a sample and samples
// without rows: fail, drop or fill. Many values go to a file in scratch; nil is the system's temporary folder.
func JoinAll(tables []*Table, samples int, names Names, missing string, scratch storage.Store) (*Joined, error) {
	out := &Joined{}
	var all []*joined
	for _, t := range tables {
		j, err := t.join(samples, t.scoped(names))
		if err != nil {
			return nil, err
		}
		if missing == "fail" && t.lacks != nil {
			return nil, shardify.Mismatch("%s; --missing fill writes missing values", t.lacks[0])
		}
		out.Notes = append(out.Notes, t.notes(j.by)...)
		if missing == "fail" && (j.bare.Count > 0 || j.unused.Count > 0) {
			return nil, j.unmatched()
		}
		if j.unused.Count > 0 {
			out.Left = append(out.Left, format.Leftover{Name: j.unused.First[0], Reason: "rows of labels for no sample (--missing " + missing + ")", Count: j.unused.Count, Unit: "row"})
		}
		switch {
		case j.bare.Count == 0:
		case missing == "drop":
			out.Left = append(out.Left, format.Leftover{Name: j.bare.First[0], Reason: "samples without labels (--missing drop)", Count: j.bare.Count, Unit: "sample"})
			if out.Kept == nil {
				out.Kept = slices.Repeat([]bool{true}, samples)
			}
			for k, row := range j.order {
				out.Kept[k] = out.Kept[k] && row != j.none()
			}
		case t.spec.rows == rowsMany:
			out.Notes = append(out.Notes, fmt.Sprintf("%s without a row in %s: empty lists (--missing fill)", j.bare.of("sample", "samples"), t.File))
		}
		all = append(all, j)
	}
	if out.Kept != nil && !slices.Contains(out.Kept, true) {
		return nil, shardify.Mismatch("no sample has labels: nothing is left by --missing drop")
	}
	for _, j := range all {
		if out.Kept != nil {
			k := -1
			j.order = slices.DeleteFunc(j.order, func(int32) bool { k++; return !out.Kept[k] })
		}
		samples = len(j.order)
	}
	var err error
	out.Values, err = gather(all, samples, scratch)
	return out, err
}

// joined is the rows that samples have in a table.
type joined struct {
	by By
	// bare are samples without labels; they are marked as missing. unused are names of
	// rows that no sample has, and how many.
	bare   Listed
	unused Listed
	order  []int32 // rows of the samples; that behind the last one has no values
	table  *Table
}

// none is the row without values.
func (j *joined) none() int32 { return int32(j.table.rows.Rows) }

// unmatched is the error about names on either side.
func (j *joined) unmatched() error {
	text := fmt.Sprintf("joined by %s", j.by)
	if j.bare.Count > 0 {
		text += fmt.Sprintf("; samples without labels: %s", j.bare.String())
	}
	if j.unused.Count > 0 {
		text += fmt.Sprintf("; labels without a sample: %s", j.unused.String())
	}
	as := "as missing values"
	if j.table.spec.rows == rowsMany {
		as = "with empty lists"
	}
	text += "; --missing drop leaves both out, --missing fill writes samples without labels " + as
	return shardify.Annotate(shardify.Mismatch("%s", text), "read", j.table.File, j.table.Key)
}

// Listed counts what it has examples of.
type Listed struct {
	Count int64
	First []string
}

const shown = 5

func (l *Listed) add(name func() string) {
	if l.Count++; len(l.First) < shown {
		l.First = append(l.First, name())
	}
}

// of says "3 samples (a, b, c)".
func (l *Listed) of(one, many string) string {
	if l.Count != 1 {
		one = many
	}
	return strings.Replace(l.String(), " ", " "+one+" ", 1)
}

// String says "3 (a, b, c)".
func (l *Listed) String() string {
	more := ""
	if l.Count > int64(len(l.First)) {
		more = ", ..."
	}
	return fmt.Sprintf("%d (%s%s)", l.Count, strings.Join(l.First, ", "), more)
}

// join finds the row of each sample, by the kind of name under which most are found.
func (t *Table) join(samples int, names Names) (*joined, error) {
	if t.order != nil {
		return &joined{order: t.order, table: t}, nil
	}
	var best *rowsBy
	for by := range kinds {
		x, err := t.find(by, samples, names)
		if err != nil {
			return nil, err
		}
		if best == nil || x.found > best.found {
			best = x
		}
		if x.found == samples {
			break
		}
	}
	return t.joinBy(best, names)
}

// rowsBy is the rows that samples have by one kind of name.
type rowsBy struct {
	by    By
	order []int32 // by sample
	found int
	two   int // the first sample with several rows, -1 without one
}

// findAtOnce is how many samples are looked for at once.
const findAtOnce = 4096

// find looks for the rows of all samples.
func (t *Table) find(by By, samples int, names Names) (*rowsBy, error) {
	none := int32(t.rows.Rows)
	x := &rowsBy{by: by, order: make([]int32, samples), two: -1}
	pool := shardify.NewPool(1 << 20)
	var keys key.Column
	var owner []int
	for k := 0; k < samples; {
		keys.Data, keys.Ends, owner = keys.Data[:0], append(keys.Ends[:0], 0), owner[:0]
		for end := min(k+findAtOnce, samples); k < end; k++ {
			x.order[k] = none
			names(k, by, func(name []byte) {
				keys.Data = append(keys.Data, name...)
				keys.Ends, owner = append(keys.Ends, int64(len(keys.Data))), append(owner, k)
			})
		}
		mem := pool.Overdraft()
		f, err := t.rows.Find(&keys, len(owner), nil, nil, mem)
		if err != nil {
			mem.Release()
			return nil, err
		}
		for i, row := range f.Rows {
			at := &x.order[owner[i]]
			switch {
			case row == none:
			case *at == none:
				*at = row
				x.found++
			case *at != row && x.two < 0:
				x.two = owner[i]
			}
		}
		mem.Release()
	}
	return x, nil
}

// joinBy joins by one kind of name.
func (t *Table) joinBy(x *rowsBy, names Names) (*joined, error) {
	if x.two >= 0 {
		return nil, shardify.Mismatch("sample %s has several rows: its files are named by more than one", nameOf(x.two, names))
	}
	j := &joined{by: x.by, order: x.order, table: t}
	none := int32(t.rows.Rows)
	taken := make([]int32, none) // by sample+1
	var doubled Listed
	for k, row := range x.order {
		switch {
		case row == none:
			j.bare.add(func() string { return nameOf(k, names) })
		case taken[row] > 0:
			doubled.add(func() string {
				return fmt.Sprintf("%s for %s and %s", t.names.Text(int(row)), nameOf(int(taken[row])-1, names), nameOf(k, names))
			})
		default:
			taken[row] = int32(k) + 1
		}
	}
	if doubled.Count > 0 {
		return nil, shardify.Mismatch("rows that are of several samples by %s: %s; names with their folders distinguish them", x.by, doubled.String())
	}
	for row, s := range taken {
		if s == 0 {
			j.unused.add(func() string { return string(t.names.Text(row)) })
			j.unused.Count += t.rowsOf(row) - 1
		}
	}
	j.unused.Count += t.strays.Count
	j.unused.First = append(j.unused.First, t.strays.First...)
	return j, nil
}

// nameOf is what a sample is called in errors.
func nameOf(k int, names Names) string {
	text := ""
	names(k, ByStem, func(name []byte) {
		if text == "" {
			text = fmt.Sprintf("%.120q", name)
		}
	})
	return text
}
