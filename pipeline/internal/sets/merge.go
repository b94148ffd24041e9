package sets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/verify"
)

// MergeOptions say what Merge does.
type MergeOptions struct {
	Inputs []string // folders of data sets, in the order of their samples
	Output string
	// Link makes hard links instead of copies: inputs and output then share the bytes.
	Link bool
	Sync local.Sync
	Jobs int
	// Unchecked leaves out reading the inputs for damage first.
	Unchecked bool
	// Checked and Done count bytes for progress; either may be nil.
	Checked *verify.Progress
	Done    func(bytes int64)
	// Steps, if set, has what the merge waits for.
	Steps *stall.Board
}

// MergePlan is what Merge would do.
type MergePlan struct {
	Samples, Bytes  int64
	Shards, Changed int
	Why             string // why shards are rewritten
	Complete        bool   // it is done already
	// Windows are views that are left out: not all of the sets have them, or not of the same rows.
	Windows []string
	// Static are static fields that are left out: not all of the sets have them.
	Static []string
	// Coords are coordinates that are left out: not all of the sets have them.
	Coords []string
}

// journalName is what marks a folder as the output of a merge: the digests of the
// manifests that go into it.
const journalName = storage.Private + "/merge.json"

// merger is a merge that was found possible.
type merger struct {
	o     MergeOptions
	sets  []*Set
	parts []index.Part
	plan  MergePlan
	// static is the file of the static fields that all of the sets have; nil without.
	static []byte
	// coords are those that all of the sets have.
	coords map[string]format.Coord
	// By split, "" without.
	names []string
	into  map[string]*assembly
}

// assembly is one data set to be made.
type assembly struct {
	schema []shardify.Field
	from   []*Set
	moves  []move
}

// PlanMerge finds out whether the sets fit together. It reads manifests, and the
// names of samples where these must differ.
func PlanMerge(ctx context.Context, o MergeOptions) (*Merger, error) {
	if storage.Scheme(o.Output) != "" {
		return nil, shardify.Unsupported("%s: sets are merged into folders of this machine", o.Output)
	}
	m := &merger{o: o, into: map[string]*assembly{}}
	if len(o.Inputs) < 2 {
		return nil, shardify.Unsupported("%d data sets to merge: want two or more", len(o.Inputs))
	}
	for _, in := range o.Inputs {
		in = dataset.Folder(in)
		step := o.Steps.Begin("reading the manifest of " + in)
		s, err := Open(in)
		step.End()
		if err != nil {
			return nil, err
		}
		for _, other := range m.sets {
			if other.Manifest.Digest == s.Manifest.Digest && same(other.Dir, in) {
				return nil, shardify.Annotate(shardify.Mismatch("given twice"), "merge", in, "")
			}
		}
		m.sets = append(m.sets, s)
		m.parts = append(m.parts, s.Manifest.AsParts()...)
	}
	defer o.Steps.Begin("comparing the data sets").End()
	if err := m.fit(); err != nil {
		return nil, err
	}
	if err := m.state(); err != nil {
		return nil, err
	}
	if err := m.moves(); err != nil {
		return nil, err
	}
	if !m.plan.Complete {
		if err := m.uniqueKeys(ctx); err != nil {
			return nil, err
		}
	}
	return &Merger{m}, nil
}

// Merger is a merge that is possible.
type Merger struct{ m *merger }

// Plan returns what Run will do.
func (m *Merger) Plan() MergePlan { return m.m.plan }

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// fit compares the sets with the first one.
func (m *merger) fit() error {
	first := m.sets[0]
	var coords index.JoinedCoords
	if err := coords.Add(first.Manifest); err != nil {
		return err
	}
	for _, s := range m.sets[1:] {
		if (len(s.Splits) > 0) != (len(first.Splits) > 0) {
			return mismatch(s.Dir, "only one of this and %s has splits", first.Dir)
		}
		if err := coords.Add(s.Manifest); err != nil {
			return shardify.Annotate(err, "merge", s.Dir, "")
		}
		if err := sameSurveys(s.Dir, first.Manifest.AsParts()[0].Surveys, s.Manifest.AsParts()[0].Surveys); err != nil {
			return err
		}
	}
	m.coords, m.plan.Coords = coords.Of()
	var err error
	if m.static, m.plan.Static, err = staticOf(m.sets...); err != nil {
		return err
	}
	for _, s := range m.sets {
		if len(s.Splits) == 0 {
			m.add("", s)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Splits)) {
			m.add(name, s.Splits[name])
		}
	}
	m.names = slices.Sorted(maps.Keys(m.into))
	m.plan.Windows = m.lostWindows()
	// Splits have one schema, whether or not each set has all of them.
	var all *Set
	for _, name := range m.names {
		for _, s := range m.into[name].from {
			if all == nil {
				all = s
				continue
			}
			schema, err := unify(all, s)
			if err != nil {
				return err
			}
			both := *all.Manifest
			both.Schema = schema
			all = &Set{Dir: all.Dir, Manifest: &both}
		}
	}
	for _, a := range m.into {
		a.schema = all.Manifest.Schema
	}
	return nil
}

func (m *merger) add(split string, s *Set) {
	if m.into[split] == nil {
		m.into[split] = &assembly{}
	}
	m.into[split].from = append(m.into[split].from, s)
}

// moves decides which shard gets which name, and what changes in it.
func (m *merger) moves() error {
	before := map[string]int64{} // inputs of the sets before, by folder
	var n int64
	for _, s := range m.sets {
		before[s.Dir] = n
		for _, split := range s.Splits {
			before[split.Dir] = n
		}
		n += s.inputs()
	}
	for _, name := range m.names {
		a := m.into[name]
		total := 0
		for _, s := range a.from {
			total += len(s.Manifest.Shards)
		}
		k := 0
		for _, s := range a.from {
			rewrite, why, err := needs(s, a.schema, before[s.Dir])
			if err != nil {
				return err
			}
			for _, sh := range s.Manifest.Shards {
				as, err := renamed(sh, plan.ShardStem(k, total))
				if err != nil {
					return shardify.Annotate(err, "merge", s.Dir, "")
				}
				if name != "" {
					as = below(as, name)
				}
				a.moves = append(a.moves, move{from: s, shard: sh, as: as, rewrite: rewrite})
				k++
				m.plan.Shards++
				m.plan.Samples += sh.Samples
				m.plan.Bytes += sh.Bytes
				if rewrite != nil {
					m.plan.Changed++
					m.plan.Why = why
				}
			}
		}
	}
	return nil
}

// below puts a folder in front of all names of a shard.
func below(s shardify.Shard, dir string) shardify.Shard {
	s.Name = dir + "/" + s.Name
	s.Files = slices.Clone(s.Files)
	for i := range s.Files {
		s.Files[i].Name = dir + "/" + s.Files[i].Name
	}
	return s
}

// journal is the identity of the merge.
func (m *merger) journal() []byte {
	var digests []string
	for _, s := range m.sets {
		digests = append(digests, s.Manifest.Digest)
	}
	return []byte(textOf(struct {
		Merge []string `json:"merge"`
	}{digests}) + "\n")
}

// state looks at the output folder: it must be new, or this merge's.
func (m *merger) state() error {
	dir := m.o.Output
	for _, s := range m.sets {
		if same(s.Dir, dir) {
			return shardify.Annotate(shardify.Unsupported("an input cannot be the output too: shardify extend adds to a set"), "merge", dir, "")
		}
	}
	there, err := local.ReadOwn(filepath.Join(dir, filepath.FromSlash(journalName)), maxFile)
	switch {
	case err == nil && string(there) != string(m.journal()):
		return shardify.Annotate(fmt.Errorf("the folder holds a merge of other data sets: %w", shardify.ErrExists), "merge", dir, "")
	case err == nil:
		_, err := os.Stat(filepath.Join(dir, index.ManifestName))
		m.plan.Complete = err == nil
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == storage.Private && onlyTemp(filepath.Join(dir, storage.Private)) {
			continue
		}
		return shardify.Annotate(fmt.Errorf("the folder is not empty (%s): %w", e.Name(), shardify.ErrExists), "merge", dir, "")
	}
	return nil
}

// onlyTemp reports whether a private folder holds nothing but leftovers of a start.
func onlyTemp(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != "tmp" })
}

// Run merges.
func (x *Merger) Run(ctx context.Context) (*index.Manifest, error) {
	m := x.m
	if m.plan.Complete {
		s, err := Open(m.o.Output)
		if err != nil {
			return nil, err
		}
		return s.Manifest, local.NewDir(m.o.Output, m.o.Sync).Clean()
	}
	if !m.o.Unchecked {
		if err := m.check(ctx); err != nil {
			return nil, err
		}
	}
	out := local.NewDir(m.o.Output, m.o.Sync)
	m.o.Steps.Also(out.Moves)
	if err := out.Clean(); err != nil {
		return nil, err
	}
	if err := storage.WriteFile(ctx, out, journalName, m.journal()); err != nil {
		return nil, err
	}
	c := carrier{store: out, link: m.o.Link, ours: true, jobs: m.o.Jobs, done: m.o.Done, steps: m.o.Steps}
	for _, name := range m.names {
		if err := c.carry(ctx, m.into[name].moves); err != nil {
			return nil, err
		}
	}
	defer m.o.Steps.Begin("publishing the manifest of " + m.o.Output).End()
	return m.finish(ctx, out)
}

// check reads the inputs whole: damage must not be copied.
func (m *merger) check(ctx context.Context) error {
	for _, s := range m.sets {
		step := m.o.Steps.Begin("checking " + s.Dir)
		r, err := verify.Run(ctx, verify.Options{Dir: s.Dir, Jobs: m.o.Jobs, Progress: m.o.Checked})
		step.End()
		if err != nil {
			return err
		}
		if err := r.Err(); err != nil {
			for i := range r.Problems {
				if p := &r.Problems[i]; !p.Note && !p.Repaired {
					err = fmt.Errorf("%w: %s", err, p)
					break
				}
			}
			return shardify.Annotate(fmt.Errorf("%w; shardify verify %s lists all", err, s.Dir), "merge", s.Dir, "")
		}
	}
	return nil
}

// windows are the views that all sets of a split have.
func (a *assembly) windows() map[string]index.View {
	var from []*index.Manifest
	for _, s := range a.from {
		from = append(from, s.Manifest)
	}
	all, _ := index.JoinWindows(from...)
	return all
}

// lostWindows are the views of any set that the merged one has not, by split.
func (m *merger) lostWindows() (lost []string) {
	for _, name := range m.names {
		a := m.into[name]
		kept, any := a.windows(), map[string]bool{}
		for _, s := range a.from {
			for v := range s.Manifest.Windows {
				any[v] = true
			}
		}
		for _, v := range slices.Sorted(maps.Keys(any)) {
			if _, ok := kept[v]; !ok {
				lost = append(lost, storage.Join(name, v))
			}
		}
	}
	return lost
}

// finish writes the files beside the shards, then the manifests.
func (m *merger) finish(ctx context.Context, out *local.Dir) (*index.Manifest, error) {
	f := finisher{store: local.Replacer{Dir: out}, static: m.static}
	lines, err := m.inputLines()
	if err != nil {
		return nil, err
	}
	root := *m.sets[0].Manifest
	root.Shards, root.Files, root.Splits, root.Windows, root.Samples, root.Bytes, root.Previous = nil, nil, nil, nil, 0, 0, ""
	root.Change = nil
	join(&root, m.parts)
	root.Schema = m.into[m.names[0]].schema
	root.Coords = m.coords
	var made []*index.Manifest
	for _, name := range m.names {
		a := m.into[name]
		one := root
		one.Shards, one.Parts = nil, nil
		var parts []index.Part
		for _, s := range a.from {
			parts = append(parts, s.Manifest.AsParts()...)
		}
		join(&one, parts)
		one.Windows = a.windows()
		for i := range a.moves {
			one.Shards = append(one.Shards, cut(a.moves[i].as, name))
		}
		if err := f.beside(ctx, name, &one, lines); err != nil {
			return nil, err
		}
		made = append(made, &one)
	}
	if err := out.Flush(ctx); err != nil {
		return nil, err
	}
	return f.manifests(ctx, &root, m.names, made)
}

// cut takes a folder from the front of all names of a shard.
func cut(s shardify.Shard, dir string) shardify.Shard {
	if dir == "" {
		return s
	}
	s.Name = strings.TrimPrefix(s.Name, dir+"/")
	s.Files = slices.Clone(s.Files)
	for i := range s.Files {
		s.Files[i].Name = strings.TrimPrefix(s.Files[i].Name, dir+"/")
	}
	return s
}
