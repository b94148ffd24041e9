package rntuple

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
)

// Flags of fields and columns.
const (
	fieldRepetitive = 1 << iota
	fieldProjected
	fieldChecksum
)

const (
	columnDeferred = 1 << iota
	columnRange
)

// featureFlags refuses files that say "who does not know this must not read me".
func featureFlags(c *cursor) error {
	for i := 0; ; i++ {
		w := c.u64()
		if set := w &^ (1 << 63); set != 0 && c.err == nil {
			return shardify.Unsupported("feature flags %x in word %d of the envelope", set, i)
		}
		if w>>63 == 0 {
			return c.err
		}
	}
}

func (n *Ntuple) parseHeader(b []byte) error {
	c := newCursor(b)
	if err := featureFlags(&c); err != nil {
		return err
	}
	n.Name, n.Description, n.Writer = c.str(), c.str(), c.str()
	n.parseSchema(&c)
	if c.err != nil {
		return c.err
	}
	return nil
}

// parseSchema reads the four lists that header and footer have alike, and appends
// to what is there.
func (n *Ntuple) parseSchema(c *cursor) {
	for _, list := range []struct {
		least int
		item  func(*cursor)
	}{{8 + 16 + 4*4, n.parseField}, {8 + 12, n.parseColumn}, {8 + 8, n.parseAlias}, {8 + 16, func(*cursor) {}}} {
		in, items := c.list(list.least)
		for range items {
			r := in.record()
			list.item(&r)
			in.join(&r)
		}
		c.join(&in)
	}
}

func (n *Ntuple) parseField(c *cursor) {
	f := Field{ID: len(n.Fields), Source: -1, version: c.u32()}
	c.u32() // type version
	f.Parent = int(c.u32())
	f.Role = fieldRole(c.u16())
	f.flags = uint32(c.u16())
	f.Name, f.TypeName, f.TypeAlias, f.Description = c.str(), c.str(), c.str(), c.str()
	if f.flags&fieldRepetitive != 0 {
		f.ArraySize = c.u64()
	}
	if f.flags&fieldProjected != 0 {
		f.Source = int(c.u32())
	}
	if f.Parent > f.ID {
		c.fail("field %d %q: parent %d comes later", f.ID, f.Name, f.Parent)
	}
	if c.err != nil {
		return
	}
	n.Fields = append(n.Fields, f)
	if f.Parent == f.ID {
		n.Top = append(n.Top, f.ID)
	} else {
		p := &n.Fields[f.Parent]
		p.Children = append(p.Children, f.ID)
	}
}

func (n *Ntuple) parseColumn(c *cursor) {
	col := Column{ID: len(n.Columns), Type: colType(c.u16()), Bits: int(c.u16()), Field: int(c.u32())}
	flags := c.u16()
	col.Representation = int(c.u16())
	if flags&columnDeferred != 0 {
		col.Deferred = true
		// A negative one is also suppressed up to there: another representation
		// has what is before, so nothing of it is zero.
		col.First = max(int64(c.u64()), 0)
	}
	if flags&columnRange != 0 {
		col.Min, col.Max = c.f64(), c.f64()
	}
	if col.Field >= len(n.Fields) {
		c.fail("column %d belongs to field %d of %d", col.ID, col.Field, len(n.Fields))
	}
	if c.err != nil {
		return
	}
	f := &n.Fields[col.Field]
	for i := len(f.Columns) - 1; i >= 0 && n.Columns[f.Columns[i]].Representation == col.Representation; i-- {
		col.place++
	}
	n.Columns = append(n.Columns, col)
	f.Columns = append(f.Columns, col.ID)
	if why := col.fault(); why != "" {
		n.setForeign(col.Field, why)
	}
}

// fault says why a column cannot be decoded, or "".
func (c *Column) fault() string {
	if !c.Type.known() {
		return fmt.Sprintf("%v is not known", c.Type)
	}
	t := &columnTypes[c.Type]
	switch {
	case c.Bits < t.minBits || c.Bits > t.maxBits:
		return fmt.Sprintf("column of type %v with %d bits", c.Type, c.Bits)
	case c.Type == colReal32Quant && !(c.Min < c.Max && !math.IsInf(c.Max-c.Min, 0)):
		return fmt.Sprintf("quantised column with the bounds %v and %v", c.Min, c.Max)
	}
	return ""
}

// setForeign marks the top-level field above a field as not readable.
func (n *Ntuple) setForeign(field int, why string) {
	for n.Fields[field].Parent != field {
		field = n.Fields[field].Parent
	}
	if n.foreign == nil {
		n.foreign = map[int]string{}
	}
	if n.foreign[field] == "" {
		n.foreign[field] = why
	}
}

func (n *Ntuple) parseAlias(c *cursor) {
	column, field := int(c.u32()), int(c.u32())
	if c.err == nil && (column >= len(n.Columns) || field >= len(n.Fields)) {
		c.fail("alias of column %d (of %d) for field %d (of %d)", column, len(n.Columns), field, len(n.Fields))
	}
	if c.err != nil {
		return
	}
	if n.aliases == nil {
		n.aliases = map[int][]int{}
	}
	n.aliases[field] = append(n.aliases[field], column)
}
