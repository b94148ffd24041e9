package arrays

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/internal/chunks"
	sel "github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

const (
	byAxis  = sampleaxis.SampleAxis
	byChunk = sampleaxis.SampleChunk
	byFile  = sampleaxis.SampleFile

	cfAuto = "auto"
	cfOn   = "on"
	cfOff  = "off"
)

// Options that every kind has.
var (
	OptAxis = format.Option{Name: sampleaxis.AxisOption, Idle: "no array has two axes or more", Kind: format.KindString, Default: "auto",
		Help: "the axis of the samples in arrays of two axes or more, 0 being the first and -1 the last: auto is 0"}
)

// settings are the options, read.
type settings struct {
	kind    *Kind
	objects []string // globs; none means all
	sample  string   // auto, byAxis or byFile
	chunked bool     // samples are the chunks of rows
	axis    int      // of the samples, or sampleaxis.AutoAxis
	chunks  string   // of missing-chunks
	cf      string   // cfAuto, cfOn or cfOff
	media   string   // of texts
	lists   string   // auto, off, or the text of ruled
	ruled   []lists.Rule

	sel      *sel.Selection
	channels *sel.Channels
	alone    bool // of other fields only the coordinate of the samples is read
	used     *format.Used
	known    *store.Known
}

func (k *Kind) settings(o format.Options) (*settings, error) {
	s := &settings{kind: k, sample: o[sampleaxis.SampleOption], chunks: o["missing-chunks"], cf: o["cf"], media: "txt", lists: o["lists"], known: &store.Known{}}
	if o["text"] == "bytes" {
		s.media = "bin"
	}
	if s.chunked = s.sample == byChunk; s.chunked {
		s.sample = byAxis
	}
	var err error
	if s.axis, err = sampleaxis.ParseAxis(o[sampleaxis.AxisOption]); err != nil {
		return nil, err
	}
	if s.sel, err = sel.Parse(o[sel.SelOption.Name]); err != nil {
		return nil, err
	}
	if s.channels, err = sel.ParseChannels(o[sel.ChannelsOption.Name]); err != nil {
		return nil, err
	}
	if s.ruled, err = lists.Parse(s.lists); err != nil {
		return nil, err
	}
	if s.ruled != nil {
		if s.sample == byFile || s.chunked || s.sel != nil || s.channels != nil {
			return nil, errors.New("--lists names lists, which are samples: it does not go with --sample file or chunk, --sel or --channels; --lists off with those reads the arrays as they are")
		}
		s.sample = byAxis
	}
	for p := range strings.SplitSeq(o["object"], ",") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		p = strings.TrimPrefix(path.Clean("/"+p), "/")
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("--object %q: %w", p, err)
		}
		s.objects = append(s.objects, p)
	}
	return s, nil
}

func (s *settings) key() string {
	key := fmt.Sprintf("%s object=%q sample=%s axis=%d chunks=%s cf=%s text=%s", s.kind.Key, s.objects, s.sample, s.axis, s.chunks, s.cf, s.media)
	if s.chunked {
		key += " chunks"
	}
	if s.lists != "auto" {
		key += " lists=" + s.lists
	}
	if s.sel != nil || s.channels != nil {
		key += fmt.Sprintf(" sel=%q channels=%q alone=%v", s.sel.Text(), s.channels.Value(), s.alone)
	}
	return key
}

// choice is which arrays are looked at.
func (s *settings) choice() *store.Choice {
	if len(s.objects) == 0 || slices.Contains(s.objects, "") {
		return &store.Choice{Known: s.known}
	}
	c := &store.Choice{Known: s.known, In: func(p string) bool { return s.matches(p, false) }, Through: func(p string) bool { return s.matches(p, true) }}
	if !slices.ContainsFunc(s.objects, func(g string) bool { return strings.ContainsAny(g, `*?[\`) }) {
		c.Literal = s.objects
	}
	return c
}

// matches reports whether a glob is of an array's path or of a group above it; with above also
// whether it may be of something below the path.
func (s *settings) matches(p string, above bool) bool {
	return slices.ContainsFunc(s.objects, func(g string) bool { return matches(g, p, above) })
}

func matches(glob, p string, above bool) bool {
	globs, parts := strings.Split(glob, "/"), strings.Split(p, "/")
	if len(globs) > len(parts) && !above {
		return false
	}
	for i := range min(len(globs), len(parts)) {
		if ok, _ := path.Match(globs[i], parts[i]); !ok && globs[i] != parts[i] {
			return false
		}
	}
	return true
}

// source implements shardify.Source.
type source struct {
	*set.Table[*input]
	fs        storage.FS
	opts      *settings
	ambiguity []string // another reading of the inputs
}

// Source opens inputs of the kind as one table.
func (k *Kind) Source(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(k.Options, a.Options)
	if err != nil {
		return nil, err
	}
	a.Options = o
	s := &source{fs: storages.Of(a.Table)}
	if s.opts, err = k.settings(o); err != nil {
		return nil, err
	}
	numbers := false
	if s.opts.chunked {
		if numbers, err = chunks.Wanted(a.Columns); err != nil {
			return nil, err
		}
	}
	s.opts.used = a.Used
	a.Used.Expect("object", s.opts.objects)
	a.Columns, s.opts.alone = s.opts.channels.Columns(a.Columns)
	sv := &chooser{fs: s.fs, opts: s.opts, inputs: a.Table.Len()}
	if a.State != nil {
		if src, err := s.opts.cells(ctx, a, o); src != nil || err != nil {
			return src, err
		}
	} else if err := sv.decide(ctx, a); errors.Is(err, errCells) {
		return s.opts.cells(ctx, a, o)
	} else if err != nil {
		return nil, err
	}
	defer sv.drop()
	f := survey.Format{Name: k.Title, Look: sv.look, Key: s.opts.key(), Ragged: true, Channels: s.opts.channels}
	if s.opts.chunked {
		f.Beside = []string{chunks.Field}
	}
	all, err := survey.Open(ctx, a, f)
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, s.openInput, func() shardify.Reader { return &reader{src: s} })
	if a.State == nil {
		if err := s.opts.sel.Rest(a.Table.Paths()); err != nil {
			return nil, err
		}
	}
	if s.ambiguity, err = sv.ask(s.Set); err != nil {
		return nil, err
	}
	if s.opts.chunked {
		return chunks.New(s, numbers, chunksOf)
	}
	return s, nil
}

// chunksOf is how chunks divide the rows of an input, as its survey found.
func chunksOf(in *set.Input) (*chunks.Size, error) {
	b, err := readBlob(in.Blob)
	if err != nil {
		return nil, shardify.Corrupt(-1, "state of arrays: %v", err)
	}
	return b.Chunk, nil
}

// Describe implements format.Describer.
func (s *source) Describe() []string {
	return append(s.Notes(), s.Set.Describe()[len(s.Set.Notes()):]...)
}

// Notes implements format.Noter: what the samples are comes first, then what is said of the
// first store, and of others what is not said of one before.
func (s *source) Notes() []string {
	var out []string
	said, more, name := map[string]bool{}, 0, ""
	for in := range s.Inputs() {
		b, err := readBlob(in.Blob)
		if err != nil {
			continue
		}
		if len(out) == 0 {
			out = append(out, b.Why)
		} else {
			name = in.Name() + ": "
		}
		for _, note := range b.Notes {
			if said[note] {
				continue
			}
			if said[note] = true; name != "" {
				more++
			}
			if more <= maxNotes {
				out = append(out, name+note)
			}
		}
	}
	if more > maxNotes {
		out = append(out, fmt.Sprintf("%d more notes of other stores", more-maxNotes))
	}
	return append(append(out, s.ambiguity...), s.Set.Notes()...)
}

// maxNotes is the most notes of stores other than the first.
const maxNotes = 8

// reader implements shardify.Reader.
type reader struct {
	src    *source
	work   work
	closed bool
}

// Decoded is how many parts of arrays a reader has decoded, for tests.
func Decoded(r shardify.Reader) int64 { return r.(*reader).work.decoded }

// Close implements shardify.Reader.
func (r *reader) Close() error {
	r.closed = true
	r.work.scratch.Close()
	r.work = work{}
	return nil
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, fmt.Errorf("%s: Read after Close", r.src.opts.kind.Name)
	}
	return r.src.ReadSpan(ctx, sp, mem, func(x *input, in *set.Input, b *shardify.Batch) error {
		err := r.work.begin(ctx, mem)
		if err == nil {
			err = r.span(x, in, sp, b, mem)
			if e := r.work.end(); err == nil {
				err = e
			}
		}
		return err
	})
}

// span reads the columns array by array.
func (r *reader) span(in *input, at *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	cols := make([][]int, len(in.grids))
	for i := range b.Columns {
		f := at.Field(i)
		if f < 0 {
			continue
		}
		if f >= len(in.fields) {
			return shardify.Corrupt(-1, "state of arrays: no field %d", f)
		}
		cols[in.fields[f].object] = append(cols[in.fields[f].object], i)
	}
	for k, g := range in.grids {
		if len(cols[k]) == 0 {
			continue
		}
		if err := r.array(in, at, k, g, cols[k], sp, b, mem); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Object == "" {
					e.Object = g.Path
				}
				if in.blob.Mode == byFile && e.Sample >= 0 {
					e.Sample = 0
				}
			})
		}
	}
	return nil
}

// array reads the columns that one array has.
func (r *reader) array(in *input, at *set.Input, k int, g *grid, cols []int, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	if in.lists[k] != nil {
		fields := make([]place, len(cols))
		for i, c := range cols {
			fields[i] = in.fields[at.Field(c)]
		}
		return r.list(in, k, cols, fields, sp, b, mem)
	}
	lo, hi, repeat, inner := sp.Lo, sp.Hi, int64(1), g.inner()
	switch {
	case in.blob.Mode == byFile:
		if lo, hi = 0, g.rows; len(g.order) > 0 {
			inner = g.shape
		}
	case in.blob.Objects[k].Once:
		if lo, hi, repeat = 0, g.rows, sp.Samples(); len(g.order) > 0 {
			inner = g.shape
		}
	}
	targets := make([]target, len(cols))
	for i, c := range cols {
		col, t := &b.Columns[c], &targets[i]
		t.leaf = &in.leaves[k][in.fields[at.Field(c)].leaf]
		t.width = int(g.shape[len(g.shape)-1])
		f, err := t.leaf.field("x", r.src.opts.media, inner)
		if err != nil || f.DType != col.DType || f.Levels != col.Levels || !slices.Equal(f.Shape, col.Shape) {
			return fmt.Errorf("%w: array %s", shardify.ErrChanged, g.Path)
		}
		if !t.leaf.text() {
			t.size = t.leaf.values() * int64(t.leaf.width(f.DType))
		}
		if err := t.room(g, hi-lo, func(n int64) ([]byte, error) { return mem.Alloc(int(n*repeat) + slack)[:n], nil }); err != nil {
			return err
		}
	}
	if err := r.work.read(in, g, lo, hi, targets); err != nil {
		return err
	}
	for i, c := range cols {
		if err := targets[i].column(&b.Columns[c], b.Samples, repeat, sp.Lo, mem); err != nil {
			return err
		}
	}
	return nil
}

// width is the bytes of a value in a column.
func (l *leaf) width(t shardify.DType) int {
	if l.cf != nil {
		return t.Size()
	}
	return l.typ.Size
}

// column puts what was read into c.
func (t *target) column(c *shardify.Column, samples int, repeat, first int64, mem *shardify.Arena) error {
	if !t.leaf.text() {
		n := len(t.data)
		c.Data = t.data[:n*int(repeat)]
		if repeat > 1 {
			fill(c.Data, c.Data[:n])
		}
		return nil
	}
	if t.leaf.chars {
		t.fuse()
	}
	per := len(t.vals) / max(samples/int(repeat), 1) // of a sample
	unit := int64(max(c.ElemBytes(), 1))
	total := int64(0)
	for _, v := range t.vals {
		if (v.hi-v.lo)%unit != 0 {
			return shardify.Corrupt(-1, "a list of %d bytes, in elements of %d", v.hi-v.lo, unit)
		}
		total += v.hi - v.lo
	}
	c.Data = mem.Alloc(int(total * repeat))
	ends := mem.Int64s(len(t.vals)*int(repeat) + 1)
	ends[0] = 0
	at := int64(0)
	for i := range len(t.vals) * int(repeat) {
		v := t.vals[i%len(t.vals)]
		at += int64(copy(c.Data[at:], t.text[v.lo:v.hi]))
		ends[i+1] = at / unit
	}
	if c.Offsets = [][]int64{ends}; c.Levels == 2 {
		outer := mem.Int64s(samples + 1)
		for i := range outer {
			outer[i] = int64(i * per)
		}
		c.Offsets = [][]int64{outer, ends}
	}
	return rows.CheckText(c, first)
}
