package expr

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/shardify/shardify"
)

// ofFields are the functions that join many conditions. Their arguments may be globs, each of
// which means all fields that it matches.
var ofFields = []string{"any_of", "all_of", "count_of"}

// IsGlob reports whether a name that an expression needs means several fields.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// bareGlob is an argument that is a glob: nothing but a name with * or ? in it.
var bareGlob = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([A-Za-z0-9_.*?\[\]]*[*?][A-Za-z0-9_.*?\[\]]*)\s*[,)]`)
})

// quoteGlobs puts the globs among the arguments of any_of and the like into quotes, which the
// parser needs. at are the places in the result where a quote was put in.
func quoteGlobs(text string) (quoted string, at []int) {
	if !strings.Contains(text, "_of") {
		return text, nil
	}
	var out strings.Builder
	var calls []bool // by open bracket: it begins the arguments of one of ofFields
	quote := func(s string) {
		at = append(at, out.Len())
		out.WriteString(`"` + s + `"`)
		at = append(at, out.Len()-1)
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch c {
		case '"', '\'', '`':
			end := stringEnd(text, i)
			out.WriteString(text[i:end])
			i = end
			continue
		case '(', '[', '{':
			calls = append(calls, c == '(' && endsWithOf(text[:i]))
		case ')', ']', '}':
			calls = calls[:max(len(calls)-1, 0)]
		}
		out.WriteByte(c)
		i++
		if n := len(calls); n == 0 || !calls[n-1] || c != '(' && c != ',' {
			continue
		}
		if m := bareGlob().FindStringSubmatchIndex(text[i:]); m != nil && !strings.Contains(text[i+m[2]:i+m[3]], "??") {
			out.WriteString(text[i : i+m[2]])
			quote(text[i+m[2] : i+m[3]])
			i += m[3]
		}
	}
	return out.String(), at
}

// reducedGlob is a glob in a function of lists.
var reducedGlob = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(any|all|count)\(\s*[A-Za-z0-9_.]*\*\s*\)`) })

// meant adds the function that was meant to an error about a glob in one of lists.
func meant(text string, err error) error {
	if m := reducedGlob().FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%w; %s_of(...) takes several fields", err, m[1])
	}
	return err
}

// stringEnd is where the string that begins at i ends.
func stringEnd(text string, i int) int {
	for k := i + 1; k < len(text); k++ {
		switch text[k] {
		case '\\':
			if text[i] != '`' {
				k++
			}
		case text[i]:
			return k + 1
		}
	}
	return len(text)
}

// endsWithOf reports whether a text ends with the name of one of ofFields.
func endsWithOf(text string) bool {
	text = strings.TrimRight(text, " \t")
	return slices.ContainsFunc(ofFields, func(f string) bool {
		head, ok := strings.CutSuffix(text, f)
		return ok && (head == "" || !wordByte(head[len(head)-1]))
	})
}

func wordByte(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// ofCall is the name and the arguments of a call of one of ofFields.
func ofCall(n ast.Node) (name string, args []ast.Node, ok bool) {
	call, ok := n.(*ast.CallNode)
	if !ok {
		return "", nil, false
	}
	id, ok := call.Callee.(*ast.IdentifierNode)
	if !ok || !slices.Contains(ofFields, id.Value) {
		return "", nil, false
	}
	return id.Value, call.Arguments, true
}

// joinMany is any_of, all_of and count_of: one value a sample from any number of conditions.
func (b *binder) joinMany(name string, args []ast.Node) (*value, error) {
	var in []*value
	for _, a := range args {
		some, err := b.conditions(a)
		if err != nil {
			return nil, err
		}
		in = append(in, some...)
	}
	if len(in) == 0 {
		return nil, fmt.Errorf("want conditions, as in %s(HLT_*)", name)
	}
	out := &value{kind: kindBool, dom: scalar, slot: b.slot()}
	if name == "count_of" {
		out.kind = kindInt
	}
	for _, v := range in {
		out.null = out.null || v.null
	}
	hits, misses := b.slot(), b.slot()
	b.emit(func(f *frame) error {
		f.joinMany(name, in, out, f.ints(hits, f.samples()), f.ints(misses, f.samples()))
		return nil
	})
	return out, nil
}

// conditions are those that an argument names.
func (b *binder) conditions(a ast.Node) ([]*value, error) {
	text, ok := a.(*ast.StringNode)
	if !ok {
		v, err := b.compile(a)
		if err != nil {
			return nil, err
		}
		v, err = b.condition(v, a.String())
		return []*value{v}, err
	}
	fields, err := b.matched(text.Value)
	if err != nil {
		return nil, err
	}
	var out []*value
	for _, name := range fields {
		v, err := b.compile(&ast.CallNode{Callee: &ast.IdentifierNode{Value: "field"}, Arguments: []ast.Node{&ast.StringNode{Value: name}}})
		if err == nil {
			v, err = b.condition(v, name)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// matched are the fields that a glob matches.
func (b *binder) matched(glob string) ([]string, error) {
	if !IsGlob(glob) {
		return []string{glob}, nil
	}
	if _, err := path.Match(glob, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", glob, err)
	}
	var out []string
	for i := range b.schema {
		if ok, _ := path.Match(glob, b.schema[i].Name); ok && !shardify.Companion(b.schema, i) {
			out = append(out, b.schema[i].Name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s matches no field", glob)
	}
	return out, nil
}

// condition is a value as a condition for each sample. Integers hold unless they are 0: flags
// are often stored so.
func (b *binder) condition(v *value, what string) (*value, error) {
	switch {
	case !v.dom.scalar():
		return nil, fmt.Errorf("%s has many values a sample: take any(...) of it, or name the fields", what)
	case v.picked != nil || v.kind != kindBool && v.kind != kindInt:
		return nil, fmt.Errorf("%s is %s, not a condition: compare it, or name the fields", what, v.kind)
	case v.konst:
		return nil, errors.New("want fields, not constants")
	}
	return v, nil
}

// joinMany counts, sample by sample, the conditions that hold and those that are missing. As
// with || and &&, a missing one does not matter where another decides.
func (f *frame) joinMany(name string, in []*value, out *value, hits, misses []int64) {
	clear(hits)
	clear(misses)
	for _, v := range in {
		f.countOne(v, hits, misses)
	}
	if out.kind == kindInt {
		copy(f.ints(out.slot, len(hits)), hits)
	} else {
		z := f.bools(out.slot, len(hits))
		for k, n := range hits {
			z[k] = bit(n > 0)
			if name == "all_of" {
				z[k] = bit(n+misses[k] == int64(len(in)))
			}
		}
	}
	if !out.null {
		return
	}
	m := f.missing(out.slot)
	for k, n := range misses {
		m[k] = bit(n > 0)
		if name == "any_of" && hits[k] > 0 || name == "all_of" && hits[k]+n < int64(len(in)) {
			m[k] = 0
		}
	}
}

func (f *frame) countOne(v *value, hits, misses []int64) {
	s := f.vector(v, len(hits))
	for k := range hits {
		switch {
		case v.null && s.miss[k] != 0:
			misses[k]++
		case v.kind == kindBool:
			hits[k] += int64(s.t[k])
		case s.i[k] != 0:
			hits[k]++
		}
	}
}
