package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// kept reads an older version of a set. Its folder is that of the set.
func (s *Set) kept(version int64) (*Set, error) {
	read := func(split string) (*Set, error) {
		name := storage.Join(s.Dir, index.KeptName(version, split))
		b, err := dataset.ReadManifest(context.Background(), storages.Files, name)
		if err != nil {
			return nil, err
		}
		m, err := index.DecodeManifest(b)
		return &Set{Dir: storage.Join(s.Dir, split), Manifest: m, text: b, latest: s.Manifest.VersionNumber()}, shardify.Annotate(err, "open", name, "")
	}
	v, err := read("")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(v.Manifest.Splits)) {
		one, err := read(name)
		if err == nil && one.Manifest.Digest != v.Manifest.Splits[name].Digest {
			err = shardify.Annotate(shardify.Corrupt(-1, "its digest is not the one in the manifest of the set"), "open", storage.Join(s.Dir, index.KeptName(version, name)), "")
		}
		if err != nil {
			return nil, err
		}
		if v.Splits == nil {
			v.Splits = map[string]*Set{}
		}
		v.Splits[name] = one
	}
	return v, nil
}

// versions are the set and those of its older versions that are kept, the latest first.
func (s *Set) versions() (list []*Set, err error) {
	list = []*Set{s}
	for n := s.Manifest.VersionNumber() - 1; n > 0; n-- {
		v, err := s.kept(n)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if want := list[len(list)-1].Manifest.Previous; v.Manifest.Digest != want {
			return nil, shardify.Annotate(shardify.Corrupt(-1, "version %d has xxh3 %s, the next one says %s", n, v.Manifest.Digest, want), "open", storage.Join(s.Dir, index.KeptName(n, "")), "")
		}
		list = append(list, v)
	}
	return list, nil
}

// export makes a folder of an older version, with links to its shards.
func (x *editor) export(ctx context.Context) error {
	old, err := x.version()
	if err != nil {
		return err
	}
	x.After = *old.Manifest
	if !storages.Local(x.Dir) || !storages.Local(x.To) {
		err := shardify.Unsupported("an older version goes to a folder of this machine, from a folder of this machine")
		return shardify.Hint(x.annotate(err), fmt.Sprintf("make it the present one: shardify checkout %s %d", printable.Quote(x.Dir), x.Version))
	}
	if err := x.vacant(old); err != nil || x.Dry {
		return err
	}
	static, _, err := staticOf(old)
	if err != nil {
		return err
	}
	lines, err := old.inputLines()
	if err != nil {
		return err
	}
	out := local.NewDir(x.To, local.Sync(x.Sync))
	f := finisher{store: local.Replacer{Dir: out}, static: static}
	c := carrier{store: out, link: true, ours: true, jobs: x.Jobs, steps: x.Steps}
	var made []*index.Manifest
	for _, name := range old.splits() {
		v := old.of(name)
		var moves []move
		for _, s := range v.Manifest.Shards {
			as := s
			if name != "" {
				as = below(s, name)
			}
			moves = append(moves, move{from: v, shard: s, as: as})
		}
		if err := c.carry(ctx, moves); err != nil {
			return x.annotate(err)
		}
		m := *v.Manifest
		if err := f.beside(ctx, name, &m, lines); err != nil {
			return err
		}
		made = append(made, &m)
	}
	root := *old.Manifest
	if len(old.Splits) > 0 {
		root.Splits, root.Samples, root.Bytes, root.Files = nil, 0, 0, nil
	}
	m, err := f.manifests(ctx, &root, old.splits(), made)
	if err == nil && m.Digest != old.Manifest.Digest {
		err = x.annotate(shardify.Corrupt(-1, "version %d came out with xxh3 %s, it had %s", x.Version, m.Digest, old.Manifest.Digest))
	}
	return err
}

// vacant refuses a folder that has more than what a killed export of a version leaves.
func (x *editor) vacant(old *Set) error {
	taken := func(what string) error {
		return shardify.Annotate(fmt.Errorf("%s%w", what, shardify.ErrExists), x.Op, x.To, "")
	}
	if _, err := Open(x.To); err == nil {
		return taken("")
	}
	set, err := storage.Abs(x.Dir)
	to, failed := storage.Abs(x.To)
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	if in, err := filepath.Rel(set, to); err == nil && filepath.IsLocal(in) {
		err := shardify.Unsupported("the folder is in that of the set, where all files are those of the set")
		return shardify.Hint(shardify.Annotate(err, x.Op, x.To, ""), "choose a folder beside it: -o "+printable.Quote(set+fmt.Sprint("-", x.Version)))
	}
	ours := map[string]bool{storage.Private: true}
	for name := range old.Splits {
		ours[name] = true
	}
	old.files("", func(name string) {
		top, _, _ := strings.Cut(name, "/")
		ours[top] = true
	})
	for f, err := range local.NewDir(x.To, local.SyncNone).List("") {
		if err != nil {
			return err
		}
		if top, _, _ := strings.Cut(f.Name, "/"); !ours[top] {
			return shardify.Hint(taken("the folder is not empty: "+printable.Quote(top)+" "), "nothing is ever overwritten: choose a new folder, or empty this one yourself")
		}
	}
	return nil
}

// Versions are a set and those of its older versions that are kept, with their ids, the latest first.
func Versions(dir string) ([]*Set, error) {
	base, err := openBase(dataset.Folder(dir))
	if err != nil {
		return nil, err
	}
	list, err := base.versions()
	for _, v := range list {
		err = cmp.Or(err, v.identify())
	}
	return list, err
}

// identify fills in ID.
func (s *Set) identify() (err error) {
	splits := map[string]string{}
	for name, one := range s.Splits {
		if err := one.identify(); err != nil {
			return err
		}
		splits[name] = one.ID
	}
	s.ID, err = index.ID(s.text, splits)
	return err
}
