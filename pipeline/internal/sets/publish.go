package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sys/unix"
)

// ErrBusy: another process publishes a version of the same set.
var errBusy = errors.New("another process is changing this set")

// lock makes sure that no other process of this kind changes a set in a folder.
func lock(dir, op string) (unlock func(), err error) {
	name := filepath.Join(dir, filepath.FromSlash(lockName))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, shardify.Annotate(errBusy, op, dir, "")
	}
	// A file system without locks must do without: two that publish at once are rare.
	return func() { f.Close() }, nil
}

// Publish makes the finished conversion in Staging part of the set: it links the new
// shards to their names, writes the lists of foreign loaders, and replaces the
// manifest. Readers that have opened the set go on with what they know; all that it
// names stays.
func (e *Extension) Publish(ctx context.Context, sync local.Sync, jobs int) (*index.Manifest, error) {
	defer e.Steps.Begin("publishing the manifest of " + e.dir).End()
	unlock, err := lock(e.dir, "extend")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if e.Base, err = openBase(e.dir); err != nil {
		return nil, err
	}
	staged, err := Open(e.Staging)
	if err != nil {
		return nil, err
	}
	out := local.NewDir(e.dir, sync)
	e.Steps.Also(out.Moves)
	work := local.Replacer{Dir: local.NewDir(e.Staging, sync)}
	_, done, err := e.published()
	if err != nil {
		return nil, err
	}
	if m := e.Base.Manifest; done { // a kill came right behind
		return m, e.tidy(ctx, out, len(m.Parts))
	}
	if err := storage.WriteFile(ctx, work, baseName, []byte(e.Base.Manifest.Digest)); err != nil {
		return nil, err
	}
	m, err := e.publish(ctx, out, staged, jobs)
	if err != nil {
		return nil, err
	}
	return m, e.tidy(ctx, out, len(m.Parts))
}

// tidy keeps the plan of the extension and removes the rest.
func (e *Extension) tidy(ctx context.Context, out *local.Dir, part int) error {
	plan, err := local.ReadOwn(filepath.Join(e.Staging, filepath.FromSlash(plan.FileName)), maxFile)
	if err == nil {
		// After a checkout an older version may have had another part of that number.
		err = out.Replace(ctx, fmt.Sprintf("%s/%06d.plan", extendDir, part), plan)
	}
	if err != nil {
		return err
	}
	// A kill must not leave half of it under its name.
	if err := os.Rename(e.Staging, e.done()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return e.Sweep()
}

func (e *Extension) done() string { return filepath.Join(e.dir, filepath.FromSlash(doneDir)) }

// Sweep removes what a killed extension has left that no other call needs.
func (e *Extension) Sweep() error {
	if err := os.RemoveAll(e.done()); err != nil {
		return err
	}
	return local.NewDir(e.dir, local.SyncNone).Clean()
}

func (e *Extension) publish(ctx context.Context, out *local.Dir, staged *Set, jobs int) (*index.Manifest, error) {
	c := carrier{store: out, link: true, jobs: jobs, steps: e.Steps}
	static, _, err := staticOf(e.Base, staged)
	if err != nil {
		return nil, err
	}
	f := finisher{store: local.Replacer{Dir: out}, static: static}
	lines, err := e.lines(staged)
	if err != nil {
		return nil, err
	}
	names := e.Base.splits()
	for _, name := range names { // before any shard has its name
		if add := staged.of(name); add != nil {
			if _, err := extended(e.Base.of(name).Manifest, add.Manifest, nil); err != nil {
				return nil, shardify.Annotate(err, "extend", e.dir, "")
			}
		}
	}
	root, err := extended(e.Base.Manifest, staged.Manifest, e.Base.Manifest.AsParts()[0].Surveys)
	if err != nil {
		return nil, err
	}
	if err := e.Base.keep(ctx, out); err != nil {
		return nil, err
	}
	var made []*index.Manifest
	for _, name := range names {
		old, add := e.Base.of(name), staged.of(name)
		if add == nil {
			return nil, mismatch(e.dir, "the new shards have no split %s", name)
		}
		one, err := extended(old.Manifest, add.Manifest, root.Parts[0].Surveys)
		if err != nil {
			return nil, err
		}
		moves, err := follow(e.Base, add, name)
		if err == nil {
			err = c.carry(ctx, moves)
		}
		if err != nil {
			return nil, err
		}
		one.Shards = slices.Clone(old.Manifest.Shards)
		for i := range moves {
			one.Shards = append(one.Shards, cut(moves[i].as, name))
		}
		if err := f.beside(ctx, name, one, lines); err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return f.manifests(ctx, root, names, made)
}

// splits are the names of the set's, "" for one without.
func (s *Set) splits() []string {
	if len(s.Splits) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(s.Splits))
}

// of is a split of the set, nil if it does not exist, or with "" the set.
func (s *Set) of(split string) *Set {
	if split == "" {
		return s
	}
	return s.Splits[split]
}

// extended is the manifest of a set with one part more.
func extended(old, add *index.Manifest, surveys []index.Survey) (*index.Manifest, error) {
	m := *old
	m.Shards, m.Files, m.Splits, m.Samples, m.Bytes = nil, nil, nil, 0, 0
	var lost []string
	if m.Windows, lost = index.JoinWindows(old, add); lost != nil {
		v, w := old.Windows[lost[0]], add.Windows[lost[0]]
		return nil, shardify.Mismatch("window %s is of rows %v and %v from the anchor in the set, but %v and %v in the new shards: do their rows have other distances?", lost[0], v.In, v.Out, w.In, w.Out)
	}
	var coords index.JoinedCoords
	if err := cmp.Or(coords.Add(old), coords.Add(add)); err != nil {
		return nil, err
	}
	m.Coords, _ = coords.Of()
	if err := sameStatic(old, add); err != nil {
		return nil, err
	}
	m.Previous, m.Change = old.Digest, nil
	if old.Change != nil {
		m.Change = &index.Change{Version: old.Change.Version + 1, Op: opExtend, Samples: add.Samples}
	}
	part := add.AsParts()[0]
	part.Surveys = surveys // the same as of the others: nothing was surveyed again
	join(&m, append(slices.Clone(old.AsParts()), part))
	return &m, nil
}

// sameStatic refuses new samples with other static fields than the set's.
func sameStatic(old, add *index.Manifest) error {
	var j index.JoinedStatic
	err := cmp.Or(j.Add(old), j.Add(add))
	if _, lost := j.Of(); err == nil && len(lost) > 0 {
		err = shardify.Mismatch("only one of the set and the new shards has the static fields %s", strings.Join(lost, ", "))
	}
	return err
}

// follow names the shards that come behind those of a set, and of the versions that it has had.
func follow(base, add *Set, split string) ([]move, error) {
	first := 0
	older, err := base.versions()
	if err != nil {
		return nil, err
	}
	for _, v := range older {
		if v = v.of(split); v == nil {
			continue
		}
		for _, s := range v.Manifest.Shards {
			first = max(first, numberOf(s.Name)+1)
		}
	}
	total := first + len(add.Manifest.Shards)
	var moves []move
	for i, s := range add.Manifest.Shards {
		as, err := renamed(s, plan.ShardStem(first+i, total))
		if err != nil {
			return nil, err
		}
		if split != "" {
			as = below(as, split)
		}
		moves = append(moves, move{from: add, shard: s, as: as})
	}
	return moves, nil
}

// keep saves the manifests that will be replaced.
func (s *Set) keep(ctx context.Context, out storage.Store) error {
	n := s.Manifest.VersionNumber()
	for _, name := range slices.Sorted(maps.Keys(s.Splits)) {
		if err := storage.WriteFile(ctx, out, index.KeptName(n, name), s.Splits[name].text); err != nil {
			return err
		}
	}
	return storage.WriteFile(ctx, out, index.KeptName(n, ""), s.text)
}

// lines is the list of inputs of the set and of the new shards.
func (e *Extension) lines(staged *Set) ([]byte, error) {
	all, err := e.Base.inputLines()
	if err != nil || all == nil {
		return nil, err
	}
	more, err := staged.inputLines()
	return append(all, more...), err
}
