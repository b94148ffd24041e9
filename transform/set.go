package transform

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// setField adds a field that is constant for each input.
type setField struct {
	text  string
	Field shardify.Field
	rules []setRule
	in    ruleRuns
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
// for all inputs that no other line takes. found is the line of each input as Resolve
// found it at plan time; nil looks at the table.
func newSet(text string, table *format.Table, found ruleRuns) (*setField, error) {
	s := &setField{text: text}
	var dtype string
	for line := range strings.SplitSeq(text, "\n") {
		name, t, r, err := parseSet(line)
		if err != nil {
			return nil, said("set", line, err)
		}
		switch {
		case s.Field.Name == "":
			s.Field.Name = name
		case s.Field.Name != name:
			return nil, said("set", text, fmt.Errorf("%s and %s are two fields", s.Field.Name, name))
		}
		if t != "" && dtype != "" && t != dtype {
			return nil, said("set", text, fmt.Errorf("%s is %s and %s", name, dtype, t))
		}
		if r.total != nil && r.value == "" {
			return nil, said("set", line, noTotal(r.total))
		}
		dtype = max(dtype, t)
		s.rules = append(s.rules, r)
	}
	if err := s.infer(dtype); err != nil {
		return nil, said("set", text, err)
	}
	if found == nil {
		globs := make([]string, len(s.rules))
		for i, r := range s.rules {
			globs[i] = r.glob
		}
		var err error
		if found, err = resolveGlobs(table, globs, true); err != nil {
			return nil, said("set", text, err)
		}
	}
	s.in = found
	return s, s.in.check(len(s.rules))
}

// parseSet reads one line. A value in double quotes is a text that may hold an @.
func parseSet(line string) (name, dtype string, r setRule, err error) {
	r.spec = line
	head, rest, ok := strings.Cut(line, "=")
	if !ok {
		return "", "", r, errors.New("want NAME=VALUE@GLOB, as in --set 'label=1@sig/*.root'")
	}
	name = strings.TrimSpace(head)
	if n, t, ok := cutLast(name, ":"); ok {
		name, dtype = n, t
	}
	if err := shardify.ValidName(name); err != nil {
		return "", "", r, err
	}
	rest = strings.TrimSpace(rest) // 1 is a number in label = 1, too; quotes keep blanks
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
	r.value, r.glob, _ = cutLast(rest, "@")
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
		s.Field.DType, s.Field.Levels, s.Field.Media = shardify.U8, 1, "txt"
		for i := range s.rules {
			if !validText(s.rules[i].value) {
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
	s.Field.DType = d
	for i := range s.rules {
		r := &s.rules[i]
		if r.bytes, err = number(r.value, d); err != nil || r.quoted {
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
			_, err := number(r.value, d)
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

// number is a constant's bytes.
func number(s string, d shardify.DType) ([]byte, error) {
	bad := fmt.Errorf("%q is not of type %s", s, d)
	switch {
	case d == shardify.Bool:
		switch s {
		case "true", "True", "1":
			return []byte{1}, nil
		case "false", "False", "0": // 0 is what --pad fills up with if nothing is said
			return []byte{0}, nil
		}
		return nil, bad
	case d.IsFloat():
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.ContainsAny(s, "xX_") {
			return nil, bad
		}
		return constant(shardify.Bytes([]float64{f}), shardify.F64, d, bad)
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return constant(shardify.Bytes([]uint64{u}), shardify.U64, d, bad)
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, bad
	}
	return constant(shardify.Bytes([]int64{i}), shardify.I64, d, bad)
}

func constant(v []byte, from, to shardify.DType, bad error) ([]byte, error) {
	out := shardify.Bytes(make([]uint64, 1)) // aligned
	l := convertValues(out[:to.Size()], caster{to: to}, v, from)
	if l.bad >= 0 || l.overflow > 0 {
		return nil, bad
	}
	return out[:to.Size()], nil
}

// Schema adds the field at the end.
func (s *setField) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if err := taken(in, s.Field.Name); err != nil {
		return nil, within(s.text, fmt.Errorf("%w: choose another name, and rename at the end", err))
	}
	s.n = len(in)
	return append(in[:len(in):len(in)], s.Field), nil
}

// Cost is the constant.
func (s *setField) Cost([]shardify.Field) shardify.Cost {
	n := int64(0)
	for _, r := range s.rules {
		n = max(n, int64(len(r.bytes)))
	}
	return shardify.Cost{Sample: n + int64(s.Field.Levels)*8}
}

// Apply fills in.
func (s *setField) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := match(b, s.n); err != nil {
		return nil, err
	}
	c := shardify.Column{Field: s.Field}
	size := 0
	err := s.runs(b, func(r *setRule, n int) { size += n * len(r.bytes) })
	if err != nil {
		return nil, said("set", s.text, err)
	}
	c.Data = mem.Alloc(size)
	var off []int64
	if s.Field.Levels > 0 {
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
		repeat(c.Data[at:at+n*len(r.bytes)], r.bytes)
		at += n * len(r.bytes)
	})
	out := fork(b)
	out.Columns = append(out.Columns, c)
	return out, nil
}

// repeat fills dst with copies of v.
func repeat(dst, v []byte) {
	if len(v) == 0 {
		return
	}
	for n := copy(dst, v); n > 0 && n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
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
		r := s.in.rule(input)
		if r < 0 {
			return shardify.Mismatch("input %d is not among the inputs of the plan", input)
		}
		f(&s.rules[r], k-i)
		i = k
	}
	return nil
}
