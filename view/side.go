package view

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/dataset/pass"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/readers"
)

// Bounds of what one request reads.
const (
	spanBytes   = 4 << 20   // decoded, that is searched between two looks at the clock
	pageBytes   = 64 << 20  // decoded, of a page
	sampleBytes = 512 << 20 // of one sample
	poolBytes   = 128 << 20
	keyBytes    = 64      // about, of a sample's name
	mostNarrow  = 64      // choices of fields that are kept open
	mostSpans   = 1 << 20 // of inputs; those of sets are in the manifest
)

// side is one data set, or inputs that are read as one.
type side struct {
	request pipeline.Inspection
	name    string
	id      string // of a set
	digest  string // of its manifest
	parts   []*part
	about   string // what inspect says of it
}

// lens is the samples of a part with some of their fields.
type lens struct {
	*readers.Opened
	each int64 // bytes of a sample in memory; 0: as much of a span as its samples are of all
}

// part is a split, or all of a side that has none.
type part struct {
	split    string
	request  pipeline.Inspection
	opened   *readers.Opened
	manifest *index.Manifest // of a set
	spans    []shardify.Span // large ones; first has the number of each one's first sample
	first    []int64
	total    int64
	ended    error // what ended the list of spans

	mu     sync.Mutex
	narrow map[string]*lens
	sorted map[string]*ranking
}

func openSide(ctx context.Context, r pipeline.Inspection) (*side, error) {
	r.Late = true
	s := &side{request: r, name: r.Format.Name}
	if len(r.Inputs) > 0 {
		s.name = r.Inputs[0]
	}
	set := len(r.Inputs) == 1 && len(r.Given) == 0 && len(r.Columns) == 0 && (readers.IsSet(r.Format.Name) || pipeline.MadeHere(r.Inputs[0], r.Format.Name))
	if set {
		_, m, err := pipeline.ManifestOf(s.name)
		if err != nil {
			return nil, err
		}
		if s.id, err = pipeline.ID(ctx, s.name); err != nil {
			return nil, err
		}
		var text strings.Builder
		inspect.Describe(s.name, s.id, m).WriteText(&text)
		s.digest, s.about = m.Digest, text.String()
	} else if err := s.look(ctx, &r); err != nil {
		return nil, err
	}
	all, splits, err := inspect.OpenSplits(ctx, r)
	for i, o := range all {
		if o == nil {
			continue
		}
		p := &part{split: splits[i], request: r, opened: o, narrow: map[string]*lens{}, sorted: map[string]*ranking{}}
		s.parts = append(s.parts, p)
		if p.split != "" {
			p.request.Inputs = []string{dirOf(o)}
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	for _, p := range s.parts {
		if set && readers.IsSet(r.Format.Name) {
			if _, p.manifest, err = pipeline.ManifestOf(p.request.Inputs[0]); err != nil {
				s.close()
				return nil, err
			}
		}
		if err := p.list(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// look has inspect find out how inputs are read: of several ways the first.
func (s *side) look(ctx context.Context, r *inspect.Request) error {
	rep, err := inspect.Inputs(ctx, *r)
	if _, splits := errors.AsType[*dataset.SplitSet](err); splits {
		return nil
	}
	if err != nil {
		return err
	}
	var text strings.Builder
	rep.WriteText(&text)
	if s.about = text.String(); len(rep.Ways) > 0 {
		*r = rep.Ways[0]
	} else if rep.Differences != nil || rep.Problems != nil {
		return rep.Cause
	}
	return nil
}

// name says which part of which side it is; short only what the last folder and the split are called.
func (p *part) name(s *side) string { return strings.TrimSpace(s.name + " " + p.split) }

func (p *part) short(s *side) string {
	name := strings.TrimRight(s.name, "/")
	return strings.TrimSpace(name[strings.LastIndexByte(name, '/')+1:] + " " + p.split)
}

// dirOf is the only input of a split.
func dirOf(o *readers.Opened) string { return o.Args.Table.Path(0) }

func (s *side) close() {
	for _, p := range s.parts {
		p.opened.Source.Close()
		for _, o := range p.narrow {
			o.Source.Close()
		}
	}
}

// list makes the table of spans: of a set from the manifest alone, so that neither the number of samples nor
// a damaged shard matters.
func (p *part) list(ctx context.Context) error {
	add := func(s shardify.Span) {
		if s.Samples() > 0 {
			p.spans, p.first = append(p.spans, s), append(p.first, p.total)
			p.total += s.Samples()
		}
	}
	if p.manifest != nil {
		for _, sh := range p.manifest.Shards {
			add(shardify.Span{Lo: p.total, Hi: p.total + sh.Samples, Bytes: sh.Bytes})
		}
		return nil
	}
	for s, err := range p.opened.Source.Spans(ctx, 1<<40) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			p.ended = err
			return nil
		}
		if add(s); len(p.spans) == mostSpans {
			p.ended = shardify.Unsupported("the page shows the first %d samples: the inputs are in more than %d pieces", p.total, mostSpans)
			return nil
		}
	}
	return nil
}

// each is about what a sample at a place takes.
func (p *part) each(n int64) int64 {
	i := p.at(n)
	return p.spans[i].Bytes/p.spans[i].Samples() + 1
}

// at is the span that has a sample.
func (p *part) at(n int64) int {
	i, found := slices.BinarySearch(p.first, n)
	if !found {
		i--
	}
	return i
}

// cut is the samples [lo, hi), as spans of at most some bytes, each of one piece of the inputs.
func (p *part) cut(l *lens, lo, hi, most int64) (list []shardify.Span, first []int64) {
	for i := p.at(lo); i < len(p.spans) && lo < hi; i++ {
		s := p.spans[i]
		each := max(l.each, 1)
		if l.each == 0 {
			each += s.Bytes / s.Samples()
		}
		for end := min(hi, p.first[i]+s.Samples()); lo < end; {
			n := min(end-lo, max(most/each, 1))
			one := s
			one.Lo = s.Lo + lo - p.first[i]
			one.Hi, one.Bytes = one.Lo+n, n*each
			list, first = append(list, one), append(first, lo)
			lo += n
		}
	}
	return list, first
}

// read gives batches of the samples [lo, hi) to use, with the number of the first. What cannot be read
// goes to lost, sample by sample if single is set, and the rest is read.
func (p *part) read(ctx context.Context, pool *shardify.Pool, l *lens, lo, hi int64, single bool, use func(first int64, b *shardify.Batch) error, lost func(lo, hi int64, err error)) error {
	list, first := p.cut(l, lo, hi, spanBytes)
	for k, s := range list {
		var failed error // of use, which is no damage
		err := pass.Read(ctx, l.Source, pool, []shardify.Span{s}, func(_ shardify.Span, b *shardify.Batch) error {
			if err := b.Check(); err != nil {
				return err
			}
			failed = use(first[k], b)
			return failed
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case failed != nil:
			return failed
		case err == nil:
		case single && s.Samples() > 1:
			for i := range s.Samples() {
				if err := p.read(ctx, pool, l, first[k]+i, first[k]+i+1, true, use, lost); err != nil {
					return err
				}
			}
		default:
			lost(first[k], first[k]+s.Samples(), p.named(s, err))
		}
	}
	return nil
}

// named adds the shard to an error that does not say where it is.
func (p *part) named(s shardify.Span, err error) error {
	var e *shardify.Error
	if p.manifest == nil || errors.As(err, &e) && e.File != "" {
		return err
	}
	lo := int64(0)
	for _, sh := range p.manifest.Shards {
		if s.Lo < lo+sh.Samples {
			return shardify.Annotate(err, "read", sh.Name, "")
		}
		lo += sh.Samples
	}
	return err
}

// whole is all fields.
func (p *part) whole() *lens { return &lens{Opened: p.opened} }

// with is the samples with some fields only.
func (p *part) with(ctx context.Context, fields []string) (*lens, error) {
	if len(fields) == 0 {
		return p.whole(), nil
	}
	key := strings.Join(fields, "\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.narrow[key]; l != nil {
		return l, nil
	}
	if len(p.narrow) == mostNarrow {
		return p.whole(), nil
	}
	r := p.request
	r.Columns = nil
	for _, f := range fields {
		r.Columns = append(r.Columns, dataset.GlobOf(f))
	}
	all, _, err := inspect.OpenSplits(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	l := &lens{Opened: all[0]}
	for _, f := range l.Source.Schema() {
		if l.each += int64(f.ElemBytes()); f.Levels > 0 {
			l.each = 0
			break
		}
	}
	if l.each > 0 && p.keyed() {
		l.each += keyBytes
	}
	p.narrow[key] = l
	return l, nil
}

// field is a field by its name.
func (p *part) field(name string) *shardify.Field {
	schema := p.opened.Source.Schema()
	if i := shardify.FieldIndex(schema, name); i >= 0 {
		return &schema[i]
	}
	return nil
}

func (p *part) keyed() bool {
	k, ok := p.opened.Source.(format.Keyer)
	return ok && k.Keyed()
}

func (p *part) coords() map[string]format.Coord {
	if g, ok := p.opened.Source.(format.Gridded); ok {
		return g.Coords()
	}
	return nil
}
