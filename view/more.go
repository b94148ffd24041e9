package view

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/dataset/pass"
	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/pipeline/inspect/page"
)

// Bounds of what figures are made from, if not from all samples.
const (
	glanceBytes   = 32 << 20
	glanceSamples = 20_000
	glanceSpans   = 64
	thumbnails    = 24
	statsJobs     = 2
)

// some is a source that has only some spans of another.
type some struct {
	shardify.Source
	spans []shardify.Span
}

func (s some) Spans(ctx context.Context, _ int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for _, x := range s.spans {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// glance is spans spread over all samples, within the bounds; all reports that these are all samples.
func (p *part) glance() (list []shardify.Span, n int64, all bool) {
	var bytes int64
	for _, s := range p.spans {
		bytes += s.Bytes
	}
	if bytes <= glanceBytes && p.total <= glanceSamples {
		list, _ = p.cut(p.whole(), 0, p.total, spanBytes)
		return list, p.total, true
	}
	pieces := min(int64(glanceSpans), p.total)
	for k := range pieces {
		lo, hi := k*p.total/pieces, (k+1)*p.total/pieces
		each := p.each(lo)
		if each > sampleBytes {
			continue
		}
		hi = min(hi, lo+max(min(glanceSamples/pieces, glanceBytes/pieces/each), 1))
		part, _ := p.cut(p.whole(), lo, hi, spanBytes)
		list = append(list, part[0])
		n += part[0].Samples()
	}
	return list, n, false
}

// statistics writes the page that inspect --html writes, of some samples or of all; of several parts, each field
// side by side.
func statistics(ctx context.Context, w io.Writer, pool *shardify.Pool, parts []*part, names []string, whole bool) error {
	var list []inspect.SplitReport
	var lead []string
	for i, p := range parts {
		spans, n, all := p.glance()
		if whole && !all {
			spans, n = nil, p.total
			for s, err := range p.opened.Source.Spans(ctx, spanBytes) {
				if err != nil {
					return err
				}
				spans = append(spans, s)
			}
		}
		set, lost, err := p.gather(ctx, pool, spans, stats.Options{Thumbnails: min(thumbnails, int(n))})
		if err != nil {
			return err
		}
		rep := set.Report()
		inspect.NameTypes(rep)
		if !all && !whole { // samples are numbered by their place among those that were read
			for k := range rep.Fields {
				if rep.Fields[k].Slices = nil; rep.Fields[k].Images != nil {
					rep.Fields[k].Images.Thumbnails = nil
				}
			}
		}
		list = append(list, inspect.SplitReport{Split: names[i], Report: rep})
		text := fmt.Sprintf("%s: all %s", names[i], printable.Of(p.total, "sample"))
		if rep.Samples < p.total {
			text = fmt.Sprintf("%s: %s of %s, spread over all", names[i], printable.Count(rep.Samples), printable.Of(p.total, "sample"))
		}
		lead = append(lead, text)
		for _, l := range lost {
			lead = append(lead, "Left out: "+l)
		}
	}
	if len(list) == 1 {
		return inspect.Page("Figures", lead, list[0].Report).Write(w)
	}
	return inspect.SplitsPage("Figures side by side", lead, list, nil).Write(w)
}

// gather makes statistics of spans; those that cannot be read are left out, and lost says why.
func (p *part) gather(ctx context.Context, pool *shardify.Pool, spans []shardify.Span, o stats.Options) (set *stats.Set, lost []string, err error) {
	if set, err = stats.Run(ctx, some{p.opened.Source, spans}, pool, statsJobs, o, nil); err == nil || ctx.Err() != nil {
		return set, nil, err
	}
	var good []shardify.Span
	for _, s := range spans {
		err := pass.Read(ctx, p.opened.Source, pool, []shardify.Span{s}, func(shardify.Span, *shardify.Batch) error { return nil })
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil {
			lost = append(lost, p.named(s, err).Error())
			continue
		}
		good = append(good, s)
	}
	set, err = stats.Run(ctx, some{p.opened.Source, good}, pool, statsJobs, o, nil)
	return set, lost, err
}

// differences writes the page that diff --html writes.
func differences(ctx context.Context, w io.Writer, a, b *side) error {
	r, err := pipeline.Diff(ctx, a.name, b.name, pipeline.Comparison{Show: 20, Jobs: statsJobs, Memory: poolBytes})
	if err != nil {
		return err
	}
	return r.Page().Write(w)
}

// failure is a report that says why there is no other.
func failure(w io.Writer, err error) error {
	p := page.Page{Title: "No figures", Lead: append([]string{err.Error()}, shardify.Hints(err)...)}
	return p.Write(w)
}

// change is augmentations of a sample, one after the other.
type change struct {
	list []shardify.Transform
	seed uint64
}

// changing makes the operations of lines as --augment takes them.
func (p *part) changing(lines string, seed uint64) (*change, error) {
	c := &change{seed: seed}
	schema := p.opened.Source.Schema()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := augment.Parse(line)
		if err != nil {
			return nil, shardify.Misused(err)
		}
		t, err := s.New(augment.Env{Table: p.opened.Args.Table})
		if err == nil {
			schema, err = t.Schema(schema)
		}
		if err != nil {
			return nil, shardify.Misused(err)
		}
		if v, ok := t.(shardify.Surveyor); ok && v.Surveys() != "" {
			return nil, shardify.Usage("%s: it needs %s of all samples; give them as numbers", line, v.Surveys())
		}
		c.list = append(c.list, t)
	}
	return c, nil
}

func (c *change) apply(b *shardify.Batch, mem *shardify.Arena) (_ *shardify.Batch, err error) {
	for i, t := range c.list {
		if b, err = t.Apply(b, shardify.Mix(c.seed<<8+uint64(i)), mem); err != nil {
			return nil, shardify.Misused(err)
		}
	}
	return b, nil
}

// placed is where an epoch has a sample.
type placed struct {
	Position int64 `json:"position"`
	Step     int64 `json:"step"`
	Rank     int64 `json:"rank"`
	Sample   int64 `json:"n"`
}

// epoch is a stretch of the order in which a Loader delivers samples.
type epoch struct {
	Length int64    `json:"length"`
	Steps  int      `json:"steps"`
	Window int64    `json:"window,omitempty"`
	Places []placed `json:"places"`
}

// order asks a Loader for its order; it reads no samples.
func (p *part) order(ctx context.Context, c gpuload.Config, from, n int64) (*epoch, error) {
	if p.manifest == nil {
		return nil, shardify.Usage("a Loader reads data sets of shards; convert the inputs first")
	}
	d, err := gpuload.Open(ctx, p.request.Inputs[0])
	if err != nil {
		return nil, err
	}
	defer d.Close()
	c.Columns, c.Device, c.Tier, c.Workers, c.Depth = p.smallest(), "host", gpuload.TierStream, 1, 1
	l, err := d.Loader(c)
	if err != nil {
		return nil, shardify.Misused(err)
	}
	defer l.Close()
	o := l.Order()
	out := &epoch{Length: o.LenOf(c.Epoch), Steps: l.Steps(), Places: []placed{}}
	if c.Shuffle == gpuload.Block {
		out.Window = cmp.Or(c.ShuffleWindow, o.Window())
	}
	batch, world := int64(c.Batch), int64(max(c.World, 1))
	all := batch * world
	for q := max(from, 0); q < min(out.Length, from+n); q++ {
		x := placed{Position: q, Step: q / all, Rank: q % all / batch, Sample: o.At(c.Epoch, q)}
		if l.Strided() {
			x.Rank = q % all % world
		}
		out.Places = append(out.Places, x)
	}
	return out, nil
}

// smallest is a field of few bytes.
func (p *part) smallest() []string {
	best, bytes := "", 0
	schema := p.opened.Source.Schema()
	for i := range schema {
		if f := &schema[i]; f.Levels == 0 && (best == "" || f.ElemBytes() < bytes) {
			best, bytes = f.Name, f.ElemBytes()
		}
	}
	if best == "" {
		return nil
	}
	return []string{best}
}
