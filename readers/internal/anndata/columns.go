package anndata

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/storage"
)

// Add takes a value of a matrix.
type Add func(row, column int64, value []byte) error

// csc adds a sparse matrix by columns, whose rows come together in a scratch file.
func (m *model) csc(path, name string, n int64, wide bool) error {
	x := &matrix{path: m.at(path), name: name, genes: wide}
	a, err := m.arrays(x)
	if err != nil {
		return err
	}
	m.used.Mark("csc")
	x.entries = func(ctx context.Context, add Add) error { return x.byColumn(ctx, m.tree, a, add) }
	if err := x.check(m, a[1].Shape[0], x.columns, a[2].Shape[0], n, wide); err != nil {
		return err
	}
	if err := m.ends(x, a[2].DType, x.columns); err != nil {
		return err
	}
	return m.spooled(x, wide)
}

// listed adds a sparse matrix that a Lister has.
func (m *model) listed(path, name string, n int64) error {
	l, ok := m.tree.(Lister)
	if !ok {
		return shardify.Unsupported("%s: unknown encoding-type %s", name, Listed)
	}
	list := l.List()
	x := &matrix{path: m.at(path), name: name, genes: true, rows: list.Rows, columns: list.Columns, stored: list.Values, index: shardify.I32, value: list.DType, entries: list.Each}
	m.used.Mark("csc")
	if err := x.check(m, x.stored, x.rows, x.rows+1, n, true); err != nil {
		return err
	}
	return m.spooled(x, true)
}

// spooled adds a matrix whose rows come together in a scratch file. Spans end where bands of it do.
func (m *model) spooled(x *matrix, wide bool) error {
	size := x.value.Size()
	m.units = append(m.units, unit{spoolBytes(x.stored, size)/max(x.rows, 1) + 1, bandRows(x.rows, x.stored, size), false})
	return m.sparse(x, wide)
}

// columnBlock is how many columns, and values, are looked at together.
const columnBlock = 1 << 15

// byColumn gives the values of a matrix by columns.
func (x *matrix) byColumn(ctx context.Context, t Tree, a [3]*Array, add Add) error {
	m := &model{tree: t, ctx: ctx, read: t.Reader()}
	defer m.read.Close()
	size, index := x.value.Size(), x.index.Size()
	values, places := make([]byte, columnBlock*size), make([]byte, columnBlock*index)
	at := int64(0)
	for first := int64(0); first < x.columns; first += columnBlock {
		ends, err := m.integers(x.path+"/indptr", a[2].DType, first, min(first+columnBlock, x.columns)+1)
		if err != nil {
			return err
		}
		for c, end := range ends[1:] {
			if ends[c] != at || end < at || end > x.stored {
				return shardify.Corrupt(-1, "%s: indptr falls or leaps at column %d, from %d to %d of %d values", x.name, first+int64(c), at, end, x.stored)
			}
			for at < end {
				// A column is read alone: most have thousands of values.
				n := min(end-at, columnBlock)
				if err := m.read.Numbers(ctx, x.path+"/data", at, at+n, values[:int(n)*size]); err != nil {
					return shardify.Annotate(err, "", "", x.path+"/data")
				}
				if err := m.read.Numbers(ctx, x.path+"/indices", at, at+n, places[:int(n)*index]); err != nil {
					return shardify.Annotate(err, "", "", x.path+"/indices")
				}
				for i := range int(n) {
					row := integer(x.index, places[i*index:])
					if row < 0 || row >= x.rows {
						return shardify.Corrupt(-1, "%s: row number %d of %d rows in column %d", x.name, row, x.rows, first+int64(c))
					}
					if err := add(row, first+int64(c), values[i*size:(i+1)*size]); err != nil {
						return err
					}
				}
				at += n
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// place is a matrix of an input.
type place struct {
	input uint32
	name  string
}

// byRow brings the rows of a matrix together, once. It holds no memory of the pool while others wait.
func (s *source) byRow(ctx context.Context, at place, x *matrix) (*spool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.spools[at]; m != nil {
		return m, nil
	}
	m, err := newSpool(x.rows, x.stored, x.value.Size(), s.store)
	if err != nil {
		return nil, err
	}
	if err = x.entries(ctx, m.add); err == nil {
		err = m.flush()
	}
	if err == nil && m.values() != x.stored {
		err = shardify.Corrupt(-1, "%s: %d values of %d", x.name, m.values(), x.stored)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	if s.spools == nil {
		s.spools = map[place]*spool{}
	}
	s.spools[at] = m
	return m, nil
}

// Close implements shardify.Source.
func (s *source) Close() error {
	err := s.Table.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, m := range s.spools {
		m.close()
		delete(s.spools, at)
	}
	return err
}

// CollectBytes implements format.Collector.
func (s *source) CollectBytes() (n int64) {
	for in := range s.Inputs() {
		if b, err := blobOf(&in); err == nil {
			n += max(b.Scratch, 0)
		}
	}
	return n
}

// Collect implements format.Collector: reading the first row of an input brings all of its rows together.
func (s *source) Collect(ctx context.Context, spans []shardify.Span, pool *shardify.Pool, _ int, store storage.Store) error {
	s.mu.Lock()
	s.store = store
	s.mu.Unlock()
	done := map[uint32]bool{}
	r, err := s.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, sp := range spans {
		if done[sp.Input] {
			continue
		}
		done[sp.Input] = true
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return err
		}
		_, err = r.Read(ctx, sp, mem)
		if mem.Release(); err != nil {
			return err
		}
	}
	return nil
}

// spooled finds the values of the span's rows in a scratch file.
func (r *reader) spooled(x *matrix) (*stretch, error) {
	m, err := r.src.byRow(r.ctx, place{r.input, x.name}, x)
	if err != nil {
		return nil, shardify.Annotate(err, "", "", x.path)
	}
	if r.views == nil {
		r.views = map[*matrix]*bandView{}
	}
	v := r.views[x]
	if v == nil {
		v = &bandView{}
		r.views[x] = v
	}
	held := m.holds(r.span.Lo, r.span.Hi)
	for _, other := range r.views {
		if other != v {
			held += other.bytes()
		}
	}
	if err := r.held.Hold(r.ctx, r.mem, max(held, v.bytes())); err != nil {
		return nil, err
	}
	n, total, size := int(r.span.Samples()), int64(0), x.index.Size()
	s := &stretch{offsets: r.mem.Int64s(n + 1)}
	s.offsets[0] = 0
	i := 0
	if err := m.read(r.span.Lo, r.span.Hi, v, func(columns []uint32, _ []byte) {
		total += int64(len(columns))
		i++
		s.offsets[i] = total
	}); err != nil {
		return nil, err
	}
	s.hi = total
	s.own[0], s.own[1] = r.mem.Alloc(int(total)*x.value.Size()), r.mem.Alloc(int(total)*size)
	values, indices := s.own[0], s.own[1]
	return s, m.read(r.span.Lo, r.span.Hi, v, func(columns []uint32, b []byte) {
		values = values[copy(values, b):]
		for _, c := range columns {
			var wide [8]byte
			le.PutUint64(wide[:], uint64(c))
			indices = indices[copy(indices, wide[:size]):]
		}
	})
}

// blob is what the plan has of an input.
type blob struct {
	Names   []string `json:"names"`
	Scratch int64    `json:"scratch,omitempty"` // bytes of scratch files
}

// drop forgets what is held of scratch files.
func (r *reader) drop() {
	r.views = nil
	r.held.Close()
}

var _ set.Worker[*input] = (*reader)(nil)
