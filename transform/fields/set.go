package fields

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/expr"
	"github.com/shardify/shardify/transform/op"
)

// Set is a field that is constant for each input.
var Set = op.Kind{Name: "set", Value: "NAME=VALUE@GLOB", Example: "label=1@sig/*.root", Help: "a field that is constant for each input", More: "without @GLOB for all other inputs",
	ByInput: true, Texts: byName, New: op.Of(newSet), Fields: func(_ *op.Env, text string) (op.Fields, error) { return op.Fields{Made: []string{nameOf(text)}}, nil }}

// byName joins the values that set one field.
func byName(values []string) ([]string, error) {
	var names, out []string
	for _, v := range values {
		name := nameOf(v)
		if i := slices.Index(names, name); i >= 0 {
			out[i] += "\n" + v
			continue
		}
		names, out = append(names, name), append(out, v)
	}
	return out, nil
}

// nameOf is the field that a value is for.
func nameOf(value string) string {
	name, _, _ := strings.Cut(value, "=")
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimSpace(name)
}

// setField adds a field that is constant for each input.
type setField struct {
	text  string
	field shardify.Field
	rules []setRule
	in    op.Runs
	n     int
}

type setRule struct {
	spec, value, glob string
	quoted            bool
	bytes             []byte
	total             *total // value is what it came to, "" if that is not known
	written           string // the total as it was given
}

// newSet parses lines NAME[:DTYPE]=VALUE[@GLOB] of one name. A line without a glob is
// for all inputs that no other line takes.
func newSet(e *op.Env, text string) (*setField, error) {
	s := &setField{text: text, in: e.Runs}
	var dtype string
	for line := range strings.SplitSeq(text, "\n") {
		name, t, r, err := parseSet(line)
		if err != nil {
			return nil, op.FlagError("set", line, err)
		}
		switch {
		case s.field.Name == "":
			s.field.Name = name
		case s.field.Name != name:
			return nil, op.FlagError("set", text, fmt.Errorf("%s and %s are two fields", s.field.Name, name))
		}
		if t != "" && dtype != "" && t != dtype {
			return nil, op.FlagError("set", text, fmt.Errorf("%s is %s and %s", name, dtype, t))
		}
		if r.total != nil && r.value == "" {
			return nil, op.FlagError("set", line, noTotal(r.total))
		}
		dtype = max(dtype, t)
		s.rules = append(s.rules, r)
	}
	if err := s.infer(dtype); err != nil {
		return nil, op.FlagError("set", text, err)
	}
	if s.in == nil {
		globs := make([]string, len(s.rules))
		for i, r := range s.rules {
			globs[i] = r.glob
		}
		var err error
		if s.in, err = op.ByGlobs(e.Table, globs, true); err != nil {
			return nil, op.FlagError("set", text, err)
		}
	}
	return s, s.in.Check(len(s.rules))
}

// Runs is the line of each input.
func (s *setField) Runs() op.Runs { return s.in }

// parseSet reads one line. A value in double quotes is a text that may hold an @.
func parseSet(line string) (name, dtype string, r setRule, err error) {
	r.spec = line
	head, rest, ok := strings.Cut(line, "=")
	if !ok {
		return "", "", r, errors.New("want NAME=VALUE@GLOB, as in --set 'label=1@sig/*.root'")
	}
	name = strings.TrimSpace(head)
	if n, t, ok := op.CutLast(name, ":"); ok {
		name, dtype = n, t
	}
	if err := shardify.ValidName(name); err != nil {
		return "", "", r, err
	}
	rest = strings.TrimSpace(rest)
	if expr.TextCall(rest) {
		return "", "", r, fmt.Errorf("%s is computed for each sample: --define '%s=%s' does so; a constant text like it is in double quotes", rest, name, rest)
	}
	// 1 is a number in label = 1, too; quotes keep blanks
	if strings.HasPrefix(rest, `"`) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", "", r, errors.New("a quote is not closed")
		}
		r.value, _ = strconv.Unquote(q)
		r.quoted = true
		rest = strings.TrimSpace(rest[len(q):])
		if rest != "" && rest[0] != '@' {
			return "", "", r, fmt.Errorf("%q after the quoted text: want @GLOB", rest)
		}
		r.glob = strings.TrimSpace(strings.TrimPrefix(rest, "@"))
		return name, dtype, r, nil
	}
	r.value, r.glob, _ = op.CutLast(rest, "@")
	r.value, r.glob = strings.TrimSpace(r.value), strings.TrimSpace(r.glob)
	if r.value == "" {
		return "", "", r, errors.New("no value")
	}
	if t, found, ok := parseTotal(r.value); ok {
		r.written = strings.TrimSuffix(r.value, "="+found)
		r.total, r.value = &t, found
	}
	return name, dtype, r, nil
}

// infer finds the type that holds all values: conditions, integers, floats, or texts.
func (s *setField) infer(dtype string) error {
	if dtype == "" {
		dtype = s.guess()
	}
	if dtype == "txt" || dtype == "text" || dtype == "str" {
		s.field.DType, s.field.Levels, s.field.Media = shardify.U8, 1, "txt"
		for i := range s.rules {
			if !utf8.ValidString(s.rules[i].value) {
				return fmt.Errorf("%q is not UTF-8", s.rules[i].value)
			}
			s.rules[i].bytes = []byte(s.rules[i].value)
		}
		return nil
	}
	d, err := shardify.ParseDType(dtype)
	if err != nil {
		return fmt.Errorf("unknown type %q: want txt, bool, i8 to i64, u8 to u64, f16, bf16, f32 or f64", dtype)
	}
	s.field.DType = d
	for i := range s.rules {
		r := &s.rules[i]
		if r.bytes, err = cast.Number(r.value, d); err != nil || r.quoted {
			if err == nil {
				err = fmt.Errorf("%q is a text", r.value)
			}
			return err
		}
	}
	return nil
}

func (s *setField) guess() string {
	all := func(d shardify.DType) bool {
		return !slices.ContainsFunc(s.rules, func(r setRule) bool {
			_, err := cast.Number(r.value, d)
			return err != nil || r.quoted
		})
	}
	switch {
	case all(shardify.I64):
		return "i64"
	case all(shardify.Bool):
		return "bool"
	case all(shardify.F64):
		return "f64"
	}
	return "txt"
}

// Schema adds the field at the end.
func (s *setField) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if err := op.Free(in, s.field.Name); err != nil {
		return nil, op.TextError(s.text, fmt.Errorf("%w: choose another name, and rename at the end", err))
	}
	s.n = len(in)
	return append(in[:len(in):len(in)], s.field), nil
}

// Cost is the constant.
func (s *setField) Cost([]shardify.Field) shardify.Cost {
	n := int64(0)
	for _, r := range s.rules {
		n = max(n, int64(len(r.bytes)))
	}
	return shardify.Cost{Sample: n + int64(s.field.Levels)*8}
}

// Apply fills in.
func (s *setField) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, s.n); err != nil {
		return nil, err
	}
	c := shardify.Column{Field: s.field}
	size := 0
	err := s.runs(b, func(r *setRule, n int) { size += n * len(r.bytes) })
	if err != nil {
		return nil, op.FlagError("set", s.text, err)
	}
	c.Data = mem.Alloc(size)
	var off []int64
	if s.field.Levels > 0 {
		off = mem.Int64s(b.Samples + 1)
		off[0] = 0
		c.Offsets = [][]int64{off}
	}
	at, sample := 0, 0
	s.runs(b, func(r *setRule, n int) {
		if off != nil {
			for range n {
				off[sample+1] = off[sample] + int64(len(r.bytes))
				sample++
			}
		}
		op.Repeat(c.Data[at:at+n*len(r.bytes)], r.bytes)
		at += n * len(r.bytes)
	})
	out := op.Fork(b)
	out.Columns = append(out.Columns, c)
	return out, nil
}

// runs calls f for stretches of samples of one input.
func (s *setField) runs(b *shardify.Batch, f func(r *setRule, n int)) error {
	for i := 0; i < b.Samples; {
		input := b.ID(i).Input
		k := i + 1
		if b.IDs == nil {
			k = b.Samples
		}
		for k < b.Samples && b.IDs[k].Input == input {
			k++
		}
		r := s.in.Rule(input)
		if r < 0 {
			return shardify.Mismatch("input %d is not among the inputs of the plan", input)
		}
		f(&s.rules[r], k-i)
		i = k
	}
	return nil
}
