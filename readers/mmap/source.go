package mmap

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/storages"
)

// survey is what a plan keeps of the inputs.
type survey struct {
	Schema []shardify.Field `json:"schema"`
	Keyed  bool             `json:"keyed"`
	Inputs [][]shard        `json:"inputs"` // as the table
	// Views are, by input, what the samples are, if not rows.
	Views []index.View `json:"views,omitempty"`
}

// shard is the manifest's record of one shard, and where its samples begin.
type shard struct {
	shardify.Shard
	lo int64
}

type source struct {
	survey
	table  *format.Table
	layout *index.Layout
	schema []shardify.Field // the wanted fields
	wanted []int            // their places in survey.Schema
	coords map[string]format.Coord
	lost   []string // coordinates that only some of the sets have
}

// Open reads the manifests, or takes what a plan has kept of them.
func Open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	s := &source{table: a.Table}
	if a.State != nil {
		if err := json.Unmarshal(a.State, &s.survey); err != nil || len(s.Inputs) != a.Table.Len() {
			return nil, shardify.Corrupt(-1, "state of %d inputs for a table of %d: %v", len(s.Inputs), a.Table.Len(), err)
		}
	} else if err := s.read(ctx, a.Options.Value(&viewOption), a.Late); err != nil {
		return nil, err
	}
	var err error
	if s.layout, err = index.NewLayout(s.survey.Schema, s.survey.Keyed); err != nil {
		return nil, err
	}
	for i := range s.Inputs {
		if err := s.number(i); err != nil {
			return nil, shardify.Annotate(err, "open", s.manifest(i), "")
		}
	}
	if s.schema, s.wanted, err = dataset.Project(s.survey.Schema, a.Columns); err != nil {
		return nil, err
	}
	if len(s.survey.Views) > 0 {
		return newViewed(s)
	}
	return s, nil
}

// manifest is the path of input i's manifest.
func (s *source) manifest(i int) string { return dataset.ManifestPath(s.table.Path(i)) }

func (s *source) shardPath(input int, name string) string {
	return dataset.FilePath(s.table.Path(input), name)
}

// read surveys the inputs: manifests, and the sizes of the shards they name.
func (s *source) read(ctx context.Context, view string, late bool) error {
	sets, err := dataset.OpenAll(ctx, s.table, index.FormatMmap)
	if err != nil {
		return err
	}
	if s.coords, s.lost, err = dataset.Coords(sets); err != nil {
		return err
	}
	s.survey.Schema, s.survey.Keyed = sets[0].Schema, sets[0].Keyed
	for i, m := range sets {
		shards := make([]shard, len(m.Shards))
		for j, sh := range m.Shards {
			shards[j] = shard{Shard: sh}
			if late {
				continue
			}
			if err := dataset.CheckFile(ctx, storages.Of(s.table), s.shardPath(i, sh.Name), sh.Bytes); err != nil {
				return shardify.Annotate(err, "open", s.manifest(i), "")
			}
		}
		s.Inputs = append(s.Inputs, shards)
	}
	if view != "" {
		return s.choose(view, sets)
	}
	return nil
}

// number finds where each shard's samples begin, and refuses counts that its
// bytes cannot hold.
func (s *source) number(input int) error {
	lo, row := int64(0), s.sampleBytes(s.survey.Schema, true)
	for j := range s.Inputs[input] {
		sh := &s.Inputs[input][j]
		if err := index.SafeName(sh.Name); err != nil {
			return err
		}
		data := sh.Bytes - s.layout.HeaderBytes
		if sh.Samples < 0 || data < 0 || row > 0 && sh.Samples > data/row || lo+sh.Samples < lo {
			return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes", sh.Name, sh.Samples, sh.Bytes)
		}
		sh.lo = lo
		lo += sh.Samples
	}
	return nil
}

// sampleBytes is what each sample of the fields takes for certain; with offsets
// or without.
func (s *source) sampleBytes(fields []shardify.Field, offsets bool) (n int64) {
	for i := range fields {
		f := &fields[i]
		if f.Levels == 0 {
			n += int64(f.ElemBytes())
		}
		if f.Nullable {
			n++
		}
	}
	if offsets {
		for i := range s.layout.Tensors {
			if s.layout.Tensors[i].Lead == index.LeadOffsets {
				n += 8
			}
		}
	}
	return n
}

// Coords implements format.Gridded, after a survey.
func (s *source) Coords() map[string]format.Coord { return s.coords }

// Leftovers implements format.Reporter, after a survey.
func (s *source) Leftovers() []format.Leftover { return index.LostCoords(s.lost) }

func (s *source) Schema() []shardify.Field { return slices.Clone(s.schema) }

func (s *source) State() ([]byte, error) { return json.Marshal(&s.survey) }

// object numbers the tensors of an input, shard by shard.
func (s *source) object(shard, tensor int) (uint32, bool) {
	n := int64(shard)*int64(len(s.layout.Tensors)) + int64(tensor)
	return uint32(n), n <= math.MaxUint32
}

// ObjectName is the shard and tensor of a proof.
func (s *source) ObjectName(input, object uint32) (file, name string) {
	n := uint32(len(s.layout.Tensors))
	if int(input) >= len(s.Inputs) || int(object/n) >= len(s.Inputs[input]) {
		return "", ""
	}
	return s.shardPath(int(input), s.Inputs[input][object/n].Name), "tensor " + s.layout.Tensors[object%n].Name
}

func (s *source) Close() error { return nil }

// Reopen implements format.Reopener: readers open files by themselves.
func (s *source) Reopen() {}

// Spans cuts every shard into pieces of about target bytes.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for i := range s.Inputs {
			for j := range s.Inputs[i] {
				sh := &s.Inputs[i][j]
				each := s.spanBytes(sh, sh.Samples)
				step := sh.Samples
				if each > target { // at least one sample, at most all
					step = max(1, int64(float64(sh.Samples)*(float64(max(target, 1))/float64(each))))
				}
				for lo := int64(0); lo < sh.Samples; lo += step {
					if err := ctx.Err(); err != nil {
						yield(shardify.Span{}, err)
						return
					}
					hi := min(lo+step, sh.Samples)
					span := shardify.Span{Input: uint32(i), Lo: sh.lo + lo, Hi: sh.lo + hi, Bytes: s.spanBytes(sh, hi-lo)}
					if !yield(span, nil) {
						return
					}
				}
			}
		}
	}
}

// spanBytes is exact for fixed fields. All fields of variable length together
// are taken to be spread evenly over the shard.
func (s *source) spanBytes(sh *shard, samples int64) int64 {
	n := samples * s.sampleBytes(s.schema, false)
	variable := s.survey.Keyed || slices.ContainsFunc(s.schema, func(f shardify.Field) bool { return f.Levels > 0 })
	if variable && sh.Samples > 0 {
		rest := sh.Bytes - s.layout.HeaderBytes - sh.Samples*s.sampleBytes(s.survey.Schema, false)
		n += int64(float64(rest) * (float64(samples) / float64(sh.Samples)))
	}
	return n
}

func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("run %d: mmap shards have none", run)
	}
	return &reader{src: s, input: -1}, nil
}
