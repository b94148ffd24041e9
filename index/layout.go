package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Suffixes of the tensors of a field that is not simply fixed.
const (
	suffixValues   = "#values"
	suffixOffsets  = "#offsets"
	suffixOffsets1 = "#offsets1"
	suffixValid    = "#valid"
	// KeyName comes before the suffixes of the samples' own names.
	KeyName = "__key__"
)

// Lead says what the first dimension of a tensor counts.
type Lead uint8

// The kinds of first dimension. Only the last two depend on the data.
const (
	LeadSamples  Lead = iota // samples
	LeadOffsets              // samples + 1
	LeadLists                // lists + 1
	LeadElements             // elements
)

// TensorSpec is what a schema says about one tensor of its shards.
type TensorSpec struct {
	Name  string
	DType shardify.DType
	Inner []int // dimensions after the first
	Lead  Lead
	Row   int64 // bytes of one step of the first dimension
	// Column is the first field that has the tensor; -1 is the key.
	Column int
}

// ColumnTensors are the places in Layout.Tensors of what makes up one column,
// -1 where it has none. Columns with one counter have the same Offsets.
type ColumnTensors struct{ Values, Offsets, Offsets1, Valid int }

// Layout is what all mmap shards of one schema have in common.
type Layout struct {
	Schema  []shardify.Field
	Keyed   bool
	Tensors []TensorSpec    // in data order
	Columns []ColumnTensors // by field
	Key     ColumnTensors   // of a keyed set, else all -1
	// HeaderBytes is where the data begin: 8 + n.
	HeaderBytes int64
	schemaText  string
}

// KeyField is the field that the samples' own names would be.
func KeyField() shardify.Field {
	return shardify.Field{Name: KeyName, DType: shardify.U8, Levels: 1, Media: "txt"}
}

// NewLayout lays out a schema. It refuses one that a header cannot carry.
func NewLayout(schema []shardify.Field, keyed bool) (*Layout, error) {
	if err := shardify.ValidateSchema(schema); err != nil {
		return nil, err
	}
	l := &Layout{Schema: slices.Clone(schema), Keyed: keyed, Columns: make([]ColumnTensors, len(schema))}
	b := layoutBuilder{byName: map[string]int{}}
	for i := range schema {
		if err := checkAttrs(&schema[i]); err != nil {
			return nil, err
		}
		l.Columns[i] = b.column(i, &schema[i])
	}
	l.Key = ColumnTensors{-1, -1, -1, -1}
	if keyed {
		f := KeyField()
		l.Key = b.column(-1, &f)
	}
	l.sort(b.tensors)
	if !slices.ContainsFunc(l.Tensors, func(t TensorSpec) bool { return t.Row > 0 }) {
		return nil, format.Cure(shardify.Unsupported("no field has any values: a shard could claim any number of samples"), format.Way{Options: format.Options{format.OutputFormat: FormatWDS}, Makes: "tars, which have a name for each sample"})
	}
	text, err := marshal(schema, "")
	if err != nil {
		return nil, err
	}
	if len(text) > maxSchema {
		return nil, shardify.Unsupported("a schema of %d bytes; at most %d are read", len(text), maxSchema)
	}
	l.schemaText = string(text)
	if err := l.sizeHeader(); err != nil {
		return nil, err
	}
	return l, nil
}

// checkAttrs: JSON has no way to write other bytes than UTF-8.
func checkAttrs(f *shardify.Field) error {
	for k, v := range f.Attrs {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return shardify.Mismatch("field %s: attribute %q is not UTF-8", f.Name, k)
		}
	}
	if !utf8.ValidString(f.Media) {
		return shardify.Mismatch("field %s: media %q is not UTF-8", f.Name, f.Media)
	}
	return nil
}

type layoutBuilder struct {
	tensors []TensorSpec
	byName  map[string]int
	at      int // the field being laid out
}

func (b *layoutBuilder) column(i int, f *shardify.Field) ColumnTensors {
	b.at = i
	c := ColumnTensors{-1, -1, -1, -1}
	if f.Levels == 0 {
		c.Values = b.tensor(f.Name, f.DType, f.Shape, LeadSamples)
	} else {
		c.Values = b.tensor(f.Name+suffixValues, f.DType, f.Shape, LeadElements)
		c.Offsets = b.tensor(f.CounterName()+suffixOffsets, shardify.I64, nil, LeadOffsets)
	}
	if f.Levels == 2 {
		c.Offsets1 = b.tensor(f.Name+suffixOffsets1, shardify.I64, nil, LeadLists)
	}
	if f.Nullable {
		c.Valid = b.tensor(f.Name+suffixValid, shardify.Bool, nil, LeadSamples)
	}
	return c
}

// tensor adds a tensor unless it is there: only offsets of a shared counter are
// met twice.
func (b *layoutBuilder) tensor(name string, d shardify.DType, inner []int, lead Lead) int {
	if i, ok := b.byName[name]; ok {
		return i
	}
	row := int64(d.Size())
	for _, n := range inner {
		row *= int64(n)
	}
	b.byName[name] = len(b.tensors)
	b.tensors = append(b.tensors, TensorSpec{name, d, inner, lead, row, b.at})
	return len(b.tensors) - 1
}

// sort brings the tensors into data order: falling item size, so that each one
// is aligned without filler, then name.
func (l *Layout) sort(tensors []TensorSpec) {
	order := make([]int, len(tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &tensors[i], &tensors[j]
		return cmp.Or(cmp.Compare(b.DType.Size(), a.DType.Size()), strings.Compare(a.Name, b.Name))
	})
	place := make([]int, len(tensors))
	l.Tensors = make([]TensorSpec, len(tensors))
	for to, from := range order {
		l.Tensors[to], place[from] = tensors[from], to
	}
	move := func(c *ColumnTensors) {
		for _, p := range []*int{&c.Values, &c.Offsets, &c.Offsets1, &c.Valid} {
			if *p >= 0 {
				*p = place[*p]
			}
		}
	}
	for i := range l.Columns {
		move(&l.Columns[i])
	}
	move(&l.Key)
}

// ColumnOf is the first column that has tensor i.
func (l *Layout) ColumnOf(i int) *ColumnTensors {
	if c := l.Tensors[i].Column; c >= 0 {
		return &l.Columns[c]
	}
	return &l.Key
}

// Known reports whether the number of samples decides the size of tensor i.
func (l *Layout) Known(i int) bool { return l.Tensors[i].Lead <= LeadOffsets }

// Count is the first dimension of tensor i when Known(i).
func (l *Layout) Count(i int, samples int64) int64 {
	if l.Tensors[i].Lead == LeadOffsets {
		return samples + 1
	}
	return samples
}

// End is the end of tensor i that begins at byte lo of the file and whose first
// dimension is count.
func (l *Layout) End(i int, lo, count int64) (int64, error) {
	row := l.Tensors[i].Row
	if count < 0 || row > 0 && count > (math.MaxInt64-lo)/row {
		return 0, fmt.Errorf("tensor %s of %d rows of %d bytes: the shard exceeds 63 bits: %w",
			l.Tensors[i].Name, count, row, shardify.ErrUnsupported)
	}
	return lo + count*row, nil
}

// RowBytes are the bytes of a sample in its fields of fixed size.
func (l *Layout) RowBytes() (n int64) {
	for i := range l.Tensors {
		if l.Tensors[i].Lead == LeadSamples {
			n += l.Tensors[i].Row
		}
	}
	return n
}

// SchemaText is the schema as in a shard's header: equal for equal schemas only.
func (l *Layout) SchemaText() string { return l.schemaText }
