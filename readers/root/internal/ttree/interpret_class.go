package ttree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// maxNesting bounds how deep types may contain each other.
const maxNesting = 24

// maxRepeat bounds fixed arrays: more is no member anybody has.
const maxRepeat = 1 << 24

// builder makes the recipe of one branch and the columns it gives.
type builder struct {
	infos *rfile.Infos
	cols  []Column
	slots []string // names of members that count others
	path  []string // classes on the way down, against classes in themselves
}

// errNoRecipe says why bytes cannot even be passed over.
type errNoRecipe string

func (e errNoRecipe) Error() string { return string(e) }

func noRecipe(format string, args ...any) error { return errNoRecipe(fmt.Sprintf(format, args...)) }

// maxLevels is what a field can have.
const maxLevels = 2

// column adds a column and returns its index.
func (b *builder) column(c Column) int {
	if c.Levels > maxLevels && c.Unreadable == "" {
		c.Unreadable = fmt.Sprintf("%d levels of variable length (at most %d)", c.Levels, maxLevels)
	}
	b.cols = append(b.cols, c)
	return len(b.cols) - 1
}

// values is the step of numbers, with a column of their own.
func (b *builder) values(name string, w wire, shape []int, level int, typ string) step {
	n := 1
	for _, d := range shape {
		n *= d
	}
	c := b.column(Column{Name: name, DType: w.dtype, Shape: shape, Levels: level, Type: typ})
	return step{op: opValues, wire: w, n: n, cols: []int{c}}
}

// text is the step of a string.
func (b *builder) text(o op, name string, level int, typ string) step {
	c := b.column(Column{Name: name, DType: shardify.U8, Levels: level + 1, Media: "txt", Type: typ})
	return step{op: o, level: level, cols: []int{c}}
}

// below lists the columns added since there were from.
func (b *builder) below(from int) []int {
	var list []int
	for i := from; i < len(b.cols); i++ {
		list = append(list, i)
	}
	return list
}

// unread adds a column that is only a reason, and drops those added since from.
func (b *builder) unread(from int, name, typ, reason string) {
	b.cols = b.cols[:from]
	b.column(Column{Name: name, Type: typ, Unreadable: reason})
}

// dims is the shape of a fixed array member.
func dims(e *rfile.Element) ([]int, error) {
	if e.Len <= 0 {
		return nil, nil
	}
	if e.Len > maxRepeat {
		return nil, noRecipe("array of %d values", e.Len)
	}
	n := 1
	var shape []int
	for _, d := range e.Dims {
		if d <= 0 || int(d) > maxRepeat/n {
			return []int{e.Len}, nil
		}
		n *= int(d)
		shape = append(shape, int(d))
	}
	if n != e.Len {
		return []int{e.Len}, nil
	}
	return shape, nil
}

// join makes the name of a member's column.
func join(name, member string) string {
	if name == "" {
		return member
	}
	return strings.TrimSuffix(name, ".") + "." + member
}

// members makes the steps of all members of a class, in order. apart is set when
// they are written member by member for many elements: then base classes have no
// frame.
func (b *builder) members(info *rfile.StreamerInfo, name string, level int, apart bool) ([]step, error) {
	for _, c := range b.path {
		if c == info.Name {
			return nil, noRecipe("class %s contains itself", info.Name)
		}
	}
	if len(b.path) >= maxNesting {
		return nil, noRecipe("types nested more than %d deep", maxNesting)
	}
	b.path = append(b.path, info.Name)
	defer func() { b.path = b.path[:len(b.path)-1] }()
	counts := map[string]bool{}
	for i := range info.Elements {
		if e := &info.Elements[i]; e.CountName != "" {
			counts[e.CountName] = true
		}
	}
	var steps []step
	for i := range info.Elements {
		e := &info.Elements[i]
		more, err := b.member(e, name, level, apart, counts[e.Name])
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// member makes the steps of one member or base class.
func (b *builder) member(e *rfile.Element, name string, level int, apart, counts bool) ([]step, error) {
	own := join(name, e.Name)
	switch {
	case e.Type == -1:
		return nil, nil
	case e.Class == "TStreamerBase" || e.Type == 0:
		return b.base(e, name, level, apart)
	}
	shape, err := dims(e)
	if err != nil {
		return nil, err
	}
	from := len(b.cols)
	switch t := e.Type; {
	case t == 15:
		s := b.values(own, plain(shardify.U32), nil, level, e.TypeName)
		s.op = opBits
		return []step{s}, nil
	case t == 7:
		return []step{b.text(opLongText, own, level, "char*")}, nil
	case t < 20:
		w, ok := coded(t, e.Title)
		if !ok {
			return nil, noRecipe("member %s of type code %d", e.Name, t)
		}
		s := b.values(own, w, nil, level, e.TypeName)
		if counts || t == 6 {
			s.op, s.slot = opCount, b.slot(e.Name)
		}
		return []step{s}, nil
	case t < 40:
		w, ok := coded(t-20, e.Title)
		if !ok {
			return nil, noRecipe("member %s of type code %d", e.Name, t)
		}
		if shape == nil {
			shape = []int{1}
		}
		return []step{b.values(own, w, shape, level, e.TypeName)}, nil
	case t < 60:
		w, ok := coded(t-40, e.Title)
		if !ok {
			return nil, noRecipe("member %s of type code %d", e.Name, t)
		}
		s := b.values(own, w, shape, level+1, e.TypeName)
		s.op, s.level, s.slot = opCounted, level, b.slot(e.CountName)
		return []step{s}, nil
	case t == 64 || t == 69:
		b.unread(from, own, e.TypeName, "pointer to an object")
		return []step{{op: opSlot}}, nil
	case t == 65 || t == 66 || t == 67 || t == 61 || t == 62 || t == 63 || t == 68:
		s, err := b.object(e.TypeName, e.Type, own, level)
		return []step{s}, err
	case t >= 81 && t <= 87:
		return b.array(e, own, level)
	case e.Class == "TStreamerSTLstring" || e.STLType == 365 || t == 365 || (t == 500 && isText(tidy(e.TypeName))):
		return []step{{op: opColumn, kids: []step{b.text(opText, own, level, e.TypeName)}}}, nil
	case e.Class == "TStreamerSTL":
		s, err := b.collection(strings.TrimSuffix(tidy(e.TypeName), "*"), e.CType, own, level, e.Len)
		return []step{s}, err
	default: // custom streamers and counted objects have a frame
		b.unread(from, own, e.TypeName, fmt.Sprintf("member of type %s with a streamer of its own", e.TypeName))
		return []step{{op: opFrame}}, nil
	}
}

// slot is the number of the counts with this name.
func (b *builder) slot(name string) int {
	for i, s := range b.slots {
		if s == name {
			return i
		}
	}
	b.slots = append(b.slots, name)
	return len(b.slots) - 1
}

// base makes the steps of a base class.
func (b *builder) base(e *rfile.Element, name string, level int, apart bool) ([]step, error) {
	switch e.Name {
	case "TObject":
		return []step{{op: opTObject}}, nil
	case "TNamed":
		if !apart {
			s, err := b.object("TNamed", 67, name, level)
			return []step{s}, err
		}
	}
	info := b.infos.Find(e.Name, e.BaseVersion, 0)
	if info == nil {
		info = b.infos.Latest(e.Name)
	}
	if info == nil {
		if item, _, ok := itemOf(tidy(e.Name)); ok && item != "" {
			s, err := b.collection(tidy(e.Name), 0, name, level, 0)
			return []step{s}, err
		}
		if apart {
			return nil, noRecipe("base class %s is not described in the file", e.Name)
		}
		b.column(Column{Name: join(name, e.Name), Type: e.Name, Unreadable: "base class is not described in the file"})
		return []step{{op: opFrame}}, nil
	}
	kids, err := b.members(info, name, level, apart)
	if err != nil || apart {
		return kids, err
	}
	return []step{{op: opObject, kids: kids, class: info}}, nil
}

// object makes the step of an object that stands by value.
func (b *builder) object(typeName string, code int, name string, level int) (step, error) {
	class := tidy(strings.TrimRight(tidy(typeName), "*&"))
	from := len(b.cols)
	switch class {
	case "TString":
		return b.text(opText, name, level, class), nil
	case "string":
		return step{op: opColumn, kids: []step{b.text(opText, name, level, class)}}, nil
	case "TObject", "TRef":
		b.column(Column{Name: name, Type: class, Unreadable: "reference to an object"})
		if class == "TObject" {
			b.cols = b.cols[:from]
		}
		return step{op: opTObject}, nil
	case "TNamed":
		kids := []step{{op: opTObject}, b.text(opText, join(name, "fName"), level, "TString"), b.text(opText, join(name, "fTitle"), level, "TString")}
		return step{op: opObject, kids: kids}, nil
	case "TDatime":
		return b.values(join(name, "fDatime"), plain(shardify.U32), nil, level, class), nil
	case "TClonesArray", "TRefArray", "TObjArray", "TList", "THashList":
		b.unread(from, name, class, class+" that is not split")
		return step{op: opFrame}, nil
	}
	if t, ok := arrayClasses[class]; ok {
		kids := []step{b.values(name, plain(t), nil, level+1, class)}
		return step{op: opList, level: level, cols: b.below(from), kids: kids}, nil
	}
	if _, _, ok := itemOf(class); ok {
		return b.collection(class, 0, name, level, 0)
	}
	info := b.infos.Latest(class)
	if info == nil {
		b.unread(from, name, class, "class "+class+" is not described in the file")
		return step{op: opFrame}, nil
	}
	slots := len(b.slots)
	kids, err := b.members(info, name, level, false)
	if err != nil { // an object has a frame, so that it can be passed
		b.slots = b.slots[:slots]
		b.unread(from, name, class, err.Error())
		return step{op: opFrame}, nil
	}
	return step{op: opObject, kids: kids, class: info}, nil
}

// arrayClasses are written as a count and the values, without a frame.
var arrayClasses = map[string]shardify.DType{
	"TArrayC": shardify.I8, "TArrayS": shardify.I16, "TArrayI": shardify.I32, "TArrayL": shardify.I64, "TArrayL64": shardify.I64,
	"TArrayF": shardify.F32, "TArrayD": shardify.F64,
}

// array makes the steps of a fixed array of objects.
func (b *builder) array(e *rfile.Element, name string, level int) ([]step, error) {
	from := len(b.cols)
	if e.Len <= 0 || e.Len > maxRepeat {
		return nil, noRecipe("array %s of %d objects", e.Name, e.Len)
	}
	kid, err := b.object(e.TypeName, e.Type-20, name, level+1)
	if err != nil {
		return nil, err
	}
	s := step{op: opRepeat, n: e.Len, level: level, cols: b.below(from), kids: []step{kid}}
	if e.Type >= 85 {
		return []step{{op: opColumn, kids: []step{s}}}, nil
	}
	return []step{s}, nil
}

// collection makes the step of an STL collection with its frame. n > 0 is an
// array of n of them.
func (b *builder) collection(typ string, code int, name string, level, n int) (step, error) {
	from, slots := len(b.cols), len(b.slots)
	fail := func(err error) (step, error) {
		b.slots = b.slots[:slots]
		b.unread(from, name, typ, err.Error())
		return step{op: opFrame}, nil
	}
	if n > maxRepeat {
		return fail(noRecipe("array of %d collections", n))
	}
	if head, args, ok := template(typ); ok && head == "bitset" {
		s, err := b.bitset(args, name, level, typ)
		if err != nil {
			return fail(err)
		}
		return s, nil
	}
	item, isMap, ok := itemOf(typ)
	if !ok {
		return fail(noRecipe("collection of type %s", typ))
	}
	inner := level + 1
	if n > 0 {
		inner++
	}
	s := step{op: opCollection, n: n, level: level}
	var err error
	if s.kids, err = b.items(item, code, name, inner, isMap); err != nil {
		return fail(err)
	}
	s.cols = b.below(from)
	if s.members, s.splits, err = b.apart(item, name, inner, from, isMap); err != nil {
		s.splits = false
	}
	return s, nil
}

// bitset makes the step of a std::bitset: the number of bits, a byte for each.
func (b *builder) bitset(args []string, name string, level int, typ string) (step, error) {
	n, err := strconv.Atoi(strings.TrimRight(args[0], "uUlL"))
	if err != nil || n <= 0 || n > maxRepeat {
		return step{}, noRecipe("type %s", typ)
	}
	kids := []step{{op: opSkip, n: 4}, b.values(name, plain(shardify.Bool), []int{n}, level, typ)}
	return step{op: opColumn, kids: []step{{op: opTogether, kids: kids}}}, nil
}

// items makes the steps of one item of a collection that is written item by
// item. The key and value of a map have no frame around them.
func (b *builder) items(item string, code int, name string, level int, inMap bool) ([]step, error) {
	if len(b.path) >= maxNesting {
		return nil, noRecipe("types nested more than %d deep", maxNesting)
	}
	from := len(b.cols)
	if w, ok := basic(item); ok {
		return []step{b.values(name, w, nil, level, item)}, nil
	}
	if isText(item) {
		return []step{b.text(opText, name, level, item)}, nil
	}
	if strings.HasSuffix(item, "*") {
		return nil, noRecipe("collection of pointers to %s", tidy(strings.TrimRight(item, "*")))
	}
	if inner, isMap, ok := itemOf(item); ok {
		b.path = append(b.path, item)
		defer func() { b.path = b.path[:len(b.path)-1] }()
		kids, err := b.items(inner, 0, name, level+1, isMap)
		return []step{{op: opList, level: level, cols: b.below(from), kids: kids}}, err
	}
	if head, args, ok := template(item); ok && head == "pair" && len(args) == 2 {
		kids, err := b.pair(args, name, level)
		if err != nil || inMap {
			return kids, err
		}
		return []step{{op: opObject, kids: kids}}, nil
	}
	if b.infos.Latest(item) == nil {
		if w, ok := coded(code, ""); ok && code != 0 { // an enum
			return []step{b.values(name, w, nil, level, item)}, nil
		}
	}
	s, err := b.object(item, 62, name, level)
	return []step{s}, err
}

// pair makes the steps of key and value.
func (b *builder) pair(args []string, name string, level int) ([]step, error) {
	var all []step
	for i, member := range []string{"first", "second"} {
		s, err := b.items(args[i], 0, join(name, member), level, false)
		if err != nil {
			return nil, err
		}
		all = append(all, s...)
	}
	return all, nil
}

// apart makes the steps of a collection that is written member by member. Its
// columns must be those that its items gave, which stand from column from on.
func (b *builder) apart(item, name string, level, from int, inMap bool) ([]step, bool, error) {
	other := builder{infos: b.infos, slots: b.slots, path: b.path}
	var steps []step
	if head, args, ok := template(item); ok && head == "pair" && len(args) == 2 {
		for i, member := range []string{"first", "second"} {
			s, err := other.columnOf(args[i], join(name, member), level)
			if err != nil {
				return nil, false, err
			}
			steps = append(steps, s)
		}
	} else {
		info := b.infos.Latest(item)
		if info == nil {
			return nil, false, nil
		}
		var err error
		if steps, err = other.members(info, name, level, true); err != nil {
			return nil, false, err
		}
	}
	if len(other.cols) != len(b.cols)-from {
		return nil, false, nil
	}
	for i := range other.cols {
		if c := &b.cols[from+i]; other.cols[i].Name != c.Name || other.cols[i].Levels != c.Levels {
			return nil, false, nil
		}
	}
	shift(steps, from)
	b.slots = other.slots
	return steps, true, nil
}

// columnOf is the step of a pair's member when all of them stand together.
func (b *builder) columnOf(typ, name string, level int) (step, error) {
	if _, _, ok := itemOf(typ); ok {
		return b.collection(typ, 0, name, level, 0)
	}
	if typ == "string" {
		return step{op: opColumn, kids: []step{b.text(opText, name, level, typ)}}, nil
	}
	s, err := b.items(typ, 0, name, level, false)
	if err != nil {
		return step{}, err
	}
	return s[0], nil
}

// shift adds by to the columns of all steps.
func shift(steps []step, by int) {
	for i := range steps {
		s := &steps[i]
		for j := range s.cols {
			s.cols[j] += by
		}
		shift(s.kids, by)
		shift(s.members, by)
	}
}
