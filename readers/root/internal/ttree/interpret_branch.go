package ttree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// Column describes one flat column that a branch, or a part of one, becomes.
type Column struct {
	// Name in the branch: empty if the branch is the column, else what follows its
	// name and a dot.
	Name   string
	DType  shardify.DType
	Shape  []int
	Levels int
	Media  string
	Type   string // in C++, for people
	// Unreadable is why there are no values; "" if there are.
	Unreadable string
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
	Branch  *Branch
	Columns []Column
	// Counts is the reading with the number of elements of each entry, nil if the
	// entries tell. Columns then share its lists.
	Counts *Reading
	// CountsColumn is the column of Counts that has them.
	CountsColumn int
	// Hidden: the branch has but counts, which are no column of their own.
	Hidden bool
	// Risky: only the bytes tell whether the recipe is right, see Try.
	Risky bool

	layout layout
	fields []flatField // of layoutFlat by column; of layoutJagged the one
	width  int         // of a record of layoutFlat
	head   int         // bytes before the values of layoutJagged: 0, 1 or 10
	steps  []step
	slots  int
	bare   bool // text alone in its branch: an empty one takes no bytes
	count  countRef
}

// flatField is the place of a column's values in a record.
type flatField struct {
	wire wire
	at   int // bytes from the start of the record
	per  int // values per element
}

// countRef names where counts come from, until all branches are interpreted.
type countRef struct {
	branch *Branch
	leaf   string
	// must: without the counts the branch cannot be read.
	must bool
}

// Interpret says for every branch of a tree, in file order, how it is read. A
// branch that is only a group has no columns.
func (t *Tree) Interpret(infos *rfile.Infos) []*Reading {
	all := make([]*Reading, len(t.All))
	for i, b := range t.All {
		all[i] = b.interpret(infos)
	}
	for _, r := range all {
		if c := r.count.branch; c != nil && c.Tree == t && c.Index < len(all) {
			r.resolve(all[c.Index])
		} else if r.count.must {
			r.refuse("", "the branch with its counts is missing")
		}
	}
	return all
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

// refuse makes the whole branch unreadable.
func (r *Reading) refuse(typ, reason string) {
	*r = Reading{Branch: r.Branch, Columns: []Column{{Type: typ, Unreadable: reason}}}
}

func (b *Branch) interpret(infos *rfile.Infos) *Reading {
	r := &Reading{Branch: b}
	switch {
	case b.Err != nil:
		r.refuse(b.ClassName, b.Err.Error())
	case b.IsElement():
		r.element(infos)
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

// leafWire is the wire of a leaf by its class.
func leafWire(l *Leaf) (wire, string, bool) {
	signed := map[string]shardify.DType{"TLeafB": shardify.I8, "TLeafS": shardify.I16, "TLeafI": shardify.I32, "TLeafL": shardify.I64, "TLeafG": shardify.I64}
	unsigned := map[string]shardify.DType{"TLeafB": shardify.U8, "TLeafS": shardify.U16, "TLeafI": shardify.U32, "TLeafL": shardify.U64, "TLeafG": shardify.U64}
	switch l.Class {
	case "TLeafO":
		return plain(shardify.Bool), "bool", true
	case "TLeafF":
		return plain(shardify.F32), "float", true
	case "TLeafD":
		return plain(shardify.F64), "double", true
	case "TLeafF16":
		return packed(l.Title, false), "Float16_t", true
	case "TLeafD32":
		return packed(l.Title, true), "Double32_t", true
	}
	t, ok := signed[l.Class]
	if l.IsUnsigned {
		t = unsigned[l.Class]
	}
	return plain(t), t.String(), ok
}

// leafShape is the constant dimensions in a leaf's title.
func leafShape(title string, length int) []int {
	var shape []int
	n := 1
	for rest := title; ; {
		i := strings.IndexByte(rest, '[')
		j := strings.IndexByte(rest, ']')
		if i < 0 || j < i {
			break
		}
		if d, err := strconv.Atoi(rest[i+1 : j]); err == nil && d > 0 && d <= maxRepeat/n {
			shape = append(shape, d)
			n *= d
		}
		rest = rest[j+1:]
	}
	switch {
	case n == length:
		return shape
	case length > 1:
		return []int{length}
	}
	return nil
}

// leaves interprets a plain branch.
func (r *Reading) leaves() {
	b := r.Branch
	if len(b.Leaves) == 0 {
		r.refuse("", "branch without leaves")
		return
	}
	fixed := true
	for _, l := range b.Leaves {
		if l.Len < 1 || l.Len > maxRepeat {
			r.refuse("", fmt.Sprintf("leaf %s of %d values", l.Name, l.Len))
			return
		}
		fixed = fixed && l.Count == nil && l.Class != "TLeafC"
	}
	switch {
	case fixed:
		r.flatLeaves()
	case len(b.Leaves) > 1:
		r.mixedLeaves()
	case b.Leaves[0].Class == "TLeafC":
		r.layout, r.bare = layoutProgram, true
		r.Columns = []Column{{DType: shardify.U8, Levels: 1, Media: "txt", Type: "char*"}}
		r.steps = []step{{op: opText, cols: []int{0}}}
	default:
		r.jaggedLeaf(b.Leaves[0])
	}
}

func (r *Reading) flatLeaves() {
	for _, l := range r.Branch.Leaves {
		w, typ, ok := leafWire(l)
		if !ok {
			r.refuse(l.Class, "leaf of class "+l.Class)
			return
		}
		c := Column{DType: w.dtype, Shape: leafShape(l.Title, l.Len), Type: typ}
		if len(r.Branch.Leaves) > 1 {
			c.Name = l.Name
		}
		r.Columns = append(r.Columns, c)
		r.fields = append(r.fields, flatField{wire: w, at: r.width, per: l.Len})
		r.width += w.size * l.Len
	}
	r.layout = layoutFlat
}

func (r *Reading) jaggedLeaf(l *Leaf) {
	w, typ, ok := leafWire(l)
	if !ok {
		r.refuse(l.Class, "leaf of class "+l.Class)
		return
	}
	r.layout = layoutJagged
	r.Columns = []Column{{DType: w.dtype, Shape: leafShape(l.Title, l.Len), Levels: 1, Type: typ}}
	r.fields = []flatField{{wire: w, per: l.Len}}
	r.count = countRef{branch: l.Count.Branch, leaf: l.Count.Name}
}

// mixedLeaves interprets a leaf-list with parts of variable length.
func (r *Reading) mixedLeaves() {
	b := builder{}
	for _, l := range r.Branch.Leaves {
		if l.Class == "TLeafC" {
			r.steps = append(r.steps, b.text(opText, l.Name, 0, "char*"))
			continue
		}
		w, typ, ok := leafWire(l)
		if !ok {
			r.refuse(l.Class, "leaf of class "+l.Class)
			return
		}
		shape := leafShape(l.Title, l.Len)
		var s step
		if l.Count == nil {
			s = b.values(l.Name, w, shape, 0, typ)
			if len(shape) == 0 && w.dtype.IsInt() {
				s.op, s.slot = opCount, b.slot(l.Name)
			}
		} else {
			if l.Count.Branch != r.Branch {
				r.refuse(typ, "leaf-list with a length from another branch")
				return
			}
			s = b.values(l.Name, w, shape, 1, typ)
			s.op, s.slot = opSized, b.slot(l.Count.Name)
		}
		r.steps = append(r.steps, s)
	}
	r.program(&b, r.steps)
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
		r.width = s.wire.size * s.n
		r.fields = []flatField{{wire: s.wire, per: s.n}}
	case s.op == opValues && r.Columns[0].Levels == 1 && r.count.must:
		r.layout = layoutJagged
		r.fields = []flatField{{wire: s.wire, per: s.n}}
	case s.op == opCounted:
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

// risky tells whether steps follow a description that may be of other bytes.
func risky(steps []step) bool {
	for i := range steps {
		switch s := &steps[i]; s.op {
		case opObject, opFrame, opSlot, opCounted, opTObject, opRepeat, opTogether:
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

// element interprets a TBranchElement.
func (r *Reading) element(infos *rfile.Infos) {
	b := r.Branch
	bld := &builder{infos: infos}
	switch {
	case b.Type == 3 || b.Type == 4:
		r.Columns = []Column{{DType: shardify.I32, Type: "count"}}
		r.Hidden, r.layout, r.width = true, layoutFlat, 4
		r.fields = []flatField{{wire: plain(shardify.I32), per: 1}}
	case b.Type == 31 || b.Type == 41:
		r.count = countRef{branch: b.Counter, must: true}
		r.memberBranch(bld, 1, true)
	case b.Type == 1 || b.Type == 2 || b.Type == 0 && b.ID == -2:
		if b.Baskets.Len() > 0 && len(b.Children) == 0 && b.ID != -2 {
			r.memberBranch(bld, 0, false)
		}
	case b.Type == 0 && b.ID >= 0:
		if len(b.Children) > 0 && b.Baskets.Len() == 0 {
			return
		}
		r.memberBranch(bld, 0, false)
	case b.Type == 0 && b.ID == -1:
		if len(b.Children) > 0 && b.Baskets.Len() == 0 {
			return
		}
		r.whole(bld)
	case b.Type == -1 && isText(tidy(b.ClassName)):
		r.whole(bld)
	case b.Type == -1:
		r.refuse(b.ClassName, fmt.Sprintf("class %s with a streamer of its own", b.ClassName))
	default:
		r.refuse(b.ClassName, fmt.Sprintf("branch of type %d", b.Type))
	}
}

// whole interprets a branch that has objects, or collections, in one piece.
func (r *Reading) whole(bld *builder) {
	b := r.Branch
	class := tidy(strings.TrimSuffix(tidy(b.ClassName), "*"))
	var steps []step
	var err error
	switch {
	case isText(class):
		steps = []step{bld.text(opText, "", 0, class)}
		r.bare = true
	case strings.HasPrefix(class, "bitset<"), isCollection(class):
		var s step
		s, err = bld.collection(class, 0, "", 0, 0)
		steps = []step{s}
	default:
		switch class {
		case "TClonesArray", "TRefArray", "TObjArray", "TList":
			r.refuse(class, class+" that is not split")
			return
		}
		info := bld.infos.Find(class, b.ClassVersion, b.CheckSum)
		if info == nil {
			info = bld.infos.Latest(class)
		}
		if info == nil {
			r.refuse(class, "class "+class+" is not described in the file")
			return
		}
		steps, err = bld.members(info, "", 0, false)
	}
	r.build(bld, steps, err, class)
}

func isCollection(name string) bool { _, _, ok := itemOf(name); return ok }

// build takes over what the builder made, if it made anything.
func (r *Reading) build(bld *builder, steps []step, err error, typ string) {
	if err != nil {
		r.refuse(typ, err.Error())
		return
	}
	readable := false
	for i := range bld.cols {
		readable = readable || bld.cols[i].Unreadable == ""
	}
	if !readable {
		reason := "nothing in it has a flat form"
		if len(bld.cols) == 1 {
			reason = bld.cols[0].Unreadable
		}
		r.refuse(typ, reason)
		return
	}
	r.program(bld, steps)
}

// memberBranch interprets a branch that has one member of a class.
func (r *Reading) memberBranch(bld *builder, level int, apart bool) {
	b := r.Branch
	e := r.described(bld.infos)
	if e == nil {
		if e = r.guessed(); e == nil {
			r.refuse(b.ClassName, fmt.Sprintf("member %d of class %s is not described in the file", b.ID, b.ClassName))
			return
		}
	}
	plain := *e
	plain.Name = ""
	if level == 0 && e.CountName != "" {
		prefix := strings.TrimSuffix(stripDims(b.Name), e.Name)
		r.count = countRef{branch: b.sibling(prefix + e.CountName)}
	}
	steps, err := bld.member(&plain, "", level, apart, false)
	typ := e.TypeName
	r.build(bld, steps, err, typ)
}

// sibling finds the branch beside b with this name.
func (b *Branch) sibling(name string) *Branch {
	list := b.Tree.Branches
	if b.Parent != nil {
		list = b.Parent.Children
	}
	for _, s := range list {
		if stripDims(s.Name) == name && s != b {
			return s
		}
	}
	return nil
}

// stripDims takes "[10]" off the end of a branch's name.
func stripDims(name string) string {
	if i := strings.IndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		return name[:i]
	}
	return name
}

// described is the member in the streamer infos.
func (r *Reading) described(infos *rfile.Infos) *rfile.Element {
	b := r.Branch
	info := infos.Find(b.ClassName, b.ClassVersion, b.CheckSum)
	if info == nil {
		info = infos.Latest(b.ClassName)
	}
	if info == nil || b.ID < 0 || b.ID >= len(info.Elements) {
		return nil
	}
	e := &info.Elements[b.ID]
	last := stripDims(b.Name)
	last = last[strings.LastIndexByte(last, '.')+1:]
	if e.Name != last {
		// Numbers may be those of another version of the class.
		if other := info.Element(last); other != nil {
			return other
		}
	}
	return e
}

// guessed is the member by what the branch alone says.
func (r *Reading) guessed() *rfile.Element {
	b := r.Branch
	if len(b.Leaves) != 1 {
		return nil
	}
	l := b.Leaves[0]
	e := &rfile.Element{Name: b.Name, Title: l.Title, Type: b.StreamerType}
	switch t := b.StreamerType; {
	case t > 0 && t < 20 && l.Count == nil, t > 0 && t < 20 && (b.Type == 31 || b.Type == 41):
		return e
	case t > 20 && t < 40 && l.Len > 0 && l.Len <= maxRepeat:
		e.Len = l.Len
		for _, d := range leafShape(l.Title, l.Len) {
			e.Dims = append(e.Dims, int32(d))
		}
		return e
	case t == 365, t == 65:
		return e
	}
	return nil
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
	if len(r.fields) == 1 {
		n = n / int64(r.fields[0].wire.size) * int64(r.fields[0].wire.bytes())
	}
	readable := int64(0)
	for j := range r.Columns {
		if r.Columns[j].Unreadable == "" {
			readable++
		}
	}
	return max(n, 0) / max(readable, 1)
}
