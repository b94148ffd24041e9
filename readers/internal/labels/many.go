package labels

import (
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
)

// groups are the rows of each name.
type groups struct {
	first  []int32 // rows by name, in the order in which the names occur
	starts []int64 // in order, by name
	order  []int32 // the rows, by name; those of a name as in the table
}

// group finds the rows of each name.
func group(names *shardify.Column, rows int) (*groups, error) {
	if rows >= math.MaxInt32 {
		return nil, shardify.Unsupported("a table of %d rows; at most %d are joined", rows, math.MaxInt32-1)
	}
	g := &groups{}
	of := make([]int32, rows) // names by row
	known := map[string]int32{}
	o := names.Offsets[0]
	for i := range of {
		text := names.Data[o[i]:o[i+1]]
		n, ok := known[string(text)]
		if !ok {
			n = int32(len(g.first))
			known[string(text)] = n
			g.first = append(g.first, int32(i))
		}
		of[i] = n
	}
	g.starts = make([]int64, len(g.first)+1)
	for _, n := range of {
		g.starts[n+1]++
	}
	for n := range g.first {
		g.starts[n+1] += g.starts[n]
	}
	next := slices.Clone(g.starts)
	g.order = make([]int32, rows)
	for i, n := range of {
		g.order[next[n]] = int32(i)
		next[n]++
	}
	return g, nil
}

// several makes a table of names that occur several times, as rows= says. It returns the names and
// the columns, and how many names there are.
func (t *Table) several(names *shardify.Column, cols []shardify.Column, rows int) (shardify.Column, []shardify.Column, int, error) {
	if t.spec.rows == rowsOne {
		return *names, cols, rows, nil
	}
	g, err := group(names, rows)
	if err != nil {
		return *names, nil, 0, err
	}
	n := len(g.first)
	if t.names, err = take1(&shardify.Column{Field: names.Field, Data: t.names.Data, Offsets: [][]int64{t.names.Ends}}, g.first); err != nil {
		return *names, nil, 0, err
	}
	keys, err := takeAll([]shardify.Column{*names}, rows, g.first)
	if err != nil {
		return *names, nil, 0, err
	}
	if t.spec.rows == rowsFirst {
		if rows > n {
			t.Left = append(t.Left, format.Leftover{Name: t.File, Reason: "rows of a name that an earlier row has (rows=first)", Count: int64(rows - n), Unit: "row"})
		}
		cols, err = takeAll(cols, rows, g.first)
		return keys[0], cols, n, err
	}
	cols = t.wanted(cols)
	for i := range cols {
		if cols[i], err = t.list(&cols[i], names, rows, g); err != nil {
			return *names, nil, 0, err
		}
	}
	return keys[0], cols, n, nil
}

// wanted leaves out columns that are not wanted, whose missing values are no error. One stays, which counts
// the rows.
func (t *Table) wanted(cols []shardify.Column) (out []shardify.Column) {
	if t.want == nil {
		return cols
	}
	for i := range cols {
		if t.want(cols[i].Name) {
			out = append(out, cols[i])
		} else {
			t.Unread = append(t.Unread, cols[i].Name)
		}
	}
	if len(out) == 0 {
		out, t.Unread = cols[:1], t.Unread[1:]
	}
	return out
}

// rowsOf is how many rows of the file a row of the table is.
func (t *Table) rowsOf(row int) int64 {
	if t.spec.rows != rowsMany {
		return 1
	}
	o := t.rows.Cols[0].Offsets[0]
	return o[row+1] - o[row]
}

// list makes lists of a column: the values of each name.
func (t *Table) list(c, names *shardify.Column, rows int, g *groups) (shardify.Column, error) {
	for i, ok := range c.Valid {
		if ok != 0 {
			continue
		}
		if !t.fill && (t.want == nil || t.want(c.Name)) {
			name := names.Data[names.Offsets[0][i]:names.Offsets[0][i+1]]
			err := shardify.Unsupported("%s of row %d, of %.120q, is missing, which no list can express", c.Name, i, name)
			return *c, format.Cure(err, format.With(optLabels.Name, t.replace("null-items=fill"), "NaN, 0 or an empty value in its place"))
		}
		if c.Levels > 0 {
			continue // empty
		}
		from, to := c.Range(i, i+1)
		if clear(c.Data[from:to]); c.DType == shardify.F64 {
			for k := range shardify.View[float64](c.Data[from:to]) {
				shardify.View[float64](c.Data[from:to])[k] = math.NaN()
			}
		}
	}
	c.Valid = nil
	out := *c
	if !slices.IsSorted(g.order) {
		all, err := takeAll([]shardify.Column{*c}, rows, g.order)
		if err != nil {
			return *c, err
		}
		out = all[0]
	}
	*c = shardify.Column{} // its memory is free now
	out.Levels++
	out.Counter, out.Nullable, out.Valid = t.spec.counter, false, nil
	out.Offsets = append([][]int64{g.starts}, out.Offsets...)
	return out, nil
}

// takeAll takes rows of columns.
func takeAll(cols []shardify.Column, rows int, order []int32) ([]shardify.Column, error) {
	b := shardify.Batch{Samples: rows, Columns: cols}
	return b.TakeColumns(order, shardify.NewPool(1).Overdraft()) // which stays
}

// take1 takes texts.
func take1(c *shardify.Column, order []int32) (key.Column, error) {
	cols, err := takeAll([]shardify.Column{*c}, len(c.Offsets[0])-1, order)
	if err != nil {
		return key.Column{}, fmt.Errorf("names of labels: %w", err)
	}
	return key.Column{Data: cols[0].Data, Ends: cols[0].Offsets[0]}, nil
}
