package diff

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

// compared is a field that both sets have, with the same type; it may have a companion.
type compared struct {
	name    string
	columns [2][]int // in the schema of each side: the field and its companions
	// named are the digests of the names of codes, by side and column, where these differ; nil: codes
	// are compared as numbers.
	named [2][]map[int64][16]byte
}

// classes is a field whose values are counted.
type classes struct {
	name   string
	column [2]int // -1: the side has none
	names  [2]map[int64]string
}

// columns are what is compared of two schemas.
type columns struct {
	fields  []compared
	classes []classes
	diffs   []Field // by name; Samples is filled later
}

// kindOf is what two fields must have in common for their values to be compared.
func kindOf(f *shardify.Field) string {
	text, levels := f.DType.String(), f.Levels
	if f.Media != "" {
		text, levels = f.Media, f.Levels-1
	}
	if len(f.Shape) > 0 {
		text += strings.ReplaceAll(fmt.Sprint(f.Shape), " ", ",")
	}
	for range levels {
		text = "list of " + text
	}
	if f.Ragged {
		text += " of any shape"
	}
	return text
}

// match finds what two schemas have in common.
func match(schemas [2][]shardify.Field) *columns {
	c := &columns{}
	for i := range schemas[0] {
		f := &schemas[0][i]
		if shardify.Companion(schemas[0], i) {
			continue
		}
		k := shardify.FieldIndex(schemas[1], f.Name)
		if k < 0 || shardify.Companion(schemas[1], k) {
			c.diffs = append(c.diffs, Field{Name: f.Name, Change: Removed, A: kindOf(f)})
			continue
		}
		g := &schemas[1][k]
		a, b := kindOf(f), kindOf(g)
		if a != b {
			c.diffs = append(c.diffs, Field{Name: f.Name, Change: Changed, A: a, B: b, Uncompared: true})
			continue
		}
		d := Field{Name: f.Name, A: a, B: b}
		if keys := attrsThatDiffer(f.Attrs, g.Attrs); len(keys) > 0 || f.Nullable != g.Nullable {
			if f.Nullable != g.Nullable {
				keys = append(keys, "nullable")
			}
			d.Change, d.Attrs = Changed, keys
		}
		c.diffs = append(c.diffs, d)
		c.fields = append(c.fields, pair(schemas, i, k))
	}
	for i := range schemas[1] {
		g := &schemas[1][i]
		if k := shardify.FieldIndex(schemas[0], g.Name); !shardify.Companion(schemas[1], i) && (k < 0 || shardify.Companion(schemas[0], k)) {
			c.diffs = append(c.diffs, Field{Name: g.Name, Change: Added, B: kindOf(g)})
		}
	}
	c.count(schemas)
	return c
}

func attrsThatDiffer(a, b map[string]string) (keys []string) {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		x, inA := a[k]
		y, inB := b[k]
		if x != y || inA != inB {
			keys = append(keys, k)
		}
	}
	return keys
}

// pair is a field of both schemas with its companions.
func pair(schemas [2][]shardify.Field, i, k int) compared {
	c := compared{name: schemas[0][i].Name}
	for side, at := range [2]int{i, k} {
		c.columns[side] = []int{at}
		for _, suffix := range []string{shardify.ShapeSuffix, shardify.ExtSuffix} {
			if n := shardify.FieldIndex(schemas[side], c.name+suffix); n >= 0 && shardify.Companion(schemas[side], n) {
				c.columns[side] = append(c.columns[side], n)
			}
		}
	}
	for side := range c.named {
		c.named[side] = make([]map[int64][16]byte, len(c.columns[side]))
	}
	if len(c.columns[0]) != len(c.columns[1]) { // a companion that only one has: of no media that both can have
		return c
	}
	for n := range c.columns[0] {
		f, g := &schemas[0][c.columns[0][n]], &schemas[1][c.columns[1][n]]
		a, b := namesOf(f), namesOf(g)
		if len(a)+len(b) == 0 || maps.Equal(a, b) {
			continue
		}
		c.named[0][n], c.named[1][n] = digestsOf(a), digestsOf(b)
	}
	return c
}

// namesOf are the names of a field's codes.
func namesOf(f *shardify.Field) map[int64]string {
	names, codes := f.Codes()
	if len(names) == 0 || !(f.DType.IsInt() || f.DType == shardify.Bool) {
		return nil
	}
	out := make(map[int64]string, len(names))
	for i, name := range names {
		out[codes[i]] = name
	}
	return out
}

func digestsOf(names map[int64]string) map[int64][16]byte {
	out := make(map[int64][16]byte, len(names))
	for code, name := range names {
		out[code] = xxh3.HashString128(name).Bytes()
	}
	return out
}

// count chooses the fields whose values are classes: scalars whose codes have names, or "cls".
func (c *columns) count(schemas [2][]shardify.Field) {
	for side := range schemas {
		for i := range schemas[side] {
			f := &schemas[side][i]
			scalar := f.Levels == 0 && len(f.Shape) == 0 && f.Media == "" && (f.DType.IsInt() || f.DType == shardify.Bool)
			if !scalar || shardify.Companion(schemas[side], i) || len(namesOf(f)) == 0 && f.Name != "cls" {
				continue
			}
			at := slices.IndexFunc(c.classes, func(x classes) bool { return x.name == f.Name })
			if at < 0 {
				at = len(c.classes)
				c.classes = append(c.classes, classes{name: f.Name, column: [2]int{-1, -1}})
			}
			c.classes[at].column[side], c.classes[at].names[side] = i, namesOf(f)
		}
	}
}

// codeAt is value i of whole numbers.
func codeAt(f *shardify.Field, data []byte, i int) int64 {
	switch f.DType {
	case shardify.I8:
		return int64(int8(data[i]))
	case shardify.U8, shardify.Bool:
		return int64(data[i])
	case shardify.I16:
		return int64(int16(binary.LittleEndian.Uint16(data[i*2:])))
	case shardify.U16:
		return int64(binary.LittleEndian.Uint16(data[i*2:]))
	case shardify.I32:
		return int64(int32(binary.LittleEndian.Uint32(data[i*4:])))
	case shardify.U32:
		return int64(binary.LittleEndian.Uint32(data[i*4:]))
	}
	return int64(binary.LittleEndian.Uint64(data[i*8:]))
}
