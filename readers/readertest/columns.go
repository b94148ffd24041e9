package readertest

import (
	"context"

	"github.com/shardify/shardify"
)

// Columns is a whole source in memory.
type Columns struct {
	Samples int64
	Order   []string // of the schema
	ByName  map[string]*shardify.Column
}

// Load reads a source to its end in spans of about target bytes, and checks every batch
// against its span and the schema.
func Load(src shardify.Source, target int64) (*Columns, error) {
	out := &Columns{ByName: map[string]*shardify.Column{}}
	for _, f := range src.Schema() {
		col := &shardify.Column{Field: f}
		for range f.Levels {
			col.Offsets = append(col.Offsets, []int64{0})
		}
		out.Order = append(out.Order, f.Name)
		out.ByName[f.Name] = col
	}
	var spans []shardify.Span
	for sp, err := range src.Spans(context.Background(), target) {
		if err != nil {
			return nil, err
		}
		spans = append(spans, sp)
	}
	if err := each(src, spans, out.add); err != nil {
		return nil, err
	}
	return out, nil
}

func (l *Columns) add(b *shardify.Batch) {
	l.Samples += int64(b.Samples)
	for i := range b.Columns {
		c := &b.Columns[i]
		to := l.ByName[c.Name]
		to.Data = append(to.Data, c.Data...)
		to.Valid = append(to.Valid, c.Valid...)
		for level, offs := range c.Offsets {
			base := to.Offsets[level][len(to.Offsets[level])-1]
			for _, o := range offs[1:] {
				to.Offsets[level] = append(to.Offsets[level], base+o)
			}
		}
	}
}
