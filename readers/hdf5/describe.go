package hdf5

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Describe implements format.Describer: what the samples are and why, and how
// the data sets of the first file are stored.
func (s *source) Describe() []string {
	out := s.Notes()
	for in := range s.Inputs() {
		var b look.Blob
		if err := json.Unmarshal(in.Blob, &b); err != nil {
			break // a file that has no samples
		}
		lines, err := s.describeFile(&in, &b)
		if err != nil {
			lines = []string{fmt.Sprintf("%s: %v", in.Name(), err)}
		}
		return append(out, lines...)
	}
	return out
}

// Notes implements format.Noter: what the samples are comes first.
func (s *source) Notes() []string {
	var out []string
	for in := range s.Inputs() {
		var b look.Blob
		if json.Unmarshal(in.Blob, &b) == nil {
			out = b.Notes()
		}
		break
	}
	out = append(out, s.ambiguity...)
	return append(out, s.Set.Notes()...)
}

func (s *source) describeFile(in *set.Input, b *look.Blob) ([]string, error) {
	return describeFile(context.Background(), storages.Of(s.table), in.Path(), s.opts, b)
}

// outline lists the data sets of a file, whether or not they make one table, and what
// cannot be read.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	defaults, err := format.CheckOptions(options, nil)
	if err != nil {
		return nil, err
	}
	opts, err := tree.NewSettings(defaults)
	if err != nil {
		return nil, err
	}
	return describeFile(ctx, fs, name, opts, &look.Blob{})
}

func describeFile(ctx context.Context, fs storage.FS, name string, opts *tree.Settings, b *look.Blob) ([]string, error) {
	sv := &chooser{fs: fs, opts: opts}
	f, err := sv.file(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, _ := columns.New(nil)
	t, err := tree.Scan(ctx, f, opts, all, tree.Samples{})
	if err != nil {
		return nil, err
	}
	return look.Describe(t, b), nil
}
