package pipeline

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Inspection is inputs to look at.
type Inspection = inspect.Request

// Card describes a data set for catalogues.
type Card = inspect.Card

// Shown is a sample, for people and for programs.
type Shown = inspect.Shown

// InspectRequest makes the request from settings: of these, format, fields and options count.
// sample says that the option of that name was given, which not every format has.
func InspectRequest(ctx context.Context, s Settings, inputs []string, sample bool) (r Inspection, err error) {
	inputs = slices.Clone(inputs)
	for i := range inputs {
		inputs[i] = storages.Plain(inputs[i])
	}
	src, why, err := settings.ChooseInput(ctx, nil, s.From, inputs, s.Options, len(s.Parse) > 0)
	if err != nil {
		return r, err
	}
	if sample && !slices.ContainsFunc(src.Options, func(o format.Option) bool { return o.Name == "sample" }) {
		return r, shardify.Usage("--sample %q: want the number of a sample, counted from 0", s.Options["sample"])
	}
	if !sample {
		delete(s.Options, "sample")
	}
	if err := settings.Belong(s.Options, &src); err != nil {
		return r, err
	}
	options, err := settings.Pick(s.Options, src.Options)
	if err != nil {
		return r, err
	}
	jobs, _ := host.This().Jobs(0)
	return Inspection{Inputs: inputs, Format: src, Why: why, Columns: value.Trimmed(s.Columns), Options: options, Given: s.Options, Skip: s.OnError == plan.OnErrorSkip, Jobs: jobs, Asked: s.From != "", Follow: s.FollowSymlinks}, nil
}

// opened opens what is looked at.
func opened(ctx context.Context, r Inspection, jobs int) (*readers.Opened, error) {
	return readers.Open(ctx, r.Format, readers.Request{Inputs: r.Inputs, Columns: r.Columns, Options: r.Options, Jobs: jobs, Asked: r.Asked, Follow: r.Follow})
}

// openedAs opens a data set or other inputs, each split by itself.
func openedAs(ctx context.Context, path string, jobs int) (all []*readers.Opened, splits []string, err error) {
	r, err := InspectRequest(ctx, Settings{}, []string{path}, false)
	if err != nil {
		return nil, nil, err
	}
	r.Jobs = jobs
	return inspect.OpenSplits(ctx, r)
}

// Fields names the fields of inputs: of the settings, format and options count.
func Fields(ctx context.Context, s Settings, inputs []string) (names []string, err error) {
	s.Columns = nil
	_, sample := s.Options["sample"]
	r, err := InspectRequest(ctx, s, inputs, sample)
	if err != nil {
		return nil, err
	}
	o, err := opened(ctx, r, r.Jobs)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	for _, f := range o.Source.Schema() {
		names = append(names, f.Name)
	}
	return names, nil
}

// Sample reads one sample.
func Sample(ctx context.Context, r Inspection, n int64) (*Shown, error) {
	o, err := opened(ctx, r, r.Jobs)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	return inspect.Sample(ctx, o.Source, o.Args.Table, n)
}

// MadeHere reports whether a folder is a set by shardify although other programs write its format,
// too: then its manifest says as much as that of any set. "" is any format.
func MadeHere(dir, format string) bool {
	_, m, err := ManifestOf(dir)
	return err == nil && (format == "" || m.Format == format)
}

// ManifestOf reads the manifest of a set, named by its folder or itself.
func ManifestOf(dir string) (string, *index.Manifest, error) {
	dir = dataset.Folder(dir)
	b, err := dataset.ReadManifest(context.Background(), storages.Files, storage.Join(dir, index.ManifestName))
	var m *index.Manifest
	if err == nil {
		m, err = index.DecodeManifest(b)
	}
	return dir, m, shardify.Hint(err, "what is damaged: shardify verify "+printable.Quote(dir))
}

// ID is the id of a set: the digest of what a trainer sees of it.
func ID(ctx context.Context, dir string) (string, error) {
	id, _, err := dataset.ID(ctx, storages.Files, storages.Plain(dir))
	if errors.Is(err, shardify.ErrCorrupt) {
		err = shardify.Hint(err, "what is damaged: shardify verify "+printable.Quote(dataset.Folder(dir)))
	}
	return id, err
}

// CardOf describes the data set in a folder, with its splits.
func CardOf(dir string) (*Card, error) {
	dir, m, err := ManifestOf(dir)
	if err != nil {
		return nil, err
	}
	full, err := storage.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Card{Name: filepath.Base(full), Manifest: m, Splits: map[string]*index.Manifest{}}
	for name := range m.Splits {
		if _, c.Splits[name], err = ManifestOf(storage.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return c, nil
}
