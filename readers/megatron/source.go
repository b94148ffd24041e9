package megatron

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// The fields, and what in.Field says of them. In a set of ours the tokens have a name of their
// own.
const (
	tokensField = iota
	modesField
)

const (
	tokensName = "tokens"
	modesName  = "modes"
)

// source is many pairs as one table.
type source struct {
	*set.Table[*pair]
	fs         storage.FS
	table      *format.Table
	bySequence bool // a sample is a sequence
	sets       dataset.Besides
}

// pair is an open pair; the readers of a source share it.
type pair struct {
	storage.File // the index
	megatron.Head
	data storage.File
	// Of a set of ours: the place of the shard in the manifest, and the digest of its tokens.
	number uint32
	digest string
}

// Unwrap is the file below.
func (p *pair) Unwrap() any { return p.File }

// Close closes both files.
func (p *pair) Close() error { return errors.Join(p.File.Close(), p.data.Close()) }

// samples is how many there are.
func (p *pair) samples(apart bool) int64 {
	if apart {
		return p.Sequences
	}
	return p.Documents
}

// openPair takes the index, which stays the caller's on an error, and opens the data.
func (s *source) openPair(ctx context.Context, f storage.File, path string) (*pair, error) {
	h, want, err := megatron.ReadIndex(f, f.Size())
	if err != nil {
		return nil, err
	}
	name := megatron.Data(path)
	data, err := rows.OpenFile(ctx, s.fs, name, -1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, shardify.Corrupt(-1, "its tokens are missing: no %s beside it", filepath.Base(name))
	case err != nil:
		return nil, err
	}
	if data.Size() != want {
		data.Close()
		return nil, h.Differs(want, data.Size())
	}
	p := &pair{File: f, Head: h, data: data}
	if err := s.record(ctx, p, path); err != nil {
		data.Close()
		return nil, err
	}
	return p, nil
}

// record holds the index of a pair against the manifest, if it is of a set of ours.
func (s *source) record(ctx context.Context, p *pair, path string) error {
	m, err := s.sets.Of(ctx, s.fs, path)
	if err != nil || m == nil {
		return err
	}
	k := dataset.Number(m, filepath.Base(megatron.Data(path)))
	if k < 0 {
		return nil // tokens says so
	}
	beside, err := dataset.IndexOf(&m.Shards[k])
	if err == nil {
		err = dataset.CheckWhole(p.File, beside)
	}
	p.number, p.digest = uint32(k), m.Shards[k].Digest
	return err
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), table: a.Table, bySequence: opts[sampleaxis.SampleOption] == bySequence, sets: dataset.Besides{Format: index.FormatMegatron}}
	if a.State == nil {
		if err := s.sets.Whole(ctx, a.Table); err != nil {
			return nil, err
		}
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: "Megatron", Look: s.look, Key: "1\x00" + opts[sampleaxis.SampleOption]})
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, func(ctx context.Context, f storage.File, in *set.Input) (*pair, error) {
		p, err := s.openPair(ctx, f, in.Path())
		if err == nil && p.samples(s.bySequence) != in.Samples {
			p.data.Close()
			return nil, errState
		}
		return p, err
	}, func() shardify.Reader { return &reader{s: s} })
	return s, nil
}

var errState = fmt.Errorf("%w: it has other samples", shardify.ErrChanged)

// look surveys one pair.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	p, err := s.openPair(ctx, f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	defer p.Close()
	field, err := s.tokens(ctx, path, p)
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{
		Samples: p.samples(s.bySequence), Size: f.Size(), Borders: set.Borders{Every: 1},
		Lines: []string{fmt.Sprintf("%s of %s: %d documents, %d sequences, %d tokens", field.Name, p.DType, p.Documents, p.Sequences, p.data.Size()/int64(p.DType.Size()))},
	}
	add := func(f shardify.Field, bytes int64, number byte) {
		if hit, _ := want.Match(f.Name); hit {
			facts.Fields = append(facts.Fields, survey.Field{Field: f, Bytes: bytes})
			facts.Blob = append(facts.Blob, number)
		}
	}
	add(field, p.data.Size(), tokensField)
	if p.Modes {
		mode := shardify.Field{Name: modesName, DType: shardify.I8}
		if !s.bySequence {
			mode.Levels = 1
		}
		add(mode, p.Sequences, modesField)
	}
	return facts, nil
}

// tokens is the field of tokens: that of the manifest in a set of ours.
func (s *source) tokens(ctx context.Context, path string, p *pair) (shardify.Field, error) {
	f := shardify.Field{Name: tokensName, DType: p.DType, Levels: 1}
	m, err := s.sets.Of(ctx, s.fs, path)
	if err != nil || m == nil {
		return f, err
	}
	data := filepath.Base(megatron.Data(path))
	sh := dataset.Record(m, data)
	switch {
	case sh == nil:
		return f, shardify.Mismatch("%s has no shard %s", index.ManifestName, data)
	case sh.Samples != p.Documents || sh.Bytes != p.data.Size():
		return f, shardify.Corrupt(-1, "the manifest says %d samples of %d bytes, the pair has %d of %d", sh.Samples, sh.Bytes, p.Documents, p.data.Size())
	case len(m.Schema) != 1 || m.Schema[0].DType != p.DType || m.Schema[0].Levels > 1 || p.Modes:
		return f, shardify.Corrupt(-1, "the index has tokens of type %s, the manifest says otherwise", p.DType)
	}
	return m.Schema[0], nil
}

// ObjectName is the shard of a proof.
func (s *source) ObjectName(input, object uint32) (file, name string) {
	if int(input) >= s.table.Len() {
		return "", ""
	}
	return s.sets.ObjectName(s.fs, s.table.Path(int(input)), object)
}

type reader struct {
	s      *source
	walk   megatron.Walk
	sums   dataset.Prover
	of     *pair // that sums is of
	closed bool
}

// Close implements shardify.Reader.
func (r *reader) Close() error { r.closed = true; return nil }

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("megatron: Read after Close")
	}
	return r.s.ReadSpan(ctx, sp, mem, func(p *pair, in *set.Input, b *shardify.Batch) error {
		return r.read(ctx, p, in, sp, b, mem)
	})
}

func (r *reader) read(ctx context.Context, p *pair, in *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	n := int(sp.Hi - sp.Lo)
	ends := mem.Int64s(n + 1) // of samples, in sequences
	if r.s.bySequence {
		for i := range ends {
			ends[i] = sp.Lo + int64(i)
		}
	} else if err := p.ReadDocuments(p.File, sp.Lo, ends); err != nil {
		return err
	}
	for i := range b.Columns {
		k := in.Field(i)
		if k < 0 {
			continue
		}
		if k >= len(in.Blob) {
			return shardify.Corrupt(-1, "survey of the plan: field %d", k)
		}
		var err error
		if c := &b.Columns[i]; in.Blob[k] == modesField {
			err = p.modes(c, ends, mem)
		} else {
			err = r.tokens(ctx, p, in, b, c, ends, sp.Lo, mem)
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Field = b.Columns[i].Name })
		}
	}
	return nil
}

// tokens reads the tokens of samples from first on, which end at sequences.
func (r *reader) tokens(ctx context.Context, p *pair, in *set.Input, b *shardify.Batch, c *shardify.Column, ends []int64, first int64, mem *shardify.Arena) error {
	if c.DType != p.DType {
		return errState
	}
	n := len(ends) - 1
	offsets := mem.Int64s(n + 1)
	copy(offsets, ends)
	start, err := r.walk.Offsets(ctx, p.File, &p.Head, offsets, p.data.Size())
	if err != nil {
		return err
	}
	if c.Levels > 0 {
		c.Offsets = [][]int64{offsets}
	} else {
		for i := range n {
			if have := offsets[i+1] - offsets[i]; have != int64(c.Elem()) {
				return shardify.Amend(shardify.Corrupt(-1, "%d tokens, the manifest says %d", have, c.Elem()), func(e *shardify.Error) { e.Sample = first + int64(i) })
			}
		}
	}
	c.Data = mem.Alloc(int(offsets[n]) * c.DType.Size())
	if r.of != p {
		if err := r.sums.Reset(p.data, p.data.Size(), p.number, p.digest); err != nil {
			return err
		}
		r.of = p
	}
	r.sums.Begin(start)
	if err := r.sums.Fill(c.Data, start); err != nil {
		return err
	}
	end := start + int64(len(c.Data))
	if first+int64(n) == in.Samples {
		end = p.data.Size()
	}
	b.Proofs, err = r.sums.End(end, in.Index, b.Proofs)
	return err
}

// modes reads the modes of all sequences of samples.
func (p *pair) modes(c *shardify.Column, ends []int64, mem *shardify.Arena) error {
	n := len(ends) - 1
	if c.Levels > 0 {
		offsets := mem.Int64s(n + 1)
		for i := range offsets {
			offsets[i] = ends[i] - ends[0]
		}
		c.Offsets = [][]int64{offsets}
	}
	c.Data = mem.Alloc(int(ends[n] - ends[0]))
	return p.ReadModes(p.File, ends[0], c.Data)
}
