package wds

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
)

// column gathers one member of every sample of a span.
type column struct {
	*dataset.Member
	wanted bool

	// Lengths, from the first pass.
	offsets []int64
	texts   int64 // of all samples
	size    int64 // of data
	valid   []byte
	shape   []byte
	ext     []byte
	// Contents, from the second.
	data []byte
	ends []int64 // of texts
}

// begin makes the columns ready for a span of n samples.
func (r *reader) begin(n int, mem *shardify.Arena) {
	if r.cols == nil {
		r.cols = make([]column, len(r.src.tar.Members))
		for i := range r.cols {
			r.cols[i] = newColumn(r.src, &r.src.tar.Members[i])
		}
	}
	for i := range r.cols {
		c := &r.cols[i]
		c.texts, c.size = 0, 0
		if !c.wanted {
			continue
		}
		if c.Of.Levels > 0 {
			c.offsets = mem.Int64s(n + 1)
			c.offsets[0] = 0
		}
		if c.Of.Nullable {
			c.valid = mem.Alloc(n)
		}
		if c.Ext >= 0 {
			c.ext = mem.Alloc(n)
		}
		if c.Shape >= 0 {
			c.shape = mem.Alloc(n * 8 * c.Dims())
		}
	}
}

func newColumn(s *source, m *dataset.Member) column {
	c := column{Member: m}
	for _, w := range s.wanted {
		c.wanted = c.wanted || w == m.Field
	}
	return c
}

// measure checks a member and adds its length.
func (c *column) measure(w *dataset.Walk, i int, e *tar.Entry, code int) error {
	var dims []byte
	if c.shape != nil {
		dims = c.shape[i*8*c.Dims():]
	}
	m, err := w.Measure(c.Member, e, dims)
	if err != nil {
		return err
	}
	c.size += m.Bytes
	if c.ext != nil {
		c.ext[i] = byte(code)
	}
	if c.offsets != nil {
		c.offsets[i+1] = c.offsets[i] + m.N
	}
	if c.valid != nil {
		c.valid[i] = 0
		if m.Valid {
			c.valid[i] = 1
		}
	}
	if c.Kind == tar.MemberTexts {
		c.texts += m.N
	}
	return nil
}

// allocate makes room for what the first pass has found.
func (r *reader) allocate(keys *shardify.Column, n int, mem *shardify.Arena) error {
	for i := range r.cols {
		c := &r.cols[i]
		if !c.wanted {
			continue
		}
		c.data = mem.Alloc(int(c.size))
		if c.Kind == tar.MemberTexts {
			c.data = c.data[:0]
			c.ends = append(mem.Int64s(int(c.texts) + 1)[:0], 0)
		}
		if err := r.sameCounter(i, n); err != nil {
			return err
		}
	}
	if keys != nil {
		keys.Data = mem.Alloc(int(keys.Offsets[0][n]))
	}
	return nil
}

// sameCounter checks that fields of one counter have equal lengths.
func (r *reader) sameCounter(i, n int) error {
	c := &r.cols[i]
	if c.Of.Counter == "" {
		return nil
	}
	for j := range i {
		o := &r.cols[j]
		if !o.wanted || o.Of.Counter != c.Of.Counter {
			continue
		}
		for k := range n + 1 {
			if c.offsets[k] != o.offsets[k] {
				return withField(shardify.Corrupt(-1, "lists of fields %s and %s, which share the counter %s, differ in length at sample %d of the span",
					o.Of.Name, c.Of.Name, c.Of.Counter, k-1), c.Of.Name)
			}
		}
		return nil
	}
	return nil
}

// fill puts a member's data in its place.
func (c *column) fill(w *dataset.Walk, i int, e *tar.Entry, _ int) (err error) {
	lo, hi := int64(i), int64(i)+1
	if c.offsets != nil {
		lo, hi = c.offsets[i], c.offsets[i+1]
	}
	if c.Kind == tar.MemberTexts {
		c.data, c.ends, err = w.Texts(c.data, c.ends, c.Member, e, hi-lo)
		return err
	}
	return w.Fill(c.data[lo*c.Elem:hi*c.Elem], c.Member, e)
}

// deliver puts the wanted columns into the batch, in the order of the schema.
func (r *reader) deliver(b *shardify.Batch) {
	all := r.src.survey.Schema
	for _, f := range r.src.wanted {
		col := shardify.Column{Field: all[f]}
		for i := range r.cols {
			c := &r.cols[i]
			switch f {
			case c.Field:
				col.Data, col.Valid = c.data, c.valid
				if c.offsets != nil {
					col.Offsets = append(col.Offsets, c.offsets)
				}
				if c.Kind == tar.MemberTexts {
					col.Offsets = append(col.Offsets, c.ends)
				}
			case c.Shape:
				col.Data = c.shape
			case c.Ext:
				col.Data = c.ext
			}
		}
		b.Columns = append(b.Columns, col)
	}
}

// keyColumn is the column of names, without data.
func keyColumn(n int, mem *shardify.Arena) *shardify.Column {
	f := index.KeyField()
	o := mem.Int64s(n + 1)
	o[0] = 0
	return &shardify.Column{Field: f, Offsets: [][]int64{o}}
}

// takeKey adds the length of sample i's name in the first pass, and the name in
// the second.
func takeKey(keys *shardify.Column, key []byte, i int) error {
	o := keys.Offsets[0]
	if keys.Data == nil {
		o[i+1] = o[i] + int64(len(key))
		return nil
	}
	if int64(len(key)) != o[i+1]-o[i] {
		return shardify.Corrupt(-1, "the file changed while it was read")
	}
	copy(keys.Data[o[i]:], key)
	return nil
}
