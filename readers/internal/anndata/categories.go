package anndata

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/zeebo/xxh3"
)

// categoriesOf are the names of the categories of a field in an input.
type categoriesOf struct {
	field   string
	names   []string
	ordered bool
}

// mostUnion bounds the bytes of names of all inputs.
const mostUnion = 256 << 20

// unite makes one table of the categories of each field, with names in the order in which they come.
func (s *source) unite(ctx context.Context, a *format.OpenArgs) error {
	all := make([][]categoriesOf, a.Table.Len())
	var mu sync.Mutex
	if err := survey.EachInput(ctx, a, func(ctx context.Context, i, _ int) error {
		t, err := s.tree(ctx, a.Table.Path(i))
		if err != nil {
			return nil // the survey says what is wrong
		}
		defer t.Close()
		m, err := build(ctx, t, s.c, nil)
		if err != nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		for k := range m.fields {
			if f := &m.fields[k]; f.kind == codes {
				all[i] = append(all[i], categoriesOf{f.Name, f.names, f.Attrs["ordered"] != ""})
			}
		}
		return nil
	}); err != nil {
		return err
	}
	s.one = map[string][]string{}
	known, size := map[[2]string]bool{}, 0
	for i, list := range all {
		for _, c := range list {
			old, there := s.one[c.field]
			if there && c.ordered && !slices.Equal(old, c.names) {
				return shardify.Annotate(shardify.Mismatch("the categories of %s are ordered, and others than in inputs before: no order of all follows", c.field), "open", a.Table.Shown(i), c.field)
			}
			for _, name := range c.names {
				if key := [2]string{c.field, name}; !known[key] {
					known[key] = true
					old, size = append(old, name), size+len(name)+1
				}
			}
			if s.one[c.field] = old; size > mostUnion || len(old) > math.MaxInt32 {
				return shardify.Unsupported("--categories union: names of more than %s", shardify.FormatSize(mostUnion))
			}
		}
	}
	return nil
}

// recode makes the codes of a model those of the tables of all inputs.
func (s *source) recode(m *model) error {
	for i := range m.fields {
		f := &m.fields[i]
		table, ok := s.one[f.Name]
		if !ok || f.kind != codes {
			continue
		}
		at, size, digest := make(map[string]int32, len(table)), 0, xxh3.New()
		for k, name := range table {
			at[name] = int32(k)
			size += len(name) + 1
			digest.WriteString(name)
			digest.WriteString("\x00")
		}
		f.stored, f.to = f.DType, make([]int32, len(f.names))
		for k, name := range f.names {
			if f.to[k], ok = at[name]; !ok {
				return errChanged
			}
		}
		switch n := len(table); {
		case n <= math.MaxInt8:
			f.DType = shardify.I8
		case n <= math.MaxInt16:
			f.DType = shardify.I16
		default:
			f.DType = shardify.I32
		}
		ordered := f.Attrs["ordered"]
		if f.Attrs = labelsOf(table, size, int64(len(table)), digest); ordered != "" {
			f.Attrs["ordered"] = ordered
		}
	}
	return nil
}

// recoded reads codes, and makes them those of the table of all inputs.
func (r *reader) recoded(f *field, c *shardify.Column) error {
	n, size, wide := int(r.span.Samples()), f.stored.Size(), c.DType.Size()
	raw := shardify.Column{Field: f.Field, Data: r.mem.Alloc(n * size)}
	raw.DType = f.stored
	if err := r.read.Numbers(r.ctx, f.path, r.span.Lo, r.span.Hi, raw.Data); err != nil {
		return err
	}
	if err := r.codes(f, &raw); err != nil {
		return err
	}
	c.Data, c.Valid = r.mem.Alloc(n*wide), raw.Valid
	for i := range n {
		var b [8]byte
		code := integer(f.stored, raw.Data[i*size:])
		if code >= 0 {
			code = int64(f.to[code])
		}
		le.PutUint64(b[:], uint64(code))
		copy(c.Data[i*wide:(i+1)*wide], b[:])
	}
	return nil
}
