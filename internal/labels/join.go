package labels

import (
	"fmt"
	"path"
	"strings"

	"github.com/shardify/shardify"
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

// Joined is a table in the order of the samples.
type Joined struct {
	Columns []Column
	By      By
	// Bare are samples without labels; they are marked as missing. Unused are names of
	// rows that no sample has, and how many.
	Bare   Listed
	Unused Listed
	has    []bool
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

// Of says "3 samples (a, b, c)".
func (l *Listed) Of(one, many string) string {
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

// Join finds the row of each sample, by the kind of name under which most are found.
func (t *Table) Join(samples int, names Names) (*Joined, error) {
	rows, err := t.index()
	if err != nil {
		return nil, err
	}
	best, most := ByPath, -1
	for by := range kinds {
		n := 0
		for k := range samples {
			if row, _ := find(rows, k, by, names); row >= 0 {
				n++
			}
		}
		if n > most {
			best, most = by, n
		}
		if n == samples {
			break
		}
	}
	return t.by(best, samples, names, rows)
}

// find returns the row of a sample, or -1; two are reported as such.
func find(rows map[string]int32, k int, by By, names Names) (row int32, two bool) {
	row = -1
	names(k, by, func(name []byte) {
		r, ok := rows[string(name)]
		if !ok {
			return
		}
		two = two || row >= 0 && row != r
		row = r
	})
	return row, two
}

// by joins by one kind of name.
func (t *Table) by(by By, samples int, names Names, rows map[string]int32) (*Joined, error) {
	j := &Joined{By: by, has: make([]bool, samples)}
	order := make([]int32, samples)
	taken := make([]int32, len(t.keys)) // by sample+1
	var doubled Listed
	for k := range samples {
		row, two := find(rows, k, by, names)
		order[k], j.has[k] = row, row >= 0
		switch {
		case row < 0:
			j.Bare.add(func() string { return nameOf(k, names) })
		case two:
			return nil, shardify.Mismatch("sample %s has several rows: its files are named by more than one", nameOf(k, names))
		case taken[row] > 0:
			doubled.add(func() string {
				return fmt.Sprintf("%s for %s and %s", t.keys[row], nameOf(int(taken[row])-1, names), nameOf(k, names))
			})
		default:
			taken[row] = int32(k) + 1
		}
	}
	if doubled.Count > 0 {
		return nil, shardify.Mismatch("rows that are of several samples by %s: %s; names with their folders tell them apart", by, doubled.String())
	}
	for row, s := range taken {
		if s == 0 {
			j.Unused.add(func() string { return t.keys[row] })
		}
	}
	for i := range t.Columns {
		j.Columns = append(j.Columns, t.Columns[i].pick(order))
	}
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

// index finds rows by name, without what says nothing about it.
func (t *Table) index() (map[string]int32, error) {
	rows := make(map[string]int32, len(t.keys))
	var twice Listed
	for i, key := range t.keys {
		name := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(key, "\\", "/")), "/")
		if _, ok := rows[name]; ok {
			twice.add(func() string { return fmt.Sprintf("%.80q", key) })
			continue
		}
		rows[name] = int32(i)
	}
	if twice.Count > 0 {
		return nil, shardify.Annotate(shardify.Mismatch("names that stand in several rows: %s", twice.String()), "read", t.File, t.Key)
	}
	return rows, nil
}

// pick takes the rows of the samples; -1 is a missing one.
func (c *Column) pick(order []int32) Column {
	out := Column{Field: c.Field}
	out.Field.Nullable = false
	for k, row := range order {
		if row < 0 || c.missing != nil && c.missing[row] {
			out.mark(k, len(order))
		}
		switch {
		case row < 0 && c.ints != nil:
			out.ints = append(out.ints, 0)
		case row < 0 && c.floats != nil:
			out.floats = append(out.floats, 0)
		case row < 0:
			out.texts = append(out.texts, "")
		case c.ints != nil:
			out.ints = append(out.ints, c.ints[row])
		case c.floats != nil:
			out.floats = append(out.floats, c.floats[row])
		default:
			out.texts = append(out.texts, c.texts[row])
		}
	}
	return out
}

// Has tells whether sample k has labels.
func (j *Joined) Has(k int) bool { return j.has[k] }

// Keep leaves only the samples that have labels.
func (j *Joined) Keep() {
	var order []int32
	for k, ok := range j.has {
		if ok {
			order = append(order, int32(k))
		}
	}
	for i := range j.Columns {
		j.Columns[i] = j.Columns[i].pick(order)
	}
}
