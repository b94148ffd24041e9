package labels

import (
	"context"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/parquet"
	"github.com/shardify/shardify/storage"
)

// parquet reads the columns of numbers and text of a Parquet file.
func (t *Table) parquet(ctx context.Context, fs storage.FS, at storage.Stamp) error {
	table := &format.Table{Roots: []string{t.File}, FS: fs}
	table.Append(0, "", at.Size, at.ModTime)
	src, err := parquet.Format.Open(ctx, format.OpenArgs{Table: table, Jobs: 1})
	if err != nil {
		return err
	}
	defer src.Close()
	schema := src.Schema()
	key := shardify.FieldIndex(schema, t.Key)
	if t.Key == "" || key < 0 {
		var names []string
		for i := range schema {
			names = append(names, schema[i].Name)
		}
		return noKey(t.Key, names)
	}
	all := make([]Column, len(schema))
	for i := range schema {
		all[i].Field = schema[i]
		all[i].Field.Counter, all[i].Field.Nullable = "", false
		if why := unfit(&schema[i]); why != "" && i == key {
			return shardify.Mismatch("the names in %s: %s", t.Key, why)
		}
	}
	if err := t.fill(ctx, src, all); err != nil {
		return err
	}
	for i := range all {
		c := &all[i]
		why := unfit(&schema[i])
		switch {
		case i == key && c.missing != nil:
			return shardify.Corrupt(-1, "row %d has no name under %q", slices.Index(c.missing, true), t.Key)
		case i == key && c.ints != nil:
			for _, v := range c.ints {
				t.keys = append(t.keys, strconv.FormatInt(v, 10))
			}
		case i == key:
			t.keys = c.texts
		case why != "":
			t.Left = append(t.Left, format.Leftover{Name: c.Field.Name, Reason: why})
		default:
			c.widen()
			t.Columns = append(t.Columns, *c)
		}
	}
	return nil
}

// unfit says why a field is not a label.
func unfit(f *shardify.Field) string {
	switch {
	case f.Media == "txt" && f.Levels == 1, f.Levels == 0 && len(f.Shape) == 0 && f.DType != shardify.U64 && f.DType != shardify.F16:
		return ""
	}
	return "it is neither a number nor text"
}

// widen gives numbers the types that labels have.
func (c *Column) widen() {
	switch {
	case c.ints != nil && c.Field.DType != shardify.Bool:
		c.Field.DType = shardify.I64
	case c.floats != nil:
		c.Field.DType = shardify.F64
	}
}

// fill reads all rows.
func (t *Table) fill(ctx context.Context, src shardify.Source, all []Column) error {
	r, err := src.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	pool := shardify.NewPool(256 << 20)
	for sp, err := range src.Spans(ctx, 4<<20) {
		if err != nil {
			return err
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return err
		}
		b, err := r.Read(ctx, sp, mem)
		if err != nil {
			mem.Release()
			return err
		}
		for i := range all {
			if unfit(&b.Columns[i].Field) == "" {
				all[i].take(&b.Columns[i], b.Samples)
			}
		}
		mem.Release()
	}
	return nil
}

// take appends the values of a batch.
func (c *Column) take(from *shardify.Column, samples int) {
	size := from.DType.Size()
	for i := range samples {
		missing := from.Valid != nil && from.Valid[i] == 0
		if missing && c.missing == nil {
			c.missing = make([]bool, c.len())
			c.Field.Nullable = true
		}
		if c.missing != nil {
			c.missing = append(c.missing, missing)
		}
		switch {
		case from.Levels == 1:
			o := from.Offsets[0]
			c.texts = append(c.texts, string(from.Data[o[i]:o[i+1]]))
		case from.DType.IsFloat():
			c.floats = append(c.floats, 0)
			numeric.Convert(shardify.Bytes(c.floats[len(c.floats)-1:]), shardify.F64, from.Data[i*size:(i+1)*size], from.DType)
		default:
			c.ints = append(c.ints, 0)
			numeric.Convert(shardify.Bytes(c.ints[len(c.ints)-1:]), shardify.I64, from.Data[i*size:(i+1)*size], from.DType)
		}
	}
}

func (c *Column) len() int { return len(c.ints) + len(c.floats) + len(c.texts) }
