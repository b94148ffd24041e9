package wds

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage/storages"
)

// survey is what a plan keeps of the inputs.
type survey struct {
	Schema  []shardify.Field  `json:"schema"`
	Keyed   bool              `json:"keyed"`
	Members map[string]string `json:"members"`
	Inputs  [][]shard         `json:"inputs"` // as the table
}

// shard is what the manifest says about one shard, and where its samples begin.
type shard struct {
	Name    string `json:"name"`
	Samples int64  `json:"samples"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"`
	lo      int64
}

type source struct {
	survey
	table  *format.Table
	tar    *dataset.Tar
	schema []shardify.Field // the wanted fields
	wanted []int            // their places in survey.Schema
	coords map[string]format.Coord
	lost   []string // coordinates that only some of the sets have
	// overhead is the bytes of a sample in the tar less those in memory.
	overhead int64
}

// Open reads the manifests, or takes what a plan has kept of them.
func Open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	s := &source{table: a.Table}
	if a.State != nil {
		if err := json.Unmarshal(a.State, &s.survey); err != nil || len(s.Inputs) != a.Table.Len() {
			return nil, shardify.Corrupt(-1, "state of %d inputs for a table of %d: %v", len(s.Inputs), a.Table.Len(), err)
		}
	} else if err := s.read(ctx, a.Late); err != nil {
		return nil, err
	}
	var err error
	if s.tar, err = dataset.NewTar(s.survey.Schema, s.Members, s.survey.Keyed); err != nil {
		return nil, shardify.Annotate(err, "open", s.manifest(0), "")
	}
	for i := range s.Inputs {
		if err := s.number(i); err != nil {
			return nil, shardify.Annotate(err, "open", s.manifest(i), "")
		}
	}
	if s.schema, s.wanted, err = dataset.Project(s.survey.Schema, a.Columns); err != nil {
		return nil, err
	}
	s.setOverhead()
	return s, nil
}

// manifest is the path of input i's manifest.
func (s *source) manifest(i int) string { return dataset.ManifestPath(s.table.Path(i)) }

func (s *source) shardPath(input int, name string) string {
	return dataset.FilePath(s.table.Path(input), name)
}

// read surveys the inputs: manifests, and the sizes of the shards they name.
func (s *source) read(ctx context.Context, late bool) error {
	sets, err := dataset.OpenAll(ctx, s.table, index.FormatWDS)
	if err != nil {
		return err
	}
	if s.coords, s.lost, err = dataset.Coords(sets); err != nil {
		return err
	}
	s.survey.Schema, s.survey.Keyed, s.Members = sets[0].Schema, sets[0].Keyed, sets[0].Members
	for i, m := range sets {
		var shards []shard
		for _, sh := range m.Shards {
			shards = append(shards, shard{Name: sh.Name, Samples: sh.Samples, Bytes: sh.Bytes, Digest: sh.Digest})
			if late {
				continue
			}
			err := dataset.CheckFile(ctx, storages.Of(s.table), s.shardPath(i, sh.Name), sh.Bytes)
			if err == nil {
				err = dataset.CheckFile(ctx, storages.Of(s.table), s.shardPath(i, sh.Name+tar.IndexExt), tar.IndexBytes(sh.Samples))
			}
			if err != nil {
				return shardify.Annotate(err, "open", s.manifest(i), "")
			}
		}
		s.Inputs = append(s.Inputs, shards)
	}
	return nil
}

// number finds where each shard's samples begin, and refuses counts that its
// bytes cannot hold.
func (s *source) number(input int) error {
	lo := int64(0)
	for j := range s.Inputs[input] {
		sh := &s.Inputs[input][j]
		if err := index.SafeName(sh.Name); err != nil {
			return err
		}
		most := (sh.Bytes - tar.End) / tar.Block / int64(len(s.tar.Members))
		if sh.Samples < 0 || sh.Bytes < tar.End || sh.Samples > most || lo+sh.Samples < lo {
			return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes", sh.Name, sh.Samples, sh.Bytes)
		}
		sh.lo = lo
		lo += sh.Samples
	}
	return nil
}

// ObjectName is the shard of a proof.
func (s *source) ObjectName(input, object uint32) (file, name string) {
	if int(input) >= len(s.Inputs) || int(object) >= len(s.Inputs[input]) {
		return "", ""
	}
	return s.shardPath(int(input), s.Inputs[input][object].Name), ""
}

// Coords implements format.Gridded, after a survey.
func (s *source) Coords() map[string]format.Coord { return s.coords }

// Leftovers implements format.Reporter, after a survey.
func (s *source) Leftovers() []format.Leftover { return index.LostCoords(s.lost) }

func (s *source) Schema() []shardify.Field { return slices.Clone(s.schema) }

func (s *source) State() ([]byte, error) { return json.Marshal(&s.survey) }

func (s *source) Close() error { return nil }

// Reopen implements format.Reopener: readers open files by themselves.
func (s *source) Reopen() {}

func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("run %d: wds shards have none", run)
	}
	return &reader{src: s, input: -1}, nil
}
