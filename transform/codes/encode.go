package codes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/op"
)

// maxVocab bounds the text of a vocabulary, which is in the schema of every shard.
const maxVocab = 2 << 20

// Encode is codes for the values of a field.
var Encode = op.Kind{Name: "encode", Value: "FIELD", Example: "particle", Help: "codes 0, 1, ... for the values of a text or integer field",
	Phase: op.AfterSplit, Keeps: true, Texts: op.Words, New: op.Of(newEncode), Fields: op.FieldsOf(newEncode)}

// encodeField turns categories, texts or integers, into codes 0, 1, ... of a vocabulary that
// is sorted: texts by bytes, integers by value.
type encodeField struct {
	name   string
	col    int
	n      int
	from   shardify.Field
	texts  map[string]int64
	ints   map[uint64]int64
	labels []string
	known  bool
	// Integers within a short range are looked up here: code + 1 of first, first+1, ...
	table []int32
	first uint64
}

// maxTable is the range of integers that a table serves.
const maxTable = 1 << 16

// newEncode encodes one field.
func newEncode(_ *op.Env, field string) (*encodeField, error) {
	field = strings.TrimSpace(field)
	return &encodeField{name: field}, op.FlagError("encode", field, shardify.ValidName(field))
}

func (e *encodeField) Fields() op.Fields { return op.Fields{Named: []string{e.name}} }

func (e *encodeField) text() bool { return e.from.Media != "" }

// Schema makes the field i64. Once the vocabulary is known, the field's labels hold it.
func (e *encodeField) Schema(in []shardify.Field) ([]shardify.Field, error) {
	i, err := op.Lookup(in, e.name)
	if err != nil {
		return nil, err
	}
	f := in[i]
	switch {
	case f.Media != "" && !format.IsText(f.Media):
		return nil, fmt.Errorf("%s holds %s; texts and integers get codes", f.Name, f.Media)
	case f.Media == "" && !f.DType.IsInt():
		return nil, fmt.Errorf("%s is %s; texts and integers get codes", f.Name, f.DType)
	case f.Ragged:
		return nil, fmt.Errorf("%s has a shape for each sample; texts and integers get codes, alone or in lists", f.Name)
	case f.Attrs["labels"] != "" || shardify.Companion(in, i):
		return nil, fmt.Errorf("%s holds codes of labels already", f.Name)
	}
	e.col, e.n, e.from = i, len(in), f
	f.DType, f.Attrs = shardify.I64, maps.Clone(f.Attrs)
	kind := "int"
	if e.text() {
		kind = "text"
		f.Media, f.Levels = "", f.Levels-1
		if f.Levels == 0 {
			f.Counter = ""
		}
	}
	if len(e.labels) > 0 {
		if f.Attrs == nil {
			f.Attrs = map[string]string{}
		}
		f.Attrs["labels"], f.Attrs[format.VocabAttr] = strings.Join(e.labels, shardify.LabelSeparator), kind
	}
	out := slices.Clone(in)
	out[i] = f
	return out, nil
}

// Cost is a code for each value.
func (e *encodeField) Cost([]shardify.Field) shardify.Cost {
	return shardify.Cost{Growth: 8 / float64(max(e.from.DType.Size(), 1)), Sample: 16}
}

// Surveys says that the values must be seen.
func (e *encodeField) Surveys() string { return "the values of " + e.name }

// SurveysAllSplits makes one vocabulary for all splits.
func (e *encodeField) SurveysAllSplits() bool { return true }

// NewSurvey begins a vocabulary.
func (e *encodeField) NewSurvey() shardify.Survey {
	return &vocab{e: e, texts: map[string]struct{}{}, ints: map[uint64]struct{}{}}
}

type vocab struct {
	e     *encodeField
	texts map[string]struct{}
	ints  map[uint64]struct{}
	bytes int
}

func (v *vocab) Add(b *shardify.Batch) error {
	c := &b.Columns[v.e.col]
	if v.e.text() {
		o := c.Offsets[len(c.Offsets)-1]
		return eachPresent(c, b, func(k int) error {
			t := c.Data[o[k]:o[k+1]]
			if _, ok := v.texts[string(t)]; ok {
				return nil
			}
			if err := v.fits(t); err != nil {
				return err
			}
			v.texts[string(t)] = struct{}{}
			return nil
		})
	}
	x := op.Bits(c)
	return eachPresent(c, b, func(k int) error {
		if _, ok := v.ints[x(k)]; ok {
			return nil
		}
		v.ints[x(k)] = struct{}{}
		return v.grow(12)
	})
}

func (v *vocab) fits(t []byte) error {
	switch {
	case bytes.Contains(t, []byte(shardify.LabelSeparator)):
		return fmt.Errorf("%s has the value %.60q: a category has no line feed", v.e.name, t)
	case !utf8.ValidString(string(t)):
		return fmt.Errorf("%s has the value %.60q, which is not UTF-8", v.e.name, t)
	}
	return v.grow(len(t) + 1)
}

func (v *vocab) grow(n int) error {
	if v.bytes += n; v.bytes > maxVocab {
		return fmt.Errorf("%s has more than %d different values, %s of them: --encode is for categories", v.e.name, max(len(v.texts), len(v.ints)), shardify.FormatSize(maxVocab))
	}
	return nil
}

func (v *vocab) Merge(next shardify.Survey) error {
	o := next.(*vocab)
	for t := range o.texts {
		if _, ok := v.texts[t]; !ok {
			v.texts[t] = struct{}{}
			if err := v.grow(len(t) + 1); err != nil {
				return err
			}
		}
	}
	for x := range o.ints {
		if _, ok := v.ints[x]; !ok {
			v.ints[x] = struct{}{}
			if err := v.grow(12); err != nil {
				return err
			}
		}
	}
	return nil
}

// Result is the sorted vocabulary as a JSON list.
func (v *vocab) Result() ([]byte, error) {
	if v.e.text() {
		return json.Marshal(append([]string{}, slices.Sorted(maps.Keys(v.texts))...))
	}
	return json.Marshal(append([]string{}, v.e.numerals(slices.Sorted(maps.Keys(v.ints)))...))
}

// numerals writes integers in their order.
func (e *encodeField) numerals(bits []uint64) []string {
	if e.from.DType != shardify.U64 {
		slices.SortFunc(bits, func(a, b uint64) int {
			switch {
			case int64(a) < int64(b):
				return -1
			case int64(a) > int64(b):
				return 1
			}
			return 0
		})
	}
	var out []string
	for _, x := range bits {
		if e.from.DType == shardify.U64 {
			out = append(out, strconv.FormatUint(x, 10))
		} else {
			out = append(out, strconv.FormatInt(int64(x), 10))
		}
	}
	return out
}

// Learn takes the vocabulary.
func (e *encodeField) Learn(result []byte) error {
	if err := json.Unmarshal(result, &e.labels); err != nil {
		return shardify.Corrupt(-1, "vocabulary of %s: %v", e.name, err)
	}
	e.texts, e.ints, e.known = map[string]int64{}, map[uint64]int64{}, true
	for code, l := range e.labels {
		if e.text() {
			e.texts[l] = int64(code)
			continue
		}
		x, err := strconv.ParseUint(l, 10, 64)
		if err != nil {
			i, err2 := strconv.ParseInt(l, 10, 64)
			if err2 != nil {
				return shardify.Corrupt(-1, "vocabulary of %s: %q", e.name, l)
			}
			x = uint64(i)
		}
		e.ints[x] = int64(code)
	}
	e.tabulate()
	return nil
}

// tabulate makes the table, if the integers are near each other.
func (e *encodeField) tabulate() {
	e.table = nil
	if e.text() || len(e.labels) == 0 {
		return
	}
	at := map[int64]uint64{}
	for x, code := range e.ints {
		at[code] = x
	}
	lo, hi := at[0], at[int64(len(e.labels))-1]
	if hi-lo >= maxTable { // also across zero: the difference wraps around
		return
	}
	e.first, e.table = lo, make([]int32, hi-lo+1)
	for x, code := range e.ints {
		e.table[x-lo] = int32(code) + 1
	}
}

// code is the code of an integer.
func (e *encodeField) code(x uint64) (int64, bool) {
	if e.table == nil {
		code, ok := e.ints[x]
		return code, ok
	}
	if i := x - e.first; i < uint64(len(e.table)) {
		return int64(e.table[i]) - 1, e.table[i] > 0
	}
	return 0, false
}

// Apply puts codes in the place of values. What is missing has code 0 and stays
// missing.
func (e *encodeField) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, e.n); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	c, to := &b.Columns[e.col], &out.Columns[e.col]
	if !e.known {
		return nil, fmt.Errorf("--encode %s: the values have not been surveyed", e.name)
	}
	var at func(k int) (int64, bool)
	what := func(int) string { return "a value" }
	var n int
	if e.text() {
		o := c.Offsets[len(c.Offsets)-1]
		n = len(o) - 1
		what = func(k int) string { return fmt.Sprintf("the value %.60q", c.Data[o[k]:o[k+1]]) }
		at = func(k int) (int64, bool) { code, ok := e.texts[string(c.Data[o[k]:o[k+1]])]; return code, ok }
		to.Offsets, to.Levels, to.Media = c.Offsets[:len(c.Offsets)-1], c.Levels-1, ""
		if to.Levels == 0 {
			to.Offsets, to.Counter = nil, ""
		}
	} else {
		x := op.Bits(c)
		n = len(c.Data) / c.DType.Size()
		at = func(k int) (int64, bool) { return e.code(x(k)) }
	}
	to.DType, to.Data = shardify.I64, mem.Alloc(n*8)
	z := shardify.View[int64](to.Data)
	if c.Valid != nil {
		clear(z)
	}
	err := eachPresent(c, b, func(k int) error {
		code, ok := at(k)
		if !ok {
			return fmt.Errorf("%s of %s was not there when the values were surveyed: the input has changed, or is another one", what(k), e.name)
		}
		z[k] = code
		return nil
	})
	if err != nil {
		return nil, op.FlagError("encode", e.name, err)
	}
	return out, nil
}

// eachPresent calls f with the place of every value (of every text) of samples that are
// not missing.
func eachPresent(c *shardify.Column, b *shardify.Batch, f func(k int) error) error {
	levels, width := c.Offsets, c.Elem()
	if c.Media != "" {
		levels, width = levels[:len(levels)-1], 1
	}
	for s := range b.Samples {
		if c.Valid != nil && c.Valid[s] == 0 {
			continue
		}
		lo, hi := int64(s), int64(s+1)
		for _, o := range levels {
			lo, hi = o[lo], o[hi]
		}
		for k := int(lo) * width; k < int(hi)*width; k++ {
			if err := f(k); err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Sample = b.ID(s).Sample })
			}
		}
	}
	return nil
}
