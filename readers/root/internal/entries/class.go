package entries

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// maxNesting bounds how deep types may contain each other.
const maxNesting = 24

// maxRepeat bounds fixed arrays: more is no member anybody has.
const maxRepeat = 1 << 24

// builder makes the recipe of one branch and the columns it gives.
type builder struct {
	infos *rfile.Infos
	cols  []Column
	slots []string // members that count others, as Class.member
	path  []string // classes on the way down, against classes in themselves
	// counts are members that others are known to name as their counts.
	counts map[string]bool
}

// errNoRecipe says why bytes cannot even be passed over.
type errNoRecipe string

func (e errNoRecipe) Error() string { return string(e) }

func noRecipe(format string, args ...any) error { return errNoRecipe(fmt.Sprintf(format, args...)) }

// maxLevels is what a field can have, and one more that has a column of its own.
const maxLevels = 3

// column adds a column, and behind one of three levels the lengths of the lists of the
// second, and returns its index.
func (b *builder) column(c Column) int {
	at := len(b.cols)
	switch {
	case c.Unreadable != "" || c.Levels < maxLevels:
		b.cols = append(b.cols, c)
	case c.Levels == maxLevels:
		c.Levels, c.Deep = maxLevels-1, true
		b.cols = append(b.cols, c, Column{Name: join(c.Name, "lengths"), DType: shardify.I64, Levels: 1, Lists: true, Type: c.Type})
	default:
		c.Unreadable = fmt.Sprintf("%d levels of variable length (at most %d)", c.Levels, maxLevels)
		b.cols = append(b.cols, c)
	}
	return at
}

// values is the step of numbers, with a column of their own.
func (b *builder) values(name string, w wire.Wire, shape []int, level int, typ string) step {
	n := 1
	for _, d := range shape {
		n *= d
	}
	c := b.column(Column{Name: name, DType: w.DType, Shape: shape, Levels: level, Type: typ})
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
		return nil, shardify.Corrupt(-1, "array of %d values", e.Len)
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

// members makes the steps of all members of a class, in order. If they are written member
// by member for many elements, which the last argument says, base classes have no frame.
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
	for i := range info.Elements {
		if e := &info.Elements[i]; e.CountName != "" {
			b.noteCount(e.CountClass, e.CountName)
			b.noteCount(info.Name, e.CountName)
		}
	}
	var steps []step
	for i := range info.Elements {
		e := &info.Elements[i]
		more, err := b.member(e, name, level, apart)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// member makes the steps of one member or base class.
func (b *builder) member(e *rfile.Element, name string, level int, apart bool) ([]step, error) {
	own := join(name, e.Name)
	switch {
	case e.Type == rfile.CodeNone:
		return nil, nil
	case e.Class == "TStreamerBase" || e.Type == rfile.CodeBase:
		return b.base(e, name, level, apart)
	}
	shape, err := dims(e)
	if err != nil {
		return nil, err
	}
	switch t := e.Type; {
	case t == rfile.CodeBits:
		s := b.values(own, wire.Plain(shardify.U32), nil, level, e.TypeName)
		s.op = opBits
		return []step{s}, nil
	case t == rfile.CodeCharStar:
		return []step{b.text(opLongText, own, level, "char*")}, nil
	case t < rfile.CodesEnd:
		s, err := b.numbers(e, own, shape, level)
		return []step{s}, err
	case t > rfile.CodeArray+rfile.CodesEnd && t <= rfile.CodeArray+rfile.CodeTNamed:
		return b.array(e, own, level)
	}
	s, err := b.single(e, own, level)
	return []step{s}, err
}

// numbers makes the step of a number, or of an array of numbers of fixed or of counted length.
func (b *builder) numbers(e *rfile.Element, name string, shape []int, level int) (step, error) {
	code := e.Type
	switch {
	case code >= rfile.CodeCounted:
		code -= rfile.CodeCounted
	case code >= rfile.CodeArray:
		code -= rfile.CodeArray
	}
	w, ok := wire.Coded(code, e.Title)
	if !ok {
		return step{}, noRecipe("member %s of type code %d", e.Name, e.Type)
	}
	switch {
	case e.Type >= rfile.CodeCounted:
		s := b.values(name, w, shape, level+1, e.TypeName)
		s.op, s.level, s.slot = opCounted, level, b.countSlot(e)
		return s, nil
	case e.Type >= rfile.CodeArray:
		if shape == nil {
			shape = []int{1}
		}
		return b.values(name, w, shape, level, e.TypeName), nil
	}
	s := b.values(name, w, nil, level, e.TypeName)
	if key := b.class() + "." + e.Name; e.Type == rfile.CodeCounter || b.counts[key] {
		s.op, s.slot = opCount, b.slot(key)
	}
	return s, nil
}

// single makes the step of an object, a string, a collection or a pointer.
func (b *builder) single(e *rfile.Element, name string, level int) (step, error) {
	from := len(b.cols)
	switch e.Type {
	case rfile.CodeObjectPtr, rfile.CodeAnyPtr:
		b.unread(from, name, e.TypeName, "pointer to an object")
		return step{op: opSlot}, nil
	case rfile.CodeTString, rfile.CodeTObject, rfile.CodeTNamed, rfile.CodeObject, rfile.CodeAny, rfile.CodeObjectP, rfile.CodeAnyP:
		return b.object(e.TypeName, e.Type, name, level)
	}
	switch {
	case e.Class == "TStreamerSTLstring" || e.STLType == rfile.CodeSTLString || e.Type == rfile.CodeSTLString ||
		e.Type == rfile.CodeStreamer && wire.IsText(wire.Tidy(e.TypeName)):
		return step{op: opColumn, kids: []step{b.text(opText, name, level, e.TypeName)}}, nil
	case e.Class == "TStreamerSTL":
		return b.collection(strings.TrimSuffix(wire.Tidy(e.TypeName), "*"), e.CType, name, level, e.Len)
	}
	// Custom streamers and counted objects have a frame.
	b.unread(from, name, e.TypeName, fmt.Sprintf("member of type %s with a streamer of its own", e.TypeName))
	return step{op: opFrame}, nil
}

// class is the one whose members are at hand.
func (b *builder) class() string {
	if len(b.path) == 0 {
		return ""
	}
	return b.path[len(b.path)-1]
}

func (b *builder) noteCount(class, member string) {
	if b.counts == nil {
		b.counts = map[string]bool{}
	}
	b.counts[class+"."+member] = true
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

// countSlot is where the counts of a member are: in its class, or in a base class.
// Members of other classes may have the same name.
func (b *builder) countSlot(e *rfile.Element) int {
	for _, name := range []string{e.CountClass + "." + e.CountName, b.class() + "." + e.CountName} {
		if i := slices.Index(b.slots, name); i >= 0 {
			return i
		}
	}
	return b.slot(e.CountClass + "." + e.CountName)
}

// base makes the steps of a base class.
func (b *builder) base(e *rfile.Element, name string, level int, apart bool) ([]step, error) {
	switch e.Name {
	case "TObject":
		return []step{{op: opTObject}}, nil
	case "TNamed":
		if !apart {
			s, err := b.object("TNamed", rfile.CodeTNamed, name, level)
			return []step{s}, err
		}
	}
	info := b.infos.Find(e.Name, e.BaseVersion, 0)
	if info == nil {
		info = b.infos.Latest(e.Name)
	}
	if info == nil {
		if item, _, ok := wire.ItemOf(wire.Tidy(e.Name)); ok && item != "" {
			s, err := b.collection(wire.Tidy(e.Name), 0, name, level, 0)
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

// object makes the step of an object that is stored by value.
func (b *builder) object(typeName string, code int, name string, level int) (step, error) {
	class := wire.Tidy(strings.TrimRight(wire.Tidy(typeName), "*&"))
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
		return b.values(join(name, "fDatime"), wire.Plain(shardify.U32), nil, level, class), nil
	case "TClonesArray", "TRefArray", "TObjArray", "TList", "THashList":
		b.unread(from, name, class, class+" that is not split")
		return step{op: opFrame}, nil
	}
	if t, ok := arrayClasses[class]; ok {
		kids := []step{b.values(name, wire.Plain(t), nil, level+1, class)}
		return step{op: opList, level: level, cols: b.below(from), kids: kids}, nil
	}
	if _, _, ok := wire.ItemOf(class); ok {
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
	kid, err := b.object(e.TypeName, e.Type-rfile.CodeArray, name, level+1)
	if err != nil {
		return nil, err
	}
	s := step{op: opRepeat, n: e.Len, level: level, cols: b.below(from), kids: []step{kid}}
	if e.Type >= rfile.CodeArray+rfile.CodeTString {
		return []step{{op: opColumn, kids: []step{s}}}, nil
	}
	return []step{s}, nil
}
