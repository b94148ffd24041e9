package expr

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// ofTexts are the functions that give a text.
var ofTexts = []string{"regex", "part", "folder", "stem", "lower", "key", "path"}

// TextCall reports whether a text is written like a call of a function that gives a text.
func TextCall(text string) bool {
	name, _, ok := cutCall(text)
	return ok && slices.Contains(ofTexts, name)
}

func cutCall(text string) (name, rest string, ok bool) {
	for i := range len(text) {
		if text[i] == '(' {
			return text[:i], text[i:], true
		}
		if !wordByte(text[i]) {
			break
		}
	}
	return "", "", false
}

// textCall is the name and the arguments of a call of one of ofTexts.
func textCall(n ast.Node) (name string, args []ast.Node, ok bool) {
	call, ok := n.(*ast.CallNode)
	if !ok {
		return "", nil, false
	}
	id, ok := call.Callee.(*ast.IdentifierNode)
	if !ok || !slices.Contains(ofTexts, id.Value) {
		return "", nil, false
	}
	return id.Value, call.Arguments, true
}

// isKey reports whether the first argument of one of ofTexts is the sample's name.
func isKey(n ast.Node) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == "key"
}

// ofText is a call of one of ofTexts.
func (b *binder) ofText(name string, args []ast.Node) (*value, error) {
	switch name {
	case "key":
		if len(args) != 0 {
			return nil, fmt.Errorf("want no argument, not %d", len(args))
		}
		return b.name(), nil
	case "path":
		args = slices.Insert(slices.Clone(args), 0, ast.Node(&ast.CallNode{Callee: &ast.IdentifierNode{Value: "key"}}))
		name = "part"
	}
	if len(args) == 0 {
		return nil, errors.New("want a text, as in " + name + "(key)")
	}
	x, err := b.textArgument(args[0])
	if err != nil {
		return nil, err
	}
	args = args[1:]
	switch name {
	case "regex":
		return b.regex(x, args)
	case "part":
		return b.part(x, args)
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("want one argument, not %d", len(args)+1)
	}
	switch name {
	case "folder":
		return b.derive(x, "", nil, func(_ *vec, t []byte) ([]byte, bool) { return t[:max(bytes.LastIndexByte(t, '/'), 0)], true }), nil
	case "stem":
		return b.derive(x, "", nil, func(_ *vec, t []byte) ([]byte, bool) { return stem(t), true }), nil
	}
	return b.derive(x, "", nil, lower), nil
}

// textArgument is the text that a function is of: key is the sample's name.
func (b *binder) textArgument(n ast.Node) (*value, error) {
	if isKey(n) {
		if format.FieldNamed(b.schema, "key") >= 0 {
			return nil, errors.New(`key could be the field or the sample's name: write field("key") or key()`)
		}
		return b.name(), nil
	}
	x, err := b.compile(n)
	if err == nil {
		err = oneText(x)
	}
	if err == nil && x.konst {
		err = errors.New("want a field or key, not a constant")
	}
	return x, err
}

// name is the sample's name.
func (b *binder) name() *value {
	b.p.named = true
	return &value{kind: kindText, dom: scalar, name: true}
}

// regex is the first group of a pattern, or all that it matches if it has none.
func (b *binder) regex(x *value, args []ast.Node) (*value, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errors.New(`want a text and a pattern in quotes, as in regex(key, "^(cat|dog)")`)
	}
	pattern, ok := args[0].(*ast.StringNode)
	if !ok {
		return nil, errors.New("the pattern is a text in quotes")
	}
	re, err := regexp.Compile(pattern.Value)
	if err != nil {
		return nil, err
	}
	if n := re.NumSubexp(); n > 1 {
		return nil, fmt.Errorf("the pattern has %d groups; want one: (?:...) groups without being one", n)
	}
	instead, err := otherText(args[1:])
	if err != nil {
		return nil, err
	}
	before, after, within := groupWithin(pattern.Value) // then nothing is allocated for a sample
	match := func(_ *vec, t []byte) ([]byte, bool) {
		m := re.Find(t)
		if m == nil {
			return nil, false
		}
		return m[before : len(m)-after], true
	}
	if re.NumSubexp() == 1 && !within {
		match = func(_ *vec, t []byte) ([]byte, bool) {
			m := re.FindSubmatch(t)
			if m == nil || m[1] == nil {
				return nil, false
			}
			return m[1], true
		}
	}
	return b.derive(x, "does not match "+pattern.Value, instead, match), nil
}

// groupWithin is how many bytes of a match are before and behind the only group of a pattern, if these are
// the same for all matches.
func groupWithin(pattern string) (before, after int, ok bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, 0, false
	}
	subs := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		subs = re.Sub
	}
	at := slices.IndexFunc(subs, func(s *syntax.Regexp) bool { return s.Op == syntax.OpCapture })
	if at < 0 {
		return 0, 0, false
	}
	width := func(subs []*syntax.Regexp) (n int) {
		for _, s := range subs {
			w := bytesOf(s)
			ok, n = ok && w >= 0, n+w
		}
		return n
	}
	ok = true
	before, after = width(subs[:at]), width(subs[at+1:])
	return before, after, ok
}

// bytesOf is how many bytes a part of a pattern matches; -1 if that varies.
func bytesOf(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return 0
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError) {
			return len(string(re.Rune))
		}
	case syntax.OpCharClass:
		if len(re.Rune) > 0 && re.Rune[len(re.Rune)-1] < utf8.RuneSelf {
			return 1
		}
	}
	return -1
}

// part is one of the parts between slashes, counted from 0, or from the end if n < 0.
func (b *binder) part(x *value, args []ast.Node) (*value, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errors.New("want the number of a part, as in part(key, -2)")
	}
	at, err := b.compile(args[0])
	if err != nil {
		return nil, err
	}
	if at.kind != kindInt || !at.konst {
		return nil, errors.New("the number of a part is a constant, as in part(key, -2)")
	}
	instead, err := otherText(args[1:])
	if err != nil {
		return nil, err
	}
	n := at.i
	return b.derive(x, fmt.Sprintf("has no part %d", n), instead, func(_ *vec, t []byte) ([]byte, bool) { return part(t, n) }), nil
}

// otherText is what a function gives for samples without a result; nil without one.
func otherText(args []ast.Node) ([]byte, error) {
	if len(args) == 0 {
		return nil, nil
	}
	s, ok := args[0].(*ast.StringNode)
	if !ok {
		return nil, errors.New("the last argument, for samples without a result, is a text in quotes")
	}
	return append([]byte{}, s.Value...), nil
}

// derive is a text made of another. fn returns a part of it, or of v.buf, or false: then the result is
// instead, and an error that says why if that is nil.
func (b *binder) derive(x *value, why string, instead []byte, fn func(v *vec, t []byte) ([]byte, bool)) *value {
	out := &value{kind: kindText, dom: scalar, slot: b.slot(), null: x.null, views: true}
	b.emit(func(f *frame) error {
		v := &f.slots[out.slot]
		if v.s == nil {
			v.s = make([][]byte, blockSamples)
		}
		if f.lo == 0 {
			v.buf = v.buf[:0]
		}
		f.joinMissing(out, x)
		for k := range f.samples() {
			v.s[k] = none[:0]
			if out.null && v.miss[k] != 0 {
				continue
			}
			t := f.text(x, k)
			if t == nil {
				t = none[:0]
			}
			made, ok := fn(v, t)
			if !ok && instead == nil {
				return f.sampleError(k, "%.200q %s; one more argument is the text for such samples", t, why)
			}
			if !ok {
				made = instead
			}
			v.s[k] = made
		}
		return nil
	})
	return out
}

func part(t []byte, n int64) ([]byte, bool) {
	for ; n < 0; n++ {
		i := bytes.LastIndexByte(t, '/')
		if n == -1 {
			return t[i+1:], true
		}
		if i < 0 {
			return nil, false
		}
		t = t[:i]
	}
	for ; ; n-- {
		i := bytes.IndexByte(t, '/')
		switch {
		case n == 0 && i >= 0:
			return t[:i], true
		case n == 0:
			return t, true
		case i < 0:
			return nil, false
		}
		t = t[i+1:]
	}
}

// stem is the last part of a path without its extension: what follows the last dot that is not at the start.
func stem(t []byte) []byte {
	t = t[bytes.LastIndexByte(t, '/')+1:]
	i := bytes.LastIndexByte(t, '.')
	if i < 0 || len(bytes.TrimLeft(t[:i], ".")) == 0 {
		return t
	}
	return t[:i]
}

// lower turns letters into small ones, one by one. Bytes that are not UTF-8 stay.
func lower(v *vec, t []byte) ([]byte, bool) {
	from := len(v.buf)
	for len(t) > 0 {
		r, n := utf8.DecodeRune(t)
		if small := unicode.ToLower(r); small != r {
			v.buf = utf8.AppendRune(v.buf, small)
		} else {
			v.buf = append(v.buf, t[:n]...)
		}
		t = t[n:]
	}
	return v.buf[from:], true
}

// texts makes a column of the program's result, which is a text.
func (p *Program) texts(b *shardify.Batch, c shardify.Column, mem *shardify.Arena) (shardify.Column, error) {
	off := mem.Int64s(b.Samples + 1)
	off[0] = 0
	if c.Nullable {
		c.Valid = mem.Alloc(b.Samples)
	}
	o := &p.out
	err := p.run(b, func(f *frame) error {
		if f.lo == 0 {
			f.texts = f.texts[:0]
		}
		for k := range f.samples() {
			t, there := f.text(o, k), true
			if o.null {
				there = f.slots[o.slot].miss[k] == 0
				c.Valid[f.lo+k] = bit(there)
			}
			switch {
			case !there:
				t = nil
			case !utf8.Valid(t):
				return f.sampleError(k, "%.200q is not UTF-8", t)
			}
			f.texts = append(f.texts, t)
			off[f.lo+k+1] = off[f.lo+k] + int64(len(t))
		}
		if f.hi < b.Samples {
			return nil
		}
		c.Data = mem.Alloc(int(off[b.Samples]))
		for k, t := range f.texts {
			copy(c.Data[off[k]:], t)
		}
		clear(f.texts)
		return nil
	})
	c.Offsets = [][]int64{off}
	return c, err
}
