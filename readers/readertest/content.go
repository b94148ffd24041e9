package readertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"reflect"
	"slices"

	"github.com/shardify/shardify"
)

// Content is what a sequence of batches holds, whatever their borders: per
// field the digests of its values, of its list lengths and of its validity.
type Content struct {
	Samples int64
	fields  map[string]*fieldContent
	ids     hash.Hash
	order   []string
}

type fieldContent struct {
	field  shardify.Field
	data   hash.Hash
	levels []hash.Hash
	valid  hash.Hash
	bytes  int64
}

// NewContent returns an empty Content.
func NewContent() *Content {
	return &Content{fields: map[string]*fieldContent{}, ids: sha256.New()}
}

// Add adds samples [lo, hi) of a batch.
func (c *Content) Add(b *shardify.Batch, lo, hi int) {
	c.Samples += int64(hi - lo)
	for i := lo; i < hi; i++ {
		id := b.ID(i)
		put(c.ids, int64(id.Input), id.Sample, int64(id.Copy))
	}
	for i := range b.Columns {
		c.add(b.Columns[i].Name, &b.Columns[i], lo, hi)
	}
	if b.Keys != nil {
		c.add("__key__", b.Keys, lo, hi)
	}
}

func (c *Content) add(name string, col *shardify.Column, lo, hi int) {
	f := c.fields[name]
	if f == nil {
		f = &fieldContent{field: col.Field, data: sha256.New(), valid: sha256.New()}
		for range col.Levels {
			f.levels = append(f.levels, sha256.New())
		}
		c.fields[name] = f
		c.order = append(c.order, name)
	}
	from, to := col.Range(lo, hi)
	f.data.Write(col.Data[from:to])
	f.bytes += int64(to - from)
	a, b := int64(lo), int64(hi)
	for l, o := range col.Offsets {
		for i := a; i < b; i++ {
			put(f.levels[l], o[i+1]-o[i])
		}
		a, b = o[a], o[b]
	}
	for i := lo; i < hi; i++ {
		v := byte(1)
		if col.Valid != nil {
			v = col.Valid[i]
		}
		f.valid.Write([]byte{v})
	}
}

func put(h hash.Hash, v ...int64) {
	var buf [24]byte
	b := buf[:0]
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	h.Write(b)
}

// Equal returns an error that names the first difference.
func (c *Content) Equal(o *Content) error {
	if c.Samples != o.Samples {
		return fmt.Errorf("%d samples, want %d", o.Samples, c.Samples)
	}
	if !same(c.ids, o.ids) {
		return fmt.Errorf("other sample ids or order")
	}
	if !slices.Equal(c.order, o.order) {
		return fmt.Errorf("columns %q, want %q", o.order, c.order)
	}
	for _, name := range c.order {
		if err := c.EqualField(o, name); err != nil {
			return err
		}
	}
	return nil
}

// EqualField compares one field.
func (c *Content) EqualField(o *Content, name string) error {
	f, g := c.fields[name], o.fields[name]
	if f == nil || g == nil {
		return fmt.Errorf("column %s is missing", name)
	}
	if err := sameField(&f.field, &g.field); err != nil {
		return err
	}
	for l := range f.levels {
		if !same(f.levels[l], g.levels[l]) {
			return fmt.Errorf("column %s: other list lengths of level %d", name, l)
		}
	}
	if f.bytes != g.bytes {
		return fmt.Errorf("column %s: %d bytes, want %d", name, g.bytes, f.bytes)
	}
	if !same(f.data, g.data) {
		return fmt.Errorf("column %s: other values", name)
	}
	if !same(f.valid, g.valid) {
		return fmt.Errorf("column %s: other missing samples", name)
	}
	return nil
}

// Digest is the SHA-256 of a field's values in sample order, nil if there is no
// such field.
func (c *Content) Digest(name string) []byte {
	if f := c.fields[name]; f != nil {
		return f.data.Sum(nil)
	}
	return nil
}

func same(a, b hash.Hash) bool { return bytes.Equal(a.Sum(nil), b.Sum(nil)) }

func sameField(a, b *shardify.Field) error {
	if a.Name != b.Name || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || a.Levels != b.Levels ||
		a.Counter != b.Counter || a.Ragged != b.Ragged || a.Media != b.Media || a.Nullable != b.Nullable ||
		!maps.Equal(a.Attrs, b.Attrs) {
		return fmt.Errorf("field is %+v, want %+v", *b, *a)
	}
	return nil
}

// checkBatch reports whether a batch is what its span and the schema promise.
func checkBatch(b *shardify.Batch, sp shardify.Span, schema []shardify.Field) error {
	if b == nil {
		return fmt.Errorf("no batch and no error")
	}
	if int64(b.Samples) != sp.Samples() {
		return fmt.Errorf("%d samples", b.Samples)
	}
	if first := b.ID(0); first.Input != sp.Input || first.Sample != sp.Lo || first.Copy != 0 {
		return fmt.Errorf("first sample is %+v", first)
	}
	if err := b.Check(); err != nil {
		return err
	}
	if len(b.Columns) != len(schema) {
		return fmt.Errorf("%d columns for %d fields", len(b.Columns), len(schema))
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		if err := sameField(&schema[i], &c.Field); err != nil {
			return err
		}
		if len(c.Data) > 0 && reflect.ValueOf(c.Data).Pointer()%64 != 0 {
			return fmt.Errorf("column %s is not aligned to 64 bytes", c.Name)
		}
		if c.Valid != nil && !c.Nullable {
			return fmt.Errorf("column %s has valid marks and is not nullable", c.Name)
		}
	}
	return nil
}
