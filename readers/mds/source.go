package mds

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/mds"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// source is many sets as one table.
type source struct {
	*set.Table[*dataSet]
	fs    storage.FS
	table *format.Table
	bytes bool // texts are bytes
	sets  dataset.Besides
	used  *format.Used
}

var errState = fmt.Errorf("%w: the index is another one than at the survey", shardify.ErrChanged)

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), table: a.Table, bytes: opts[optText] == "bytes", used: a.Used, sets: dataset.Besides{Format: index.FormatMDS}}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: "MDS", Look: s.look, Key: "1\x00" + opts[optText]})
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, func(ctx context.Context, f storage.File, in *set.Input) (*dataSet, error) {
		x, err := s.openSet(ctx, f, in.Path())
		if err == nil && x.samples != in.Samples {
			return nil, errState
		}
		return x, err
	}, func() shardify.Reader { return set.NewReader(s.Table, &reader{s: s}) })
	return s, nil
}

// openSet parses an index and settles what its columns are.
func (s *source) openSet(ctx context.Context, f storage.File, path string) (*dataSet, error) {
	x, err := parse(f)
	if err != nil {
		return nil, err
	}
	m, err := s.sets.Of(ctx, s.fs, path)
	if err != nil {
		return nil, err
	}
	if m != nil {
		if err := x.record(m); err != nil {
			return nil, err
		}
		return x, (&mds.Index{Columns: x.columns}).Restore(m.Schema)
	}
	return x, s.settle(ctx, x, storage.Dir(path))
}

// record holds an index against the manifest of its set, and takes the digests of the shards.
func (x *dataSet) record(m *index.Manifest) error {
	for i := range m.Files {
		if m.Files[i].Name == indexName {
			if err := dataset.CheckWhole(x.File, &m.Files[i]); err != nil {
				return err
			}
		}
	}
	if m.Samples != x.samples {
		return shardify.Corrupt(-1, "%d samples, the manifest says %d", x.samples, m.Samples)
	}
	places := make(map[string]int, len(m.Shards))
	for i := range m.Shards {
		places[m.Shards[i].Name] = i
	}
	for i := range x.shards {
		sh := &x.shards[i]
		k, ok := places[sh.Stored().Name]
		switch {
		case !ok:
			return shardify.Corrupt(-1, "%s has no shard %s", index.ManifestName, sh.Stored().Name)
		case m.Shards[k].Samples != sh.Samples || m.Shards[k].Bytes != sh.Stored().Bytes:
			return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes, the manifest says %d in %d", sh.Stored().Name, sh.Samples, sh.Stored().Bytes, m.Shards[k].Samples, m.Shards[k].Bytes)
		}
		sh.number, sh.digest = uint32(k), m.Shards[k].Digest
	}
	return nil
}

// settle looks at the first sample, where columns are arrays of any shape.
func (s *source) settle(ctx context.Context, x *dataSet, dir string) error {
	if s.bytes {
		for i := range x.columns {
			if f := &x.columns[i].Field; f.Media == "txt" {
				f.Media, x.text[i] = "bin", true
			}
		}
	}
	if !slices.ContainsFunc(x.columns, func(c mds.Column) bool { return !c.Known() }) {
		return nil
	}
	for i := range x.shards {
		sh := &x.shards[i]
		if sh.Samples == 0 {
			continue
		}
		o, err := s.openShard(ctx, dir, sh, func(int64) error { return nil })
		if err != nil {
			return err
		}
		defer o.close()
		var r reader
		if err := r.sums.Reset(o, o.size, sh.number, ""); err != nil {
			return err
		}
		vals, err := r.values(x, o, 0, 1)
		if err != nil {
			return err
		}
		for k := range x.columns {
			if c := &x.columns[k]; !c.Known() {
				v := vals[k][0]
				if err := c.Settle(r.buf[v.lo:v.hi]); err != nil {
					return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Sample = c.Field.Name, 0 })
				}
			}
		}
		return nil
	}
	for k := range x.columns { // no samples: any type will do
		if c := &x.columns[k]; !c.Known() {
			c.Leave(shardify.Unsupported("no sample has an array, which would have the type"))
		}
	}
	return nil
}

// look surveys one set.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := s.openSet(ctx, f, path)
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{Samples: x.samples, Size: f.Size()}
	total, packed := int64(0), false
	for i := range x.shards {
		sh := &x.shards[i]
		total += sh.Raw.Bytes
		facts.Borders.At = append(facts.Borders.At, sh.Lo+sh.Samples)
		p, err := s.packed(ctx, storage.Dir(path), sh)
		if err == nil && sh.Samples == 0 {
			err = s.empty(ctx, storage.Dir(path), sh)
		}
		if err != nil {
			return nil, err
		}
		if packed = packed || p; p && sh.Raw.Bytes > facts.PieceBytes {
			facts.Piece, facts.PieceBytes = "shard "+sh.Zip.Name, sh.Raw.Bytes
		}
	}
	if facts.Borders.At = slices.Compact(facts.Borders.At); !packed {
		facts.Borders.Inside = 1 // a compressed shard is decoded whole
	}
	facts.Lines = []string{fmt.Sprintf("%d shards, %s unpacked", len(x.shards), shardify.FormatSize(total))}
	if packed {
		facts.Lines[0] += ", compressed by zstd"
	}
	variable := int64(0)
	for i := range x.columns {
		if c := &x.columns[i]; c.Fixed < 0 {
			variable++
		} else {
			total -= x.samples * c.Fixed
		}
	}
	for i := range x.columns {
		c := &x.columns[i]
		if hit, _ := want.Match(c.Name, c.Field.Name); !hit {
			continue
		}
		if c.Err != nil {
			facts.Left = append(facts.Left, format.Unread(c.Field.Name, c.Err))
			continue
		}
		if x.text[i] {
			s.used.Mark(optText)
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: c.Field, Bytes: max(total, 0) / max(variable, 1)})
		if c.Field.Ragged {
			facts.Fields = append(facts.Fields, survey.Field{Field: shardify.Field{Name: c.Field.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{c.Rank}}})
		}
	}
	return facts, nil
}

// ObjectName is the shard of a proof.
func (s *source) ObjectName(input, object uint32) (file, name string) {
	if int(input) >= s.table.Len() {
		return "", ""
	}
	return s.sets.ObjectName(s.fs, s.table.Path(int(input)), object)
}

// empty refuses a shard that has samples although its record says 0: they would not be read.
func (s *source) empty(ctx context.Context, dir string, sh *shard) error {
	o, err := s.openShard(ctx, dir, sh, func(int64) error { return nil })
	if err != nil {
		return err
	}
	defer o.close()
	return shardify.Annotate(mds.CheckCount(o, o.n), "", "", "shard "+sh.Raw.Name)
}

// reader reads spans. It keeps the shard that a span ends in for the next one.
type reader struct {
	s       *source
	set     *dataSet
	shard   *openShard
	sums    dataset.Prover // of the shard
	buf     []byte         // of the current samples
	ends    []uint32
	vals    [][]value // by column
	stops   []int64   // where the values of a sample end
	scratch shardify.Scratch
}

// Close implements set.Worker.
func (r *reader) Close() { r.scratch.Close() }

// Drop implements set.Worker.
func (r *reader) Drop() {
	r.shard.close()
	r.shard, r.set, r.buf = nil, nil, nil
}

// Take implements set.Worker.
func (r *reader) Take(x *dataSet, _ *set.Input, _ *shardify.Batch) error {
	r.set = x
	return nil
}

// Read implements set.Worker.
func (r *reader) Read(ctx context.Context, in *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	x := r.set
	columns := make([]*mds.Column, len(b.Columns))
	for i := range b.Columns {
		c := &b.Columns[i]
		if in.Field(i) < 0 || shardify.Companion(r.s.Set.Schema(), i) {
			continue
		}
		k := slices.IndexFunc(x.columns, func(x mds.Column) bool { return x.Field.Name == c.Name })
		if k < 0 || x.columns[k].Field.DType != c.DType || x.columns[k].Field.Levels != c.Levels || !slices.Equal(x.columns[k].Field.Shape, c.Shape) {
			return errState
		}
		columns[i] = &x.columns[k]
	}
	k := sort.Search(len(x.shards), func(k int) bool { return x.shards[k].Lo+x.shards[k].Samples > sp.Lo })
	if k == len(x.shards) {
		return errState
	}
	if x.shards[k].Lo+x.shards[k].Samples >= sp.Hi {
		return r.part(ctx, x, k, in, sp.Lo, sp.Hi, columns, b, mem)
	}
	return r.parts(ctx, x, k, in, sp, columns, b, mem)
}

// parts reads a span of several shards: each into columns of its own, which are then joined.
func (r *reader) parts(ctx context.Context, x *dataSet, k int, in *set.Input, sp shardify.Span, columns []*mds.Column, b *shardify.Batch, mem *shardify.Arena) error {
	var list []*shardify.Batch
	for lo := sp.Lo; lo < sp.Hi; k++ {
		if k == len(x.shards) {
			return errState
		}
		hi := min(sp.Hi, x.shards[k].Lo+x.shards[k].Samples)
		if hi <= lo {
			continue
		}
		part := &shardify.Batch{Samples: int(hi - lo), Columns: slices.Clone(b.Columns)}
		if err := r.part(ctx, x, k, in, lo, hi, columns, part, mem); err != nil {
			return err
		}
		list = append(list, part)
		b.Proofs = append(b.Proofs, part.Proofs...)
		lo = hi
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		size := 0
		for _, p := range list {
			size += len(p.Columns[i].Data)
		}
		if columns[i] == nil && size == 0 {
			continue
		}
		c.Data = mem.Alloc(size)
		at := 0
		for _, p := range list {
			at += copy(c.Data[at:], p.Columns[i].Data)
		}
		for level := range c.Levels {
			n := 0
			for _, p := range list {
				n += len(p.Columns[i].Offsets[level]) - 1
			}
			o := mem.Int64s(n + 1)
			o[0], n = 0, 0
			for _, p := range list {
				base := o[n]
				for _, v := range p.Columns[i].Offsets[level][1:] {
					n++
					o[n] = base + v
				}
			}
			c.Offsets = append(c.Offsets, o)
		}
	}
	return nil
}

// part reads samples [lo, hi), which are in one shard.
func (r *reader) part(ctx context.Context, x *dataSet, k int, in *set.Input, lo, hi int64, columns []*mds.Column, b *shardify.Batch, mem *shardify.Arena) error {
	sh := &x.shards[k]
	if r.shard == nil || r.shard.lo != sh.Lo || r.shard.n != sh.Samples {
		r.shard.close()
		r.shard = nil
		o, err := r.s.openShard(ctx, storage.Dir(in.Path()), sh, func(n int64) error { return r.scratch.Hold(ctx, mem, n+int64(cap(r.buf))) })
		if err != nil {
			return err
		}
		if err := r.sums.Reset(o, o.size, sh.number, o.digest); err != nil {
			o.close()
			return err
		}
		r.shard = o
	}
	err := r.decode(ctx, x, lo-sh.Lo, hi-sh.Lo, columns, b, mem)
	if err == nil {
		err = r.prove(in, lo-sh.Lo, hi-sh.Lo, b)
	}
	if err != nil {
		err = shardify.Amend(err, func(e *shardify.Error) {
			if e.Object = "shard " + sh.Raw.Name; e.Sample >= 0 {
				e.Sample += sh.Lo
			}
		})
	}
	return err
}

// prove adds the proof of the current samples, which are [lo, hi) of the shard.
func (r *reader) prove(in *set.Input, lo, hi int64, b *shardify.Batch) error {
	end := int64(r.ends[hi-lo])
	if hi == r.shard.n {
		end = r.shard.size
	}
	var err error
	b.Proofs, err = r.sums.End(end, in.Index, b.Proofs)
	return err
}

func (r *reader) decode(ctx context.Context, x *dataSet, lo, hi int64, columns []*mds.Column, b *shardify.Batch, mem *shardify.Arena) error {
	vals, err := r.values(x, r.shard, lo, hi)
	if err != nil {
		return err
	}
	if err := r.scratch.Hold(ctx, mem, r.shard.bytes+int64(cap(r.buf))); err != nil {
		return err
	}
	for i, c := range columns {
		if c == nil {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		to := &b.Columns[i]
		var shape *shardify.Column
		if to.Ragged {
			shape = &b.Columns[i+1]
		}
		k := slices.IndexFunc(x.columns, func(x mds.Column) bool { return x.Field.Name == c.Field.Name })
		if err := decode(c, r.buf, vals[k], to, shape, mem); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Field = c.Field.Name; e.Sample >= 0 {
					e.Sample += lo
				}
			})
		}
		if err := rows.CheckText(to, lo); err != nil {
			return err
		}
	}
	return nil
}

// values reads samples [lo, hi) of a shard into r.buf and finds their values, by column.
func (r *reader) values(x *dataSet, o *openShard, lo, hi int64) ([][]value, error) {
	var err error
	if r.ends, err = mds.Places(r.ends, o, o.size, o.n, lo, hi); err != nil {
		return nil, err
	}
	first := int64(r.ends[0])
	r.buf = slices.Grow(r.buf[:0], int(int64(r.ends[hi-lo])-first))[:int64(r.ends[hi-lo])-first]
	if lo == 0 {
		r.sums.Begin(0) // what comes before is of this span, too
	} else {
		r.sums.Begin(first)
	}
	if err := r.sums.Fill(r.buf, first); err != nil {
		return nil, err
	}
	if r.vals == nil {
		r.vals = make([][]value, len(x.columns))
	}
	r.vals = slices.Grow(r.vals[:0], len(x.columns))[:len(x.columns)]
	for i := range x.columns {
		r.vals[i] = slices.Grow(r.vals[i][:0], int(hi-lo))
	}
	for i := range hi - lo {
		at := int64(r.ends[i]) - first
		lead, stops, err := mds.Values(r.stops[:0], x.columns, r.buf[at:int64(r.ends[i+1])-first])
		if r.stops = stops; err != nil {
			return nil, shardify.Amend(err, func(e *shardify.Error) { e.Sample, e.Offset = lo+i, e.Offset+int64(r.ends[i]) })
		}
		for k, stop := range stops {
			r.vals[k] = append(r.vals[k], value{at + lead, at + stop})
			lead = stop
		}
	}
	return r.vals, nil
}
