package sets

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// What an Edit does.
const (
	opRemove   = "remove"
	opCheckout = "checkout"
	opCollect  = "gc"
	opRelabel  = "relabel"
	opExtend   = "extend" // of an Extension
)

// Edit makes a new version of a finished data set. Shards of the old one stay as they are; those
// in which something changes are written again under other names. So readers that have the set open go on
// with the version that they know, and no reader meets a sample that was removed.
type Edit struct {
	Dir string
	Op  string // remove, relabel, checkout, gc
	// Where chooses samples by a condition, Keys by the file with their names, or with values of the field By.
	Where, Keys, By string
	Labels          string // the file with values of fields, for relabel
	Version         int64  // to check out, or how many are kept
	To              string // the folder that gets it; "" makes it the present one again
	Note            string // for the log
	Dry             bool   // find out and write nothing
	Jobs            int
	Memory          int64
	Sync            string // as local.Sync
	Steps           *stall.Board

	// What was done, or would be.
	Before, After index.Manifest
	Written       int                 // shards, or files that are deleted
	Bytes         int64               // of those
	Changed       int64               // samples that get other values
	Windows       map[string][2]int64 // of rows: how many before, and after a removal
}

// editor is an Edit at work.
type editor struct {
	*Edit
	base  *Set
	store storage.Store
	pool  *shardify.Pool
	old   map[string]int64 // files to delete, with their sizes
	wrote []string         // shards
}

// Run does it. Without a sample that is chosen nothing changes.
func (e *Edit) Run(ctx context.Context) (err error) {
	if len(e.Note) > index.MaxNote || !utf8.ValidString(e.Note) {
		return shardify.Misuse("--note of %d bytes: want UTF-8, at most %d bytes", len(e.Note), index.MaxNote)
	}
	e.Dir = dataset.Folder(e.Dir)
	x := &editor{Edit: e, pool: shardify.NewPool(e.Memory), old: map[string]int64{}}
	if x.base, err = Open(e.Dir); err != nil {
		return err // and no folder is made for the lock
	}
	if x.store, err = storages.Open(e.Dir, storages.Output{Sync: local.Sync(e.Sync)}); err != nil {
		return err
	}
	storage.EndWrites(ctx, x.store)
	here := storages.Local(e.Dir)
	if here && !e.Dry && e.To == "" {
		unlock, err := lock(e.Dir, e.Op)
		if err != nil {
			return err
		}
		defer unlock()
		if err := local.NewDir(e.Dir, local.Sync(e.Sync)).Clean(); err != nil {
			return err
		}
	}
	if err := x.begin(ctx, here); err != nil {
		return err
	}
	e.Before, e.After = *x.base.Manifest, *x.base.Manifest
	switch {
	case e.Op == opCollect:
		return x.collect(ctx)
	case e.Op == opCheckout && e.To != "":
		return x.export(ctx)
	case e.Op == opCheckout:
		err = x.again(ctx)
	case e.Op == opRelabel:
		err = x.relabel(ctx)
	default:
		err = x.remove(ctx)
	}
	if err != nil && !here {
		err = x.late(ctx, err)
	}
	return err
}

// begin opens the set. In a folder, splits of a new version that were published before a kill give way to those of the
// old one, which is still that of the set. On a server they may be those of another writer.
func (x *editor) begin(ctx context.Context, here bool) (err error) {
	if x.base, err = openBase(x.Dir); err != nil {
		return err
	}
	if err := x.base.alone(x.Op); err != nil || !here {
		return err
	}
	for name, split := range x.base.Splits {
		to := storage.Below(x.store, name)
		b, err := plan.ReadFile(to, index.ManifestName)
		if err == nil && !x.Dry && !bytes.Equal(b, split.text) {
			err = storage.Replace(ctx, to, index.ManifestName, split.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *editor) annotate(err error) error { return shardify.Annotate(err, x.Op, x.Dir, "") }

// publish makes the manifests of splits, or the one of the set, its next version, whose inputs are those of a version.
func (x *editor) publish(ctx context.Context, of *Set, root *index.Manifest, made []*index.Manifest) error {
	defer x.Steps.Begin("publishing the manifest of " + x.Dir).End()
	static, _, err := staticOf(x.base)
	if err != nil {
		return err
	}
	lines, err := of.inputLines()
	if err != nil {
		return err
	}
	now, err := x.base.inputLines()
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(lines, now) { // older versions find theirs there
		if err := storage.WriteFile(ctx, x.store, keptInputs(x.base.Manifest.VersionNumber()), now); err != nil {
			return err
		}
	}
	root.Previous = x.base.Manifest.Digest
	root.Change = &index.Change{Version: x.base.Manifest.VersionNumber() + 1, Op: x.Op, Samples: -x.base.Manifest.Samples, Note: x.Note}
	f := finisher{store: &replacer{x.store}, static: static}
	if !storages.Local(x.Dir) {
		f.base = x.base
	}
	if err := x.base.keep(ctx, x.store); err != nil {
		return err
	}
	names := x.base.splits()
	for i, m := range made {
		root.Change.Samples += m.Samples
		m.Previous = x.base.of(names[i]).Manifest.Digest
		if err := f.beside(ctx, names[i], m, lines); err != nil {
			return err
		}
	}
	m, err := f.manifests(ctx, root, names, made)
	if err == nil {
		x.After = *m
	}
	x.wrote = append(x.wrote, f.pending...)
	return x.annotate(err)
}

// late makes an error of an edit one about the other writer, if there was one: it takes back what it has
// published, shards that the set does not have and lists of shards.
func (x *editor) late(ctx context.Context, err error) error {
	now, failed := openBase(x.Dir)
	if failed != nil || now.Manifest.Digest == x.base.Manifest.Digest {
		return err
	}
	err = x.annotate(fmt.Errorf("another process has changed the set meanwhile: %w", shardify.ErrExists))
	names := map[string]bool{}
	all, failed := now.versions() // one of them may have had the same shard
	err = errors.Join(err, failed)
	for _, s := range append(all, x.base) {
		s.files("", func(name string) { names[name] = true })
	}
	for _, split := range now.Manifest.Splits {
		names[index.PendingName(split.Digest)] = true
	}
	for _, name := range x.wrote {
		if !names[name] && failed == nil {
			err = errors.Join(err, x.store.Remove(name))
		}
	}
	static, _, failed := staticOf(now)
	if failed == nil {
		failed = now.restore(ctx, &finisher{store: &replacer{x.store}, static: static})
	}
	return shardify.Hint(errors.Join(err, failed), "run the same command again; what the other one has made: shardify log "+printable.Quote(x.Dir))
}

// bare is a manifest without what publish fills in.
func bare(m *index.Manifest) *index.Manifest {
	c := *m
	c.Shards, c.Files, c.Splits, c.Samples, c.Bytes = nil, nil, nil, 0, 0
	c.Parts = slices.Clone(m.Parts)
	return &c
}

// again makes an older version the present one.
func (x *editor) again(ctx context.Context) error {
	old, err := x.version()
	if err != nil {
		return err
	}
	if err := cmp.Or(old.identify(), x.base.identify()); err != nil || old.ID == x.base.ID {
		return err
	}
	if x.After = *old.Manifest; x.Dry {
		return nil
	}
	for _, name := range old.splits() {
		for _, s := range old.of(name).Manifest.Shards {
			if err := dataset.CheckFile(ctx, storages.Files, dataset.FilePath(storage.Join(x.Dir, name), s.Name), s.Bytes); err != nil {
				return x.annotate(err)
			}
		}
	}
	var made []*index.Manifest
	for _, name := range old.splits() {
		m := bare(old.of(name).Manifest)
		m.Shards = old.of(name).Manifest.Shards
		for _, s := range m.Shards {
			m.Samples += s.Samples
		}
		made = append(made, m)
	}
	if !slices.Equal(old.splits(), x.base.splits()) {
		return x.annotate(shardify.Unsupported("version %d has other splits", x.Version))
	}
	return x.publish(ctx, old, bare(old.Manifest), made)
}

// version is one of those that the set has had.
func (x *editor) version() (*Set, error) {
	now := x.base.Manifest.VersionNumber()
	if x.Version == now {
		return x.base, nil
	}
	if x.Version < 1 || x.Version > now {
		return nil, x.annotate(shardify.Misuse("version %d: the set has %s", x.Version, printable.Of(now, "version")))
	}
	old, err := x.base.kept(x.Version)
	if errors.Is(err, fs.ErrNotExist) {
		err = shardify.Hint(x.annotate(fmt.Errorf("version %d is not kept any more: %w", x.Version, fs.ErrNotExist)), "versions that are kept: shardify log "+printable.Quote(x.Dir))
	}
	return old, err
}

// replacer is a store whose files replace those of the same name.
type replacer struct{ storage.Store }

// Unwrap has the abilities of the store.
func (r *replacer) Unwrap() any { return r.Store }

// Create starts a small file that is published as a whole.
func (r *replacer) Create(name string) (storage.Pending, error) {
	return &replacing{store: r.Store, name: name}, nil
}

// replacing is a file in memory until it is published.
type replacing struct {
	store storage.Store
	name  string
	text  []byte
}

func (p *replacing) Write(b []byte) (int, error) {
	p.text = append(p.text, b...)
	return len(b), nil
}

// WriteAt puts bytes anywhere.
func (p *replacing) WriteAt(b []byte, at int64) (int, error) {
	if need := at + int64(len(b)); need > int64(len(p.text)) {
		p.text = append(p.text, make([]byte, need-int64(len(p.text)))...)
	}
	return copy(p.text[at:], b), nil
}

// Commit publishes it.
func (p *replacing) Commit(ctx context.Context) error {
	return storage.Replace(ctx, p.store, p.name, p.text)
}

// Abort forgets it.
func (p *replacing) Abort() error { return nil }

// numbered are the shards of a manifest by the number of their first sample.
func numbered(shards []shardify.Shard) []int64 {
	first := make([]int64, 1, len(shards)+1)
	for i := range shards {
		first = append(first, first[i]+shards[i].Samples)
	}
	return first
}

// share takes what is gone from shards off the parts of a set.
func share(parts []index.Part, old []shardify.Shard, left map[int]shardify.Shard) (samples, shards []int64) {
	samples, shards = make([]int64, len(parts)), make([]int64, len(parts))
	k, end := 0, int64(0)
	for i := range parts {
		end += parts[i].Shards
		for ; int64(k) < end && k < len(old); k++ {
			now, changed := left[k]
			if !changed {
				continue
			}
			samples[i] += old[k].Samples - now.Samples
			if now.Samples == 0 {
				shards[i]++
			}
		}
	}
	return samples, shards
}

// sorted are the keys of a map in order.
func sorted[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
