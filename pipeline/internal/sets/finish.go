package sets

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// finisher writes the files that describe a set to its readers.
type finisher struct {
	store  storage.Store // whose files replace others
	static []byte        // the file of static fields; nil without
	base   *Set          // whose manifest is replaced if it is as it was read; nil where no other writer can be
	// pending are the manifests of splits that other writers cannot replace.
	pending []string
}

// readOwn reads a file of a set whole.
func readOwn(name string) ([]byte, error) {
	f, err := storage.OpenOwn(context.Background(), storages.Files, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return storage.ReadWhole(f, name, maxFile)
}

// readGiven reads a file that the user names, which may be a link or a pipe.
func readGiven(name string) ([]byte, error) {
	f, err := storages.Stream(context.Background(), name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	return bytes.TrimPrefix(b, []byte("\ufeff")), err
}

// putStatic publishes the file of static fields, and names it in the manifest.
func (f *finisher) putStatic(ctx context.Context, to storage.Store, m *index.Manifest) error {
	if f.static == nil {
		m.Static = nil
		return nil
	}
	m.Files = append(m.Files, shardify.File{Name: index.StaticName, Bytes: int64(len(f.static)), Digest: index.DigestOf(f.static)})
	return storage.WriteFile(ctx, to, index.StaticName, f.static)
}

// staticOf is the file of the static fields that the manifests of sets have in common, of the
// first of the sets; lost names those that only some of them have.
func staticOf(list ...*Set) (b []byte, lost []string, err error) {
	var j index.JoinedStatic
	for _, s := range list {
		if err := j.Add(s.Manifest); err != nil {
			return nil, nil, shardify.Annotate(err, "merge", s.Dir, "")
		}
	}
	of, lost := j.Of()
	if of == nil {
		return nil, lost, nil
	}
	name := storage.Join(list[0].Dir, index.StaticName)
	if b, err = readOwn(name); err == nil {
		err = index.Holds(of.StaticFile(), b)
	}
	return b, nil, shardify.Annotate(err, "read", name, "")
}

// beside sums up a manifest, and publishes what foreign loaders want and the list of
// inputs.
func (f *finisher) beside(ctx context.Context, split string, m *index.Manifest, lines []byte) error {
	m.Samples, m.Bytes, m.Files = 0, 0, nil
	for _, s := range m.Shards {
		m.Samples += s.Samples
		m.Bytes += s.Bytes
	}
	sink, options, err := sink(m)
	if err != nil {
		return err
	}
	to := storage.Below(f.store, split)
	if sink.Finish != nil {
		m.Files, err = sink.Finish(ctx, to, format.FinishedSet{Schema: m.Schema, Keyed: m.Keyed, Shards: m.Shards, Options: options})
		if err != nil {
			return err
		}
	}
	if err := f.putStatic(ctx, to, m); err != nil {
		return err
	}
	if lines != nil {
		if err := storage.WriteFile(ctx, to, index.InputsName, lines); err != nil {
			return err
		}
		m.Files = append(m.Files, shardify.File{Name: index.InputsName, Bytes: int64(len(lines)), Digest: index.DigestOf(lines)})
	}
	return nil
}

// manifests publishes those of the splits, then the one of the set.
func (f *finisher) manifests(ctx context.Context, root *index.Manifest, names []string, made []*index.Manifest) (*index.Manifest, error) {
	if len(names) == 1 && names[0] == "" {
		m := made[0]
		m.Previous, m.Change = root.Previous, root.Change
		return m, f.manifest(ctx, "", m)
	}
	root.Splits = map[string]index.Split{}
	for i, m := range made {
		// The effects of operations are reported for all splits together, in the root.
		m.Dropped, m.Copied, m.Documents, m.Counts, m.Skipped, m.Change = 0, 0, 0, nil, nil, nil
		b, err := m.Encode()
		if err != nil {
			return nil, err
		}
		if f.base != nil {
			f.pending = append(f.pending, index.PendingName(m.Digest))
			if err := storage.WriteFile(ctx, f.store, index.PendingName(m.Digest), b); err != nil {
				return nil, err
			}
		}
		root.Splits[names[i]] = index.Split{Samples: m.Samples, Shards: int64(len(m.Shards)), Digest: m.Digest}
		root.Samples += m.Samples
		root.Bytes += m.Bytes
	}
	var err error
	if root.Files, err = f.lists(ctx, root, names, made); err != nil {
		return nil, err
	}
	if err := f.putStatic(ctx, f.store, root); err != nil {
		return nil, err
	}
	for i, m := range made {
		if err := f.manifest(ctx, names[i], m); err != nil {
			return nil, err
		}
	}
	return root, f.manifest(ctx, "", root)
}

// lists publishes what foreign loaders want of all splits together.
func (f *finisher) lists(ctx context.Context, root *index.Manifest, names []string, made []*index.Manifest) ([]shardify.File, error) {
	sink, _, err := sink(root)
	if err != nil || sink.FinishSplits == nil {
		return root.Files, err
	}
	var finished []format.FinishedSplit
	for i, m := range made {
		split := format.FinishedSplit{Name: names[i]}
		for _, s := range m.Shards {
			split.Shards = append(split.Shards, below(s, names[i]))
		}
		finished = append(finished, split)
	}
	return sink.FinishSplits(ctx, f.store, finished)
}

func (f *finisher) manifest(ctx context.Context, split string, m *index.Manifest) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	if err := storage.Flush(ctx, f.store); err != nil {
		return err
	}
	if f.base != nil && split == "" {
		return storage.Swap(ctx, f.store, index.ManifestName, f.base.text, b)
	}
	return storage.WriteFile(ctx, storage.Below(f.store, split), index.ManifestName, b)
}

// inputLines is the list of inputs of all sets, nil without.
func (m *merger) inputLines() ([]byte, error) {
	var all []byte
	for _, s := range m.sets {
		b, err := s.inputLines()
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// inputLines is the set's list of inputs: of any split, since all have the same. An
// extension that was killed may have put the list of all inputs in its place: it begins
// with this one.
func (s *Set) inputLines() ([]byte, error) {
	if !provenance(s.Manifest) {
		return nil, nil
	}
	of := s
	for _, split := range s.Splits {
		of = split
	}
	i := slices.IndexFunc(of.Manifest.Files, func(f shardify.File) bool { return f.Name == index.InputsName })
	if i < 0 {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "the manifest does not list %s", index.InputsName), "read", of.Dir, "")
	}
	f := of.Manifest.Files[i]
	name := storage.Join(of.Dir, f.Name)
	b, err := beginning(name, &f)
	for v := s.Manifest.VersionNumber(); err != nil && v <= max(s.latest, s.Manifest.VersionNumber()); v++ {
		if kept, e := beginning(storage.Join(s.Dir, keptInputs(v)), &f); e == nil {
			b, err = kept, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if n := int64(strings.Count(string(b), "\n")); n != s.inputs() {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "%d lines for %d inputs", n, s.inputs()), "read", name, "")
	}
	return b, nil
}

// keptInputs is where the list of inputs of a version is kept, if the next one has not all of them. Versions before it
// have its first ones.
func keptInputs(version int64) string { return fmt.Sprintf("%s/%06d.jsonl", index.KeptDir, version) }

// beginning is the bytes of a list that a manifest describes, of one that may be longer.
func beginning(name string, f *shardify.File) ([]byte, error) {
	b, err := readOwn(name)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < f.Bytes || index.DigestOf(b[:f.Bytes]) != f.Digest {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "it is not what the manifest says"), "read", name, "")
	}
	return b[:f.Bytes], nil
}
