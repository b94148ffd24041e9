package entries

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

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
	if head, args, ok := wire.Template(typ); ok && head == "bitset" {
		s, err := b.bitset(args, name, level, typ)
		if err != nil {
			return fail(err)
		}
		return s, nil
	}
	item, isMap, ok := wire.ItemOf(typ)
	if !ok {
		return fail(noRecipe("collection of type %s", typ))
	}
	inner := level + 1
	if n > 0 {
		inner++
	}
	s := step{op: opCollection, n: n, level: level, class: b.infos.Latest(item)}
	var err error
	if s.kids, err = b.items(item, code, name, inner, isMap); err != nil {
		return fail(err)
	}
	s.cols = b.below(from)
	if s.members, s.splits, err = b.memberwise(item, name, inner, from, isMap); err != nil {
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
	kids := []step{{op: opSkip, n: 4}, b.values(name, wire.Plain(shardify.Bool), []int{n}, level, typ)}
	return step{op: opColumn, kids: []step{{op: opTogether, kids: kids}}}, nil
}

// items makes the steps of one item of a collection that is written item by
// item. The key and value of a map have no frame around them.
func (b *builder) items(item string, code int, name string, level int, inMap bool) ([]step, error) {
	if len(b.path) >= maxNesting {
		return nil, noRecipe("types nested more than %d deep", maxNesting)
	}
	from := len(b.cols)
	if w, ok := wire.Basic(item); ok {
		return []step{b.values(name, w, nil, level, item)}, nil
	}
	if wire.IsText(item) {
		return []step{b.text(opText, name, level, item)}, nil
	}
	if strings.HasSuffix(item, "*") {
		return nil, noRecipe("collection of pointers to %s", wire.Tidy(strings.TrimRight(item, "*")))
	}
	if inner, isMap, ok := wire.ItemOf(item); ok {
		b.path = append(b.path, item)
		defer func() { b.path = b.path[:len(b.path)-1] }()
		kids, err := b.items(inner, 0, name, level+1, isMap)
		return []step{{op: opList, level: level, cols: b.below(from), kids: kids}}, err
	}
	if head, args, ok := wire.Template(item); ok && head == "pair" && len(args) == 2 {
		kids, err := b.pair(args, name, level)
		if err != nil || inMap {
			return kids, err
		}
		return []step{{op: opObject, kids: kids, class: b.infos.Latest(item)}}, nil
	}
	if b.infos.Latest(item) == nil {
		if w, ok := wire.Coded(code, ""); ok && code != 0 { // an enum
			return []step{b.values(name, w, nil, level, item)}, nil
		}
	}
	s, err := b.object(item, rfile.CodeAny, name, level)
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

// memberwise makes the steps of a collection that is written member by member. Its columns must
// be those that its items gave, which are those from column from on.
func (b *builder) memberwise(item, name string, level, from int, inMap bool) ([]step, bool, error) {
	other := builder{infos: b.infos, slots: b.slots, path: b.path, counts: b.counts}
	var steps []step
	if head, args, ok := wire.Template(item); ok && head == "pair" && len(args) == 2 {
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

// columnOf is the step of a pair's member when all of them are together.
func (b *builder) columnOf(typ, name string, level int) (step, error) {
	if _, _, ok := wire.ItemOf(typ); ok {
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
