package entries

import (
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// Column describes one flat column that a branch, or a part of one, becomes.
type Column struct {
	// Name in the branch: empty if the branch is the column, else what follows its
	// name and a dot.
	Name   string
	DType  shardify.DType
	Shape  []int
	Levels int
	// Deep: there is one level more, the second, in the column behind: Lists holds the
	// lengths of its lists, and the values here are those of all lists of an entry.
	Deep, Lists bool
	Media       string
	Type        string // in C++, for people
	// Unreadable is why there are no values; "" if there are.
	Unreadable string
	// Err is the damage because of which there are no values; nil if their form is not supported.
	Err error
}

func (c *Column) elemBytes() int {
	n := c.DType.Size()
	for _, d := range c.Shape {
		n *= d
	}
	return n
}

// layout is the shape of a branch's entries.
type layout uint8

const (
	layoutNone    layout = iota
	layoutFlat           // records of fixed width
	layoutJagged         // head bytes, then values up to the end of the entry
	layoutProgram        // steps
)

// Reading is how the entries of one branch become columns.
type Reading struct {
	Branch  *ttree.Branch
	Columns []Column
	// Counts is the reading with the number of elements of each entry, nil if the entries
	// hold it themselves. Columns then share its lists.
	Counts *Reading
	// CountsColumn is the column of Counts that has them.
	CountsColumn int
	// Each is the reading with the number of values in each of those elements, nil if the
	// elements hold it themselves. It has the same Counts, and one column.
	Each *Reading
	// Hidden: the branch has but counts, which are no column of their own.
	Hidden bool
	// Risky: only the bytes show whether the recipe is right, see Try.
	Risky bool

	layout layout
	fields []flatField // of layoutFlat by column; of layoutJagged the one
	width  int         // of a record of layoutFlat
	head   int         // bytes before the values of layoutJagged: 0, 1 or 10
	steps  []step
	slots  int
	bare   bool // text alone in its branch: an empty one takes no bytes
	count  countRef
	each   countRef
}

// flatField is the place of a column's values in a record.
type flatField struct {
	wire wire.Wire
	at   int // bytes from the start of the record
	per  int // values per element
}

// countRef names where counts come from, until all branches are interpreted.
type countRef struct {
	branch *ttree.Branch
	leaf   string
	// must: without the counts the branch cannot be read.
	must bool
}

// Interpret says for every branch of a tree, in file order, how it is read. A
// branch that is only a group has no columns.
func Interpret(t *ttree.Tree, infos *rfile.Infos) []*Reading {
	settle(t)
	all := make([]*Reading, len(t.All))
	for i, b := range t.All {
		all[i] = interpret(b, infos)
	}
	for _, r := range all {
		if c := r.count.branch; c != nil && c.Tree == t && c.Index < len(all) {
			r.resolve(all[c.Index])
		} else if r.count.must {
			r.refuse("", "the branch with its counts is missing")
		}
	}
	for _, r := range all {
		r.resolveEach(all)
	}
	return all
}

// settle corrects the tree's count of entries, which is only a counter, if all
// branches agree on another.
func settle(t *ttree.Tree) {
	end := int64(-1)
	for _, b := range t.All {
		if b.Err != nil || b.Baskets.Len() == 0 {
			continue
		}
		if b.End == t.Entries || end >= 0 && b.End != end {
			return
		}
		end = b.End
	}
	if end >= 0 {
		t.Entries = end
	}
}

// resolve finds the column with the counts of r.
func (r *Reading) resolve(from *Reading) {
	for i := range from.Columns {
		c := &from.Columns[i]
		if c.Unreadable == "" && c.Levels == 0 && len(c.Shape) == 0 && (c.DType.IsInt()) && from.layout == layoutFlat &&
			(from.Hidden || len(from.Columns) == 1 || c.Name == r.count.leaf) {
			r.Counts, r.CountsColumn = from, i
			return
		}
	}
	if r.count.must {
		r.refuse("", fmt.Sprintf("its counts, branch %s, cannot be read", from.Branch.Path))
	}
}

// resolveEach finds the reading with the number of values in each element of r.
func (r *Reading) resolveEach(all []*Reading) {
	if !r.each.must {
		return
	}
	c := r.each.branch
	if c == nil || c.Tree != r.Branch.Tree || c.Index >= len(all) {
		r.refuse("", fmt.Sprintf("the branch with its counts, %s, is missing", r.each.leaf))
		return
	}
	from := all[c.Index]
	if from.layout != layoutJagged || from.Counts == nil || from.Counts != r.Counts || len(from.Columns) != 1 || len(from.Columns[0].Shape) > 0 || !from.Columns[0].DType.IsInt() {
		r.refuse("", fmt.Sprintf("its counts, branch %s, cannot be read", c.Path))
		return
	}
	r.Each = from
}

// refuse makes the whole branch unreadable.
func (r *Reading) refuse(typ, reason string) {
	*r = Reading{Branch: r.Branch, Columns: []Column{{Type: typ, Unreadable: reason}}}
}

// damaged makes the whole branch unreadable because of damage.
func (r *Reading) damaged(typ string, err error) {
	r.refuse(typ, format.Reason(err))
	if errors.Is(err, shardify.ErrCorrupt) {
		r.Columns[0].Err = err
	}
}

func interpret(b *ttree.Branch, infos *rfile.Infos) *Reading {
	r := &Reading{Branch: b}
	switch {
	case b.Err != nil:
		r.damaged(b.ClassName, b.Err)
	case b.IsElement():
		r.element(infos)
	case b.Class == "TBranchObject":
		r.object(infos)
	case len(b.Leaves) == 0 && len(b.Children) > 0:
	case b.Class != "TBranch":
		r.refuse(b.ClassName, "branch of class "+b.Class)
	default:
		r.leaves()
	}
	if r.layout == layoutNone && len(r.Columns) == 0 {
		return r
	}
	switch {
	case r.layout == layoutNone:
	case b.FileName != "":
		r.refuse("", "its baskets are in another file, "+b.FileName)
	case b.First != 0 || b.End != b.Tree.Entries:
		r.refuse("", fmt.Sprintf("it has the entries [%d, %d) of the tree's %d", b.First, b.End, b.Tree.Entries))
	}
	return r
}

// program makes r one of steps, or of something quicker if they are simple.
func (r *Reading) program(b *builder, steps []step) {
	r.Columns, r.steps, r.slots = b.cols, steps, len(b.slots)
	r.layout = layoutProgram
	r.Risky = risky(steps)
	if len(steps) != 1 || len(r.Columns) != 1 || r.Columns[0].Unreadable != "" {
		return
	}
	switch s := &steps[0]; {
	case (s.op == opValues || s.op == opCount) && r.Columns[0].Levels == 0:
		r.layout = layoutFlat
		r.width = s.wire.Size * s.n
		r.fields = []flatField{{wire: s.wire, per: s.n}}
	case (s.op == opValues || s.op == opCount) && r.Columns[0].Levels == 1 && r.count.must:
		r.layout = layoutJagged
		r.fields = []flatField{{wire: s.wire, per: s.n}}
	case s.op == opCounted && s.level == 0:
		r.layout, r.head = layoutJagged, 1
		r.fields = []flatField{{wire: s.wire, per: s.n}}
	case s.op == opCollection && s.n == 0 && s.level == 0 && len(s.kids) == 1 && s.kids[0].op == opValues && !s.splits:
		r.layout, r.head = layoutJagged, vectorHead
		r.fields = []flatField{{wire: s.kids[0].wire, per: s.kids[0].n}}
		r.Risky = false
	}
}

// vectorHead is the bytes before the values of a vector: byte count, version,
// number of values.
const vectorHead = 10

// risky reports whether steps follow a description that may be of other bytes.
func risky(steps []step) bool {
	for i := range steps {
		switch s := &steps[i]; s.op {
		case opObject, opFrame, opSlot, opCounted, opTObject, opRepeat, opTogether, opClass:
			return true
		case opCollection:
			if s.splits || s.n > 0 || risky(s.kids) {
				return true
			}
		case opColumn, opList:
			if risky(s.kids) {
				return true
			}
		}
	}
	return len(steps) > 1
}

// Bytes estimates the decoded size of column i in the whole branch.
func (r *Reading) Bytes(i int) int64 {
	c := &r.Columns[i]
	if c.Levels == 0 {
		return r.Branch.Entries() * int64(c.elemBytes())
	}
	n := r.Branch.TotBytes
	for _, size := range r.Branch.Baskets.Bytes { // stored as it is, and never less
		n = max(n, int64(size))
	}
	// Keys, offsets and heads of entries are no values.
	n -= int64(r.Branch.Baskets.Len())*100 + r.Branch.Entries()*int64(r.head)
	if r.Branch.IOBits == 0 {
		n -= 4 * r.Branch.Entries()
	}
	n = max(n, 0)
	if len(r.fields) == 1 {
		n = n / int64(r.fields[0].wire.Size) * int64(r.fields[0].wire.Bytes())
	}
	readable := int64(0)
	for j := range r.Columns {
		if r.Columns[j].Unreadable == "" {
			readable++
		}
	}
	return max(n, 0) / max(readable, 1)
}
