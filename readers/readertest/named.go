package readertest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// Named writes the names of all samples ("-" without one) with their classes, by the field
// cls, and the fields: "cat/a cls=0, dog/b cls=1 of x,cls(cat dog)".
func Named(t testing.TB, src shardify.Source) string {
	t.Helper()
	var samples, fields []string
	schema := src.Schema()
	for i := range schema {
		name := schema[i].Name
		if l := schema[i].Labels(); l != nil {
			name += "(" + strings.Join(l, " ") + ")"
		}
		fields = append(fields, name)
	}
	cls := shardify.FieldIndex(schema, "cls")
	Each(t, src, Spans(t, src, 1<<40), func(b *shardify.Batch) {
		for i := range b.Samples {
			text := "-"
			if b.Keys != nil {
				o := b.Keys.Offsets[0]
				text = string(b.Keys.Data[o[i]:o[i+1]])
			}
			if cls >= 0 && schema[cls].Labels() != nil {
				text += fmt.Sprintf(" cls=%d", binary.LittleEndian.Uint64(b.Columns[cls].Data[8*i:]))
			}
			samples = append(samples, text)
		}
	})
	return strings.Join(samples, ", ") + " of " + strings.Join(fields, ",")
}
