package sets

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// GiveUp takes back what an unfinished extension has published: a kill may have come when its
// shards had their names and no manifest had them. They would be in the way of any other. If the
// manifest has them they are part of the set, and GiveUp does the remaining steps.
func (e *Extension) GiveUp(ctx context.Context, sync local.Sync) error {
	staged, err := Open(e.Staging)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrCorrupt) {
		return nil // without a manifest of its own it has published nothing
	}
	if err != nil {
		return err
	}
	unlock, err := lock(e.dir, "extend")
	if err != nil {
		return err
	}
	defer unlock()
	if e.Base, err = openBase(e.dir); err != nil {
		return err
	}
	out := local.NewDir(e.dir, sync)
	begun, done, err := e.published()
	if err != nil || !begun {
		return err
	}
	if done {
		return e.tidy(ctx, out, len(e.Base.Manifest.Parts))
	}
	if err := e.Base.restore(ctx, &finisher{store: local.Replacer{Dir: out}}); err != nil {
		return err
	}
	for _, name := range e.Base.splits() {
		add := staged.of(name)
		if add == nil {
			continue
		}
		moves, err := follow(e.Base, add, name)
		if err != nil {
			return err
		}
		for i := range moves {
			if err := moves[i].takeBack(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore writes the files that describe the shards, except the manifest of the set, as the set has them.
func (s *Set) restore(ctx context.Context, f *finisher) error {
	lines, err := s.inputLines()
	if err != nil {
		return err
	}
	names := s.splits()
	var all []*index.Manifest
	for _, name := range names {
		one := *s.of(name).Manifest
		if err := f.beside(ctx, name, &one, lines); err != nil {
			return err
		}
		all = append(all, &one)
	}
	if names[0] == "" {
		return nil
	}
	if _, err := f.lists(ctx, s.Manifest, names, all); err != nil {
		return err
	}
	for _, name := range names {
		if err := storage.WriteFile(ctx, storage.Below(f.store, name), index.ManifestName, s.of(name).text); err != nil {
			return err
		}
	}
	return nil
}

// takeBack removes the files of a shard that a set has by accident: what has their names
// and is something else stays.
func (m *move) takeBack(out *local.Dir) error {
	from, as := []string{m.shard.Name}, []string{m.as.Name}
	for i := range m.shard.Files {
		from, as = append(from, m.shard.Files[i].Name), append(as, m.as.Files[i].Name)
	}
	for i := range from {
		if out.Same(dataset.FilePath(m.from.Dir, from[i]), as[i]) != nil {
			continue
		}
		if err := out.Remove(as[i]); err != nil {
			return err
		}
	}
	return nil
}

// published reports whether Publish has started, and whether the manifest of the set has the staged
// shards already: perhaps a version was made of that one since.
func (e *Extension) published() (begun, done bool, err error) {
	base, err := local.ReadOwn(filepath.Join(e.Staging, filepath.FromSlash(baseName)), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil || len(base) == 0 {
		return true, false, err
	}
	list, err := e.Base.versions()
	for _, v := range list {
		op := opExtend
		if v.Manifest.Change != nil {
			op = v.Manifest.Change.Op
		}
		if v.Manifest.Previous == string(base) || op == opCheckout {
			return true, op == opExtend, err
		}
	}
	return true, false, err
}
