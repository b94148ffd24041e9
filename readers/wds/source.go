package wds

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// maxManifest bounds the text of a manifest: a million shards take 300 MiB.
const maxManifest = 1 << 30

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
	lo      int64
}

type source struct {
	survey
	table   *shardify.Table
	members []index.Member   // of all fields
	names   []name           // of members, sorted
	schema  []shardify.Field // the wanted fields
	wanted  []int            // their places in survey.Schema
	// overhead is the bytes of a sample in the tar less those in memory.
	overhead int64
}

// name is a name that a member may have.
type name struct {
	tail   string // with the dot
	member int
	code   int // of an image's extension
}

// Open reads the manifests, or takes what a plan has kept of them.
func Open(ctx context.Context, a shardify.OpenArgs) (shardify.Source, error) {
	s := &source{table: a.Table}
	if a.State != nil {
		if err := json.Unmarshal(a.State, &s.survey); err != nil || len(s.Inputs) != a.Table.Len() {
			return nil, shardify.Corrupt(-1, "state of %d inputs for a table of %d: %v", len(s.Inputs), a.Table.Len(), err)
		}
	} else if err := s.read(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.members, err = index.MembersOf(s.survey.Schema, s.Members); err != nil {
		return nil, shardify.Annotate(err, "open", s.manifest(0), "")
	}
	s.sortNames()
	for i := range s.Inputs {
		if err := s.number(i); err != nil {
			return nil, shardify.Annotate(err, "open", s.manifest(i), "")
		}
	}
	if err := s.project(a.Columns); err != nil {
		return nil, err
	}
	s.setOverhead()
	return s, nil
}

// manifest is the path of input i's manifest.
func (s *source) manifest(i int) string {
	p := s.table.Path(i)
	if filepath.Base(p) == index.ManifestName {
		return p
	}
	return filepath.Join(p, index.ManifestName)
}

func (s *source) shardPath(input int, name string) string {
	return filepath.Join(filepath.Dir(s.manifest(input)), filepath.FromSlash(name))
}

// read surveys the inputs: manifests, and the sizes of the shards they name.
func (s *source) read(ctx context.Context) error {
	if s.table.Len() == 0 {
		return shardify.Unsupported("no input: want the folder of a data set")
	}
	for i := range s.table.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.readOne(i); err != nil {
			return shardify.Annotate(err, "open", s.manifest(i), "")
		}
	}
	return nil
}

func (s *source) readOne(i int) error {
	m, err := readManifest(s.manifest(i))
	if err != nil {
		return err
	}
	switch {
	case len(m.Splits) > 0:
		return shardify.Unsupported("a set of splits: name one of its folders %s", strings.Join(slices.Sorted(maps.Keys(m.Splits)), ", "))
	case m.Format != index.FormatWDS:
		return shardify.Unsupported("a data set of %s shards", m.Format)
	case i == 0:
		s.survey.Schema, s.survey.Keyed, s.Members = m.Schema, m.Keyed, m.Members
	default:
		if err := s.same(m); err != nil {
			return err
		}
	}
	var shards []shard
	for _, sh := range m.Shards {
		for name, size := range map[string]int64{sh.Name: sh.Bytes, sh.Name + index.TarIndexExt: index.TarIndexBytes(sh.Samples)} {
			if err := checkFile(s.shardPath(i, name), size); err != nil {
				return err
			}
		}
		shards = append(shards, shard{Name: sh.Name, Samples: sh.Samples, Bytes: sh.Bytes})
	}
	s.Inputs = append(s.Inputs, shards)
	return nil
}

func checkFile(name string, size int64) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() != size {
		return shardify.Corrupt(-1, "%s: the manifest says %d bytes, the file has %d", filepath.Base(name), size, st.Size())
	}
	return nil
}

func readManifest(name string) (*index.Manifest, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if st.Size() > maxManifest {
		return nil, shardify.Unsupported("manifest of %d bytes", st.Size())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return index.DecodeManifest(b)
}

// same compares a further input with the first one.
func (s *source) same(m *index.Manifest) error {
	if m.Keyed != s.survey.Keyed {
		return shardify.Mismatch("keyed is %v, but %v in %s", m.Keyed, s.survey.Keyed, s.manifest(0))
	}
	text := func(f []shardify.Field) string { b, _ := json.Marshal(f); return string(b) }
	for i := range min(len(m.Schema), len(s.survey.Schema)) {
		if a, b := m.Schema[i:i+1], s.survey.Schema[i:i+1]; text(a) != text(b) {
			return shardify.Mismatch("field %d is %s, but %s in %s", i, text(a), text(b), s.manifest(0))
		}
	}
	if a, b := len(m.Schema), len(s.survey.Schema); a != b {
		return shardify.Mismatch("%d fields, but %d in %s", a, b, s.manifest(0))
	}
	if !maps.Equal(m.Members, s.Members) {
		return shardify.Mismatch("members %v, but %v in %s", m.Members, s.Members, s.manifest(0))
	}
	return nil
}

// sortNames lists the names of members in the order in which a sample has them.
func (s *source) sortNames() {
	for i := range s.members {
		for code, n := range s.members[i].Names() {
			s.names = append(s.names, name{"." + n, i, code})
		}
	}
	slices.SortFunc(s.names, func(a, b name) int { return strings.Compare(a.tail, b.tail) })
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
		most := (sh.Bytes - index.TarEnd) / index.TarBlock / int64(len(s.members))
		if sh.Samples < 0 || sh.Bytes < index.TarEnd || sh.Samples > most || lo+sh.Samples < lo {
			return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes", sh.Name, sh.Samples, sh.Bytes)
		}
		sh.lo = lo
		lo += sh.Samples
	}
	return nil
}

// project keeps the fields that match one of the globs, with their companions.
func (s *source) project(globs []string) error {
	all := s.survey.Schema
	want := make([]bool, len(all))
	for _, g := range globs {
		found := false
		for i := range all {
			ok, err := path.Match(g, all[i].Name)
			if err != nil {
				return fmt.Errorf("columns %q: %w", g, err)
			}
			want[i] = want[i] || ok
			found = found || ok
		}
		if !found {
			return shardify.Mismatch("columns %q: the data set has no such field", g)
		}
	}
	for i := range s.members {
		m := &s.members[i]
		if len(globs) > 0 && !want[m.Field] {
			continue
		}
		for _, f := range []int{m.Field, m.Shape, m.Ext} {
			if f >= 0 {
				want[f] = true
			}
		}
	}
	for i := range all {
		if want[i] {
			s.schema = append(s.schema, all[i])
			s.wanted = append(s.wanted, i)
		}
	}
	return nil
}

func (s *source) Schema() []shardify.Field { return slices.Clone(s.schema) }

func (s *source) State() ([]byte, error) { return json.Marshal(&s.survey) }

func (s *source) Close() error { return nil }

func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("run %d: wds shards have none", run)
	}
	return &reader{src: s, input: -1}, nil
}
