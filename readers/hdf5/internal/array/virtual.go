package array

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
)

// mapping says which elements of another array are where in a virtual one: the
// n-th of one selection is the n-th of the other.
type mapping struct {
	src      *Array
	from, to slab
}

// maxMappings bounds the work for one virtual data set.
const maxMappings = 1 << 20

func newMappings(a *Array) ([]mapping, error) {
	list, err := a.Set.Mappings()
	if err != nil {
		return nil, err
	}
	if len(list) > maxMappings {
		return nil, shardify.Unsupported("a virtual data set of %d parts", len(list))
	}
	if a.Set.Type.HasVarLen() {
		return nil, shardify.Unsupported("a virtual data set of variable-length values")
	}
	out := make([]mapping, 0, len(list))
	for i := range list {
		m, ok, err := a.mapping(&list[i])
		if err != nil {
			return nil, located(err, -1, "part %d of the virtual data set (%s of %s)", i, list[i].Dataset, list[i].File)
		}
		if ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// mapping opens the source of a part; ok is false for an empty one.
func (a *Array) mapping(m *dataset.Mapping) (out mapping, ok bool, err error) {
	if m.Source.Kind == dataset.SelectNone || m.Virtual.Kind == dataset.SelectNone {
		return out, false, nil
	}
	if out.to, err = newSlab(&m.Virtual, a.Dims); err != nil {
		return out, false, err
	}
	if out.src, err = a.source(m); err != nil {
		return out, false, err
	}
	if !sameType(a.Set.Type, out.src.Set.Type) {
		return out, false, shardify.Unsupported("the source has another type")
	}
	if out.from, err = newSlab(&m.Source, out.src.Dims); err != nil {
		return out, false, err
	}
	if out.from.count != out.to.count {
		return out, false, shardify.Corrupt(-1, "%d elements for %d", out.from.count, out.to.count)
	}
	return out, out.to.count > 0, nil
}

func (a *Array) source(m *dataset.Mapping) (*Array, error) {
	f := a.File
	name, err := literal(m.File)
	if err != nil {
		return nil, err
	}
	path, err := literal(m.Dataset)
	if err != nil {
		return nil, err
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	o, err := f.other(name) // a new one even for itself, so that circles end
	if err != nil {
		return nil, err
	}
	return o.Array(path)
}

// literal is a name without placeholders.
func literal(s string) (string, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if i++; i == len(s) || s[i] != '%' {
				return "", shardify.Unsupported("the name %q stands for many", s)
			}
		}
		out = append(out, s[i])
	}
	return string(out), nil
}

// sourceBytes is about how much of a source is read at once.
const sourceBytes = 4 << 20

func (a *Array) readVirtual(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	Fill(dst, a.Set.Fill)
	if w.sub == nil {
		w.sub = &Buffers{keep: keepAll}
		if w.sub.shared = w.shared; w.shared == nil {
			w.sub.shared = w
		}
	}
	for i := range a.maps {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := &a.maps[i]
		ra, rb := m.to.rows(lo, hi)
		if ra >= rb {
			continue
		}
		n, end := ra*m.to.perRow(), rb*m.to.perRow()
		if err := m.copy(ctx, w, dst, lo*a.RowElems, n, end); err != nil {
			return located(err, -1, "virtual data set, source %s", m.src.Path)
		}
	}
	return nil
}

// copy copies elements [n, end) of the selections; dst begins with element base.
func (m *mapping) copy(ctx context.Context, w *Buffers, dst []byte, base, n, end int64) error {
	per, src := m.from.perRow(), m.src
	for n < end {
		first := n / per
		last := min((end-1)/per, first)
		lo := m.from.row(first)
		for last < (end-1)/per && (m.from.row(last+1)+1-lo)*src.RowBytes <= sourceBytes {
			last++
		}
		hi := m.from.row(last) + 1
		if err := w.Grow(ctx, &w.rows, (hi-lo)*src.RowBytes); err != nil {
			return err
		}
		if err := src.Backed(hi - lo); err != nil {
			return err
		}
		if err := src.Read(ctx, w.sub, w.rows, lo, hi); err != nil {
			return err
		}
		for stop := min((last+1)*per, end); n < stop; {
			from, run := m.from.at(n)
			to, also := m.to.at(n)
			k := min(run, also, stop-n)
			copy(dst[(to-base)*src.Elem:][:k*src.Elem], w.rows[(from-lo*src.RowElems)*src.Elem:])
			n += k
		}
	}
	return nil
}

// sameType reports whether elements of two types have the same bytes for the same
// values.
func sameType(a, b *datatype.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Class != b.Class || a.Size != b.Size || a.Order != b.Order || a.Signed != b.Signed || a.BitOffset != b.BitOffset ||
		a.Precision != b.Precision || a.Float != b.Float || a.Padding != b.Padding || a.VarString != b.VarString ||
		len(a.Members) != len(b.Members) || len(a.Dims) != len(b.Dims) || string(a.Values) != string(b.Values) {
		return false
	}
	for i := range a.Dims {
		if a.Dims[i] != b.Dims[i] {
			return false
		}
	}
	for i := range a.Members {
		if a.Members[i].Name != b.Members[i].Name || a.Members[i].Offset != b.Members[i].Offset || !sameType(a.Members[i].Type, b.Members[i].Type) {
			return false
		}
	}
	return sameType(a.Base, b.Base)
}

// source is a data set of which a virtual one has values.
type source struct{ File, Path string }

// Sources are those of a virtual data set, nil of any other.
func (a *Array) Sources() (out []source) {
	if a.Set.Layout.Class != dataset.Virtual || a.ready() != nil {
		return nil
	}
	for i := range a.maps {
		out = append(out, source{a.maps[i].src.File.Path, a.maps[i].src.Path})
	}
	return out
}
