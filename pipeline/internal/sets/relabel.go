package sets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/numbers/half"
)

// keyColumn names samples in a table of labels; any other first column is a field of the set.
const keyColumn = "key"

// labels are the values that samples get, by their names or by the value of a field.
type labels struct {
	from   string
	by     string            // the field; "" names
	fields []shardify.Field  // that get values
	values map[string][]byte // of all fields, one after the other
	mu     sync.Mutex
	found  map[string]bool
}

// relabel gives samples other values of fields.
func (x *editor) relabel(ctx context.Context) error {
	names := x.base.splits()
	l, err := x.table(x.base.of(names[0]).Manifest.Schema)
	if err != nil {
		return err
	}
	root := bare(x.base.Manifest)
	changes := make([][]given, len(names))
	none := true
	for i, name := range names {
		if changes[i], err = x.given(ctx, x.base.of(name), l); err != nil {
			return err
		}
		x.Changed += int64(len(changes[i]))
		none = none && len(changes[i]) == 0
	}
	var missing []string
	for k := range l.values {
		if !l.found[k] {
			missing = append(missing, k)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		return x.annotate(shardify.Mismatch("%s of %s in %s not in the set, the first is %q: nothing was changed", printable.Count(int64(len(missing))), printable.Of(int64(len(l.values)), "sample"), l.from, missing[0]))
	}
	if none {
		return nil
	}
	var made []*index.Manifest
	for i, name := range names {
		old := x.base.of(name)
		left, err := x.rewrite(ctx, old, name, touched(changes[i]), &relabelling{l, changes[i]})
		if err != nil {
			return err
		}
		m := bare(old.Manifest)
		for k, s := range old.Manifest.Shards {
			if now, changed := left[k]; changed {
				s = now
			}
			m.Shards, m.Samples = append(m.Shards, s), m.Samples+s.Samples
		}
		made = append(made, m)
	}
	if x.Dry {
		return nil
	}
	return x.publish(ctx, x.base, root, made)
}

// table reads the file of labels: a head with the key and the fields, then a line for each sample.
func (x *editor) table(schema []shardify.Field) (*labels, error) {
	b, err := readGiven(x.Labels)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(b))
	bad := func(err error) error { return shardify.Annotate(err, "read", x.Labels, "") }
	head, err := r.Read()
	if errors.Is(err, io.EOF) || err == nil && len(head) < 2 {
		err = errors.New("want a head such as key,cls, with commas: the name of a sample, or a field that says which, and fields that get values")
	}
	if err != nil {
		return nil, bad(shardify.Mismatch("%v", err))
	}
	l := &labels{from: x.Labels, values: map[string][]byte{}, found: map[string]bool{}}
	for i, name := range head {
		k := shardify.FieldIndex(schema, name)
		switch {
		case i == 0 && name == keyColumn && k < 0:
			continue
		case k < 0:
			return nil, bad(shardify.Mismatch("the set has no field %q", name))
		case i == 0:
			if l.by = name; namesSamples(schema, name) != nil {
				return nil, bad(namesSamples(schema, name))
			}
			continue
		case schema[k].Levels > 0:
			err := shardify.Unsupported("values for field %s: its samples are texts or lists, want a field of one number a sample", name)
			return nil, shardify.Hint(bad(err), "a conversion with --encode "+printable.Quote(name)+" makes classes of texts, which relabel takes by their names")
		case schema[k].Elem() != 1 || schema[k].Nullable || shardify.Companion(schema, k) || slices.Contains(head[:i], name):
			return nil, bad(shardify.Unsupported("values for field %s: want a field of one number a sample, once, without missing values", name))
		}
		l.fields = append(l.fields, schema[k])
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return nil, bad(shardify.Mismatch("%v", err))
		}
		line, _ := r.FieldPos(0)
		var all []byte
		for i := range l.fields {
			v, err := valueOf(&l.fields[i], row[1+i])
			if err != nil {
				return nil, bad(shardify.Mismatch("line %d: field %s: %v", line, l.fields[i].Name, err))
			}
			all = append(all, v...)
		}
		if had, ok := l.values[row[0]]; ok && !bytes.Equal(had, all) {
			return nil, bad(shardify.Mismatch("line %d: %q has two values", line, row[0]))
		}
		l.values[row[0]] = all
	}
}

// namesSamples refuses a field by whose values no samples can be named.
func namesSamples(schema []shardify.Field, name string) error {
	k := shardify.FieldIndex(schema, name)
	if k < 0 {
		return shardify.Mismatch("the set has no field %q", name)
	}
	if f := &schema[k]; f.Elem() != 1 || f.Nullable || !(f.Levels == 0 && f.DType.IsInt() || f.Levels == 1 && f.Media == "txt") {
		return shardify.Unsupported("samples by field %s: want whole numbers or texts", name)
	}
	return nil
}

// valueOf is a text as a value of a field: the name of a class where the field has such.
func valueOf(f *shardify.Field, text string) ([]byte, error) {
	var from, back [8]byte
	kind := shardify.I64
	out := make([]byte, f.DType.Size())
	if names := f.Labels(); names != nil {
		code := slices.Index(names, text)
		if code < 0 {
			return nil, shardify.Mismatch("the set has no label %q", text)
		}
		text = strconv.Itoa(code)
	}
	switch {
	case f.DType.IsFloat():
		v, err := numeric.ParseFloat([]byte(text))
		if err != nil {
			return nil, shardify.Mismatch("%q is no number", text)
		}
		if now := putFloat(out, f.DType, v); math.IsInf(now, 0) && !math.IsInf(v, 0) {
			return nil, shardify.Mismatch("%s does not fit %s", text, f.DType)
		}
		return out, nil
	case f.DType == shardify.U64:
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, shardify.Mismatch("%q is no %s", text, f.DType)
		}
		binary.LittleEndian.PutUint64(out, v)
		return out, nil
	case f.DType == shardify.Bool && strings.EqualFold(text, "true"):
		text = "1"
	case f.DType == shardify.Bool && strings.EqualFold(text, "false"):
		text = "0"
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || f.DType == shardify.Bool && v>>1 != 0 {
		return nil, shardify.Mismatch("%q is no %s", text, f.DType)
	}
	binary.LittleEndian.PutUint64(from[:], uint64(v))
	if f.DType == shardify.Bool {
		out[0] = byte(v)
		return out, nil
	}
	numeric.Convert(out, f.DType, from[:], kind)
	if numeric.Convert(back[:], kind, out, f.DType); back != from {
		return nil, shardify.Mismatch("%s does not fit %s", text, f.DType)
	}
	return out, nil
}

// putFloat writes a number as a value of a type, and returns what it is then.
func putFloat(out []byte, t shardify.DType, v float64) float64 {
	switch t {
	case shardify.F16:
		h := half.ToF16(half.Narrow(v))
		binary.LittleEndian.PutUint16(out, h)
		return float64(half.F16(h))
	case shardify.BF16:
		h := half.ToBF16(half.Narrow(v))
		binary.LittleEndian.PutUint16(out, h)
		return float64(half.BF16(h))
	case shardify.F32:
		binary.LittleEndian.PutUint32(out, math.Float32bits(float32(v)))
		return float64(float32(v))
	}
	binary.LittleEndian.PutUint64(out, math.Float64bits(v))
	return v
}

// given is a sample that gets values.
type given struct {
	sample int64
	values []byte
}

func touched(list []given) (out []stretch) {
	for _, g := range list {
		out = addTo(out, g.sample, true)
	}
	return out
}

// given finds the samples of a set whose values change.
func (x *editor) given(ctx context.Context, s *Set, l *labels) ([]given, error) {
	var columns []string
	if l.by != "" {
		columns = append(columns, l.by)
	}
	for i := range l.fields {
		columns = append(columns, l.fields[i].Name)
	}
	var all []given
	see := func(first int64, b *shardify.Batch) error {
		var list []given
		found := map[string]bool{}
		at, err := l.columns(b)
		if err != nil {
			return err
		}
		key := keyOf(b, l.by)
		for i := range b.Samples {
			key := key(i)
			values, ok := l.values[string(key)]
			if !ok {
				continue
			}
			found[string(key)] = true
			rest, same := values, true
			for _, k := range at {
				n := b.Columns[k].ElemBytes()
				same = same && bytes.Equal(rest[:n], b.Columns[k].Data[i*n:(i+1)*n])
				rest = rest[n:]
			}
			if !same {
				list = append(list, given{first + int64(i), values})
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		all = append(all, list...)
		for k := range found {
			l.found[k] = true
		}
		return nil
	}
	err := x.look(ctx, s, columns, func([]shardify.Field) (func(int64, *shardify.Batch) error, error) { return see, nil })
	slices.SortFunc(all, func(a, b given) int { return cmp.Compare(a.sample, b.sample) })
	return all, err
}

// columns are the places of the fields in a batch.
func (l *labels) columns(b *shardify.Batch) (at []int, err error) {
	for i := range l.fields {
		at = append(at, slices.IndexFunc(b.Columns, func(c shardify.Column) bool { return c.Name == l.fields[i].Name }))
	}
	if l.by == "" && b.Keys == nil {
		err = shardify.Unsupported("the samples have no names: a field may say which they are, as the first column of the table")
	}
	return at, err
}

// keyOf returns what a sample of a batch is called: its name, or its value of a field as text.
func keyOf(b *shardify.Batch, by string) func(i int) []byte {
	if by == "" {
		return b.Key
	}
	c := &b.Columns[slices.IndexFunc(b.Columns, func(c shardify.Column) bool { return c.Name == by })]
	if c.Levels == 1 {
		return func(i int) []byte { return c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]] }
	}
	names := c.Labels()
	return func(i int) []byte { return number(c, names, i) }
}

// number is a whole number as the table has it: the name of a class, or digits.
func number(c *shardify.Column, names []string, i int) []byte {
	n := c.DType.Size()
	var v [8]byte
	numeric.Convert(v[:], shardify.I64, c.Data[i*n:(i+1)*n], c.DType)
	code := int64(binary.LittleEndian.Uint64(v[:]))
	if code >= 0 && code < int64(len(names)) {
		return []byte(names[code])
	}
	if c.DType == shardify.U64 {
		return strconv.AppendUint(nil, uint64(code), 10)
	}
	return strconv.AppendInt(nil, code, 10)
}

// relabelling puts values into batches of a set.
type relabelling struct {
	*labels
	list []given
}

// of are the values for samples [lo, hi), by their place there.
func (r *relabelling) of(lo, hi int64) []given {
	at := func(sample int64) int {
		i, _ := slices.BinarySearchFunc(r.list, sample, func(g given, s int64) int { return cmp.Compare(g.sample, s) })
		return i
	}
	return r.list[at(lo):at(hi)]
}

// apply is a batch with the values of its samples, of which the first has a number.
func (r *relabelling) apply(b *shardify.Batch, first int64, mem *shardify.Arena) (*shardify.Batch, error) {
	list := r.of(first, first+int64(b.Samples))
	if len(list) == 0 {
		return b, nil
	}
	at, err := r.columns(b)
	if err != nil {
		return nil, err
	}
	out := *b
	out.Columns = slices.Clone(b.Columns)
	skip := 0
	for _, k := range at {
		c := &out.Columns[k]
		n := c.ElemBytes()
		data := mem.Alloc(len(c.Data))
		copy(data, c.Data)
		for _, g := range list {
			copy(data[int(g.sample-first)*n:], g.values[skip:skip+n])
		}
		c.Data, skip = data, skip+n
	}
	return &out, nil
}

// digest covers the values for samples [lo, hi).
func (r *relabelling) digest(lo, hi int64) []byte {
	var b []byte
	for i := range r.fields {
		b = append(b, r.fields[i].Name...)
	}
	for _, g := range r.of(lo, hi) {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(g.sample-lo)), g.values...)
	}
	return b
}
