// Package inspect describes inputs and data sets: their fields, sizes and
// samples, and the command that converts them. It reads metadata; only Sample
// reads data.
//
//	r, err := inspect.Inputs(ctx, inspect.Request{Inputs: []string{"photos"}})
//	r.WriteText(os.Stdout)
package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/pipeline/internal/propose"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// Request says what to look at.
type Request struct {
	Inputs  []string
	Format  format.Input
	Why     string // of the format
	Columns []string
	Options format.Options // complete
	Given   format.Options // those that the user has named
	Jobs    int
	// Asked: the format was named, not found out.
	Asked bool
	// Follow: links found in folders may lead anywhere.
	Follow bool
	// SplitFrom are the splits that are wanted, if any: objects or dirs, see format.Way.
	SplitFrom string
	// Skip: damaged inputs are left out, as with --on-error skip.
	Skip bool
	// Late: shards of data sets are checked when they are read, so that a set with a damaged one can be opened.
	Late  bool
	tried bool // one way of several: if it does not work, nothing says why
	// Output is the output format, and OutputWhy why the default is not; "" if it is.
	Output, OutputWhy string
	// Settings are further ones of the command, by the names of their flags.
	Settings format.Options
}

func (r *Request) open() readers.Request {
	return readers.Request{Inputs: r.Inputs, Columns: r.Columns, Options: r.Options, Jobs: r.Jobs, Asked: r.Asked, Follow: r.Follow, Splits: r.SplitFrom == "objects", Folders: r.SplitFrom == "dirs", SkipDamaged: r.Skip, Late: r.Late}
}

// OpenSplits opens a data set or other inputs, each split by itself in the order of their names. What it
// returns with an error is open, too.
func OpenSplits(ctx context.Context, r Request) (all []*readers.Opened, splits []string, err error) {
	o, err := readers.Open(ctx, r.Format, r.open())
	set, ok := errors.AsType[*dataset.SplitSet](err)
	if !ok {
		return []*readers.Opened{o}, []string{""}, err
	}
	for _, name := range set.Names {
		r.Inputs = []string{storage.Join(set.Folder, name)}
		if o, err = readers.Open(ctx, r.Format, r.open()); err != nil {
			break
		}
		all, splits = append(all, o), append(splits, name)
	}
	return all, splits, err
}

// Report describes inputs.
type Report struct {
	Format  string `json:"format"`
	Why     string `json:"why"`
	Inputs  int64  `json:"inputs"`
	Bytes   int64  `json:"bytes"` // on disk
	Samples int64  `json:"samples"`
	Decoded int64  `json:"decoded_bytes"` // exact, a bound or an estimate: what the format knows
	Keyed   bool   `json:"keyed"`         // samples have names of their own
	// HasFiles is format.HasFiles.
	HasFiles bool `json:"-"`
	// InOrder is the part of Decoded that is read in order only (compressed
	// members).
	InOrder int64             `json:"in_order_bytes"`
	Fields  []Field           `json:"fields"`
	Facts   []string          `json:"facts,omitempty"`
	LeftOut []format.Leftover `json:"left_out,omitempty"`
	// Differences are there when the inputs do not fit together.
	Differences []Difference `json:"differences,omitempty"`
	Problems    []string     `json:"problems,omitempty"` // inputs that cannot be opened
	// Ways are the requests that convert can carry out, each of which has been opened: one, or
	// more where the inputs can be read in several ways; none if Cause says why.
	Ways  []Request `json:"-"`
	Cause error     `json:"-"`
	// Outline is what OutlineOf, the first input, holds, where the inputs could not be
	// opened as one table.
	OutlineOf string   `json:"outline_of,omitempty"`
	Outline   []string `json:"outline,omitempty"`
}

// Field is a field and what it takes.
type Field struct {
	shardify.Field
	SampleBytes int64 `json:"sample_bytes"` // decoded, on average; -1 unknown
	Bytes       int64 `json:"bytes"`        // decoded, of all samples; -1 unknown
	// Files have the field like this; 0 means all of them.
	Files int64 `json:"files,omitempty"`
}

// Inputs opens the inputs together. If they do not fit together it describes
// them one by one and says how they differ.
func Inputs(ctx context.Context, r Request) (*Report, error) {
	paired := r.pairsOfTars(ctx)
	rep, err := r.inputs(ctx)
	if paired == nil {
		return rep, err
	}
	if err == nil {
		paired.Ways = append(paired.Ways, rep.Ways...)
	}
	return paired, nil
}

// pairsOfTars are tars that are parts of the same samples, as another format reads them; nil if they are not.
func (r Request) pairsOfTars(ctx context.Context) *Report {
	if r.tried || r.Asked || r.Format.Sniff == nil || !r.Format.Sniff(nil, "x.tar") {
		return nil
	}
	t, _, err := readers.List(ctx, r.Format, r.open())
	if err != nil {
		return nil
	}
	p := propose.Tars(t)
	k := slices.IndexFunc(readers.Formats, func(f format.Input) bool { return f.Tars != nil })
	if p == nil || k < 0 {
		return nil
	}
	r.Format, r.Why, r.tried = readers.Formats[k], p.Why, true
	r.Given = maps.Clone(p.Settings)
	if r.Options, err = format.CheckOptions(r.Format.Options, r.Given); err != nil {
		return nil
	}
	rep, err := r.inputs(ctx)
	if err != nil || rep.Cause != nil {
		return nil
	}
	return rep
}

func (r Request) inputs(ctx context.Context) (*Report, error) {
	o, err := readers.Open(ctx, r.Format, r.open())
	var doubt *format.Ambiguous
	var some *format.Skippable
	switch {
	case errors.As(err, &doubt):
		return r.doubtful(ctx, err, doubt)
	case errors.As(err, &some) && !r.Skip:
		r.Skip = true
		if rep, e := Inputs(ctx, r); e == nil && rep.Ways != nil {
			return rep, nil
		}
		return nil, err
	case err != nil && r.tried:
		return nil, err
	case err != nil:
		return r.apart(ctx, err)
	}
	defer o.Source.Close()
	if err := o.Idle(&r.Format, r.Given); err != nil {
		return nil, err
	}
	rep := &Report{Format: r.Format.Name, Why: r.Why, Inputs: int64(o.Args.Table.Len()), Bytes: o.Args.Table.Bytes(), LeftOut: o.LeftOut}
	rep.way(r, o.Source)
	if err := rep.source(ctx, o.Source); err != nil {
		return nil, err
	}
	if _, ok := o.Source.(format.Describer); !ok && r.Format.Outline == nil {
		if a, ok := o.Source.(format.Arrayed); ok {
			rep.Facts = append(rep.Facts, rep.arrays(a.ByFile())...)
		}
		if n, ok := o.Source.(format.Noter); ok {
			rep.Facts = append(rep.Facts, n.Notes()...)
		}
	}
	if found := splits.Found(format.FoldersOf(o.Source, o.Args.Table)); found != nil && !r.Format.Sets {
		rep.Facts = append(rep.Facts, "the folders "+strings.Join(found, ", ")+" are splits: convert makes a set of each (--split-from none: one set of all)")
	}
	if p := splitColumn(ctx, o.Source); p != nil {
		rep.propose(ctx, r, p)
	}
	if fact := repeats(ctx, o.Source); fact != "" {
		rep.Facts = append(rep.Facts, fact)
	}
	for _, p := range propose.Look(ctx, o.Source, o.Args.Table, r.Given["labels"] != "") {
		rep.propose(ctx, r, &p)
	}
	checked := images{table: o.Args.Table, files: r.Format.Whole, left: mostPixels}
	rep.Facts = append(rep.Facts, filekind.Notes(o.Source.Schema())...)
	rep.Facts = append(rep.Facts, filekind.Look(ctx, o.Source, filekind.InspectImages, false, checked.look)...)
	if damaged := checked.fact(); damaged != "" {
		rep.Facts = append(rep.Facts, damaged)
	}
	return rep, nil
}

// doubtful shows how inputs differ, or else the first way to read them that works, with all
// ways that do.
func (r Request) doubtful(ctx context.Context, cause error, d *format.Ambiguous) (*Report, error) {
	var first *Report
	var ways []Request
	for i := range d.Ways {
		way := r.By(&d.Ways[i])
		way.tried = true
		rep, err := Inputs(ctx, way)
		if err != nil || rep.Cause != nil {
			continue
		}
		if first == nil {
			first = rep
		}
		ways = append(ways, rep.Ways...)
	}
	if ways == nil {
		cause = shardify.Mismatch("%s", format.Reason(cause)) // no way to be shown as a command
	}
	rep := first
	if first == nil || d.Differ {
		if apart, err := r.apart(ctx, cause); err == nil && (first == nil || apart.Differences != nil && apart.Problems == nil) {
			rep = apart
		}
	}
	if rep == nil {
		return nil, cause
	}
	if ways != nil {
		rep.Ways, rep.Cause = ways, nil
	}
	rep.Facts = append(rep.Facts, d.Facts...)
	return rep, nil
}

// way adds a request that convert can carry out: with another output format, if the default
// cannot hold the samples.
func (rep *Report) way(r Request, src shardify.Source) {
	k, ok := src.(format.Keyer)
	keyed := ok && k.Keyed()
	name, _ := writers.Default(src.Schema(), keyed, format.HasFiles(src))
	out, _ := writers.Lookup(name)
	err := out.Check(src.Schema(), keyed, nil)
	var c *format.Cured
	switch {
	case err == nil:
	case errors.As(err, &c):
		r = r.By(&c.Ways[0])
		r.OutputWhy = fmt.Sprintf("--format %s, since %s is not possible: %s", r.Output, name, format.Reason(err))
	default:
		rep.Cause = err
		return
	}
	r.tried = false
	rep.Ways = append(rep.Ways, r)
}

// propose adds a request with the settings of a proposal, if the inputs can be read by them.
func (rep *Report) propose(ctx context.Context, r Request, p *propose.Proposal) {
	if !p.Options {
		r.Settings = p.Settings
		rep.Ways = append(rep.Ways, r)
		rep.Facts = append(rep.Facts, p.Why+": "+p.Flags())
		return
	}
	for _, missing := range append(p.Missing, "")[:max(len(p.Missing), 1)] {
		way := r.By(&format.Way{Options: p.Settings})
		if missing != "" {
			way = way.By(&format.Way{Options: format.Options{"missing": missing}})
		}
		if way.tried = true; len(way.Columns) == 0 {
			for _, name := range p.Without {
				way.Columns = append(way.Columns, "!"+name)
			}
		}
		if more, err := Inputs(ctx, way); err == nil && more.Cause == nil {
			rep.Ways = append(rep.Ways, more.Ways...)
			rep.Facts = append(rep.Facts, p.Why+": "+p.Flags())
			return
		}
	}
}

// By is the request with the settings of one way to read the inputs.
func (r Request) By(w *format.Way) Request {
	r.Options, r.Given = maps.Clone(r.Options), maps.Clone(r.Given)
	for name, v := range w.Options {
		switch name {
		case format.SplitFrom:
			r.SplitFrom = v
			continue
		case format.OutputFormat:
			r.Output = v
			continue
		}
		r.Options[name] = v
		if r.Given == nil {
			r.Given = format.Options{}
		}
		r.Given[name] = v
	}
	if name := readers.WantsBytes(&r.Format, r.Given); name != "" && !r.Asked {
		f := readers.OfAnyKind()
		if o, err := format.CheckOptions(f.Options, r.Given); err == nil {
			r.Format, r.Options, r.Why = f, o, "--"+name
		}
	}
	if w.Columns != nil {
		r.Columns = w.Columns
	}
	return r
}

// outline adds what the first input holds; an input that cannot list it says so.
func (r *Report) outline(ctx context.Context, f *format.Input, t *format.Table) {
	if f.Outline == nil || t.Len() == 0 {
		return
	}
	lines, err := f.Outline(ctx, storages.Of(t), t.Path(0))
	if err != nil {
		lines = append(lines, err.Error())
	}
	r.OutlineOf, r.Outline = t.Name(0), lines
}

// source adds what one source knows.
func (r *Report) source(ctx context.Context, src shardify.Source) error {
	var bytes int64
	for s, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return err
		}
		r.Samples += s.Samples()
		bytes += s.Bytes
		if s.Run > 0 {
			r.InOrder += s.Bytes
		}
	}
	r.Decoded += bytes
	if k, ok := src.(format.Keyer); ok {
		r.Keyed, r.HasFiles = k.Keyed(), format.HasFiles(src)
	}
	if k, ok := src.(format.Skipper); ok {
		for _, s := range k.Skipped() {
			r.Problems = append(r.Problems, s.Input+": "+s.Reason)
		}
	}
	if l, ok := src.(format.Reporter); ok {
		r.LeftOut = append(r.LeftOut, l.Leftovers()...)
	}
	if d, ok := src.(format.Describer); ok {
		r.Facts = append(r.Facts, d.Describe()...)
	}
	r.Fields = fieldsOf(src.Schema(), r.Samples, bytes)
	return nil
}

// fieldsOf shares the bytes out: fixed fields are known, the remaining bytes belong to the fields
// of variable length, and to the only one if there is one.
func fieldsOf(schema []shardify.Field, samples, bytes int64) []Field {
	var out []Field
	variable, rest := 0, bytes
	for i := range schema {
		f := Field{Field: schema[i], SampleBytes: -1, Bytes: -1}
		if f.Levels > 0 {
			variable++
		} else {
			f.SampleBytes = int64(f.ElemBytes())
			f.Bytes = f.SampleBytes * samples
			rest -= f.Bytes
		}
		out = append(out, f)
	}
	for i := range out {
		if out[i].Levels > 0 && variable == 1 && samples > 0 {
			out[i].Bytes = max(rest, 0)
			out[i].SampleBytes = out[i].Bytes / samples
		}
	}
	return out
}

// maxApart bounds how many inputs are opened one by one.
const maxApart = 1000

// apart describes inputs that do not fit together, each by itself. Formats whose samples are spread
// over several files cannot be split up.
func (r *Request) apart(ctx context.Context, cause error) (*Report, error) {
	if !errors.Is(cause, shardify.ErrSchema) || r.Format.Whole || r.Options.Bool("zip") {
		return nil, cause
	}
	t, left, err := readers.List(ctx, r.Format, r.open())
	if err != nil || t.Len() == 0 || t.Len() < 2 && r.Format.Outline == nil {
		return nil, cause
	}
	rep := &Report{Format: r.Format.Name, Why: r.Why, Inputs: int64(t.Len()), Bytes: t.Bytes(), LeftOut: left, Cause: cause}
	if rep.outline(ctx, &r.Format, t); t.Len() == 1 {
		rep.Problems = []string{cause.Error()}
		return rep, nil
	}
	m := merger{byField: map[string][]variant{}, paths: map[string][]string{}}
	for i := range min(t.Len(), maxApart) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		one := &format.Table{Roots: t.Roots, FS: t.FS}
		one.Append(t.Root(i), string(t.NameBytes(i)), t.Size(i), t.ModTime(i))
		src, err := r.Format.Open(ctx, format.OpenArgs{Table: one, Options: r.Options, Jobs: r.Jobs})
		if err != nil {
			rep.Problems = append(rep.Problems, err.Error())
			continue
		}
		part := &Report{}
		err = part.source(ctx, src)
		src.Close()
		if err != nil {
			rep.Problems = append(rep.Problems, err.Error())
			continue
		}
		rep.Samples += part.Samples
		rep.Decoded += part.Decoded
		m.add(t.Name(i), t.Path(i), part.Fields)
	}
	if t.Len() > maxApart {
		rep.Facts = append(rep.Facts, fmt.Sprintf("only the first %d of %d files were looked at", maxApart, t.Len()))
	}
	rep.Fields, rep.Differences = m.result()
	if rep.Differences == nil && rep.Problems == nil {
		return nil, cause // each is fine, and so are all fields: not ours to explain
	}
	for _, inputs := range m.alike() {
		way := *r
		way.Inputs = inputs
		if o, err := readers.Open(ctx, r.Format, way.open()); err == nil {
			rep.way(way, o.Source)
			o.Source.Close()
		}
	}
	return rep, nil
}

// Output is a name for the folder of shards made from the inputs.
func Output(inputs []string) string {
	base := "data"
	if len(inputs) > 0 {
		in := dataset.Folder(filepath.Clean(inputs[0]))
		base = readers.Stem(in)
		_, err := local.IsLink(in)
		pattern := err != nil && strings.ContainsAny(base, "*?[")
		if len(inputs) > 1 || pattern {
			if dir := filepath.Base(filepath.Dir(in)); dir != "." && dir != "/" && !strings.ContainsAny(dir, "*?[") {
				base = dir
			}
		}
		ends := ".-_/"
		if err != nil {
			ends += "*?[]"
		}
		base = strings.Trim(base, ends)
	}
	if base == "" {
		base = "data"
	}
	return base + "-shards"
}
