package verify

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
)

// derived rebuilds, in memory, what follows from the shards: offset indexes, the files for foreign
// loaders, the manifest. A rebuilt file counts only if its digest is the recorded one; only a
// manifest's digest is not recorded elsewhere.
type derived struct {
	s        *set
	over     *overlay
	finished bool
}

func newDerived(s *set) *derived {
	return &derived{s: s, over: &overlay{Store: s.store, mem: memory.New()}}
}

// file is the right content of a file, nil if it cannot be determined. The error is that of the
// context.
func (d *derived) file(ctx context.Context, f *otherFile) ([]byte, error) {
	_, ok := d.over.mem.Files()[f.Name]
	if !ok && f.shard >= 0 {
		ok = d.rebuild(ctx, f)
	}
	if !ok && !d.finished {
		d.finished = true
		d.finish(ctx)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	content := d.over.mem.Files()[f.Name]
	if content == nil || index.DigestOf(content) != f.Digest {
		return nil, nil
	}
	return content, nil
}

// rebuild rebuilds a file beside a shard, if it follows from the shard.
func (d *derived) rebuild(ctx context.Context, f *otherFile) (ok bool) {
	if d.s.sink == nil || d.s.sink.Rebuild == nil {
		return false
	}
	e := &d.s.shards[f.shard]
	b, err := d.s.store.Open(e.Name)
	if err != nil {
		return true // and no more is known
	}
	defer b.Close()
	content, err := d.s.sink.Rebuild(f.Name, e.Shard, &watched{ctx: ctx, r: b, read: &d.s.o.Progress.Bytes}, b.Size())
	if err == nil && content != nil {
		d.over.mem.Set(f.Name, content)
	}
	return err != nil || content != nil
}

// finish lets the output format write its files for the whole set. If that fails, they cannot be
// determined.
func (d *derived) finish(ctx context.Context) {
	sink := d.s.sink
	if sink == nil || sink.Finish == nil {
		return
	}
	set := format.FinishedSet{Schema: d.s.schema, Options: d.s.outputOptions(sink)}
	for i := range d.s.shards {
		set.Shards = append(set.Shards, d.s.shards[i].Shard)
	}
	_, _ = sink.Finish(ctx, d.over, set)
}

// sinkNamed is an output format, nil if this program has no format of this name.
func (s *set) sinkNamed(name string) *format.Output {
	i := slices.IndexFunc(s.o.Sinks, func(f format.Output) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.o.Sinks[i]
}

// outputOptions are those of the plan, else what the recipe has of them.
func (s *set) outputOptions(sink *format.Output) format.Options {
	if s.plan == nil {
		s.plan, _ = loadPlan(s.top().store)
	}
	if s.plan != nil {
		return s.plan.Out.Options
	}
	given := format.Options{}
	for _, o := range sink.Options {
		if v, ok := s.manifest.Recipe[o.Name]; ok {
			given[o.Name] = v
		}
	}
	full, err := format.CheckOptions(sink.Options, given)
	if err != nil {
		return given
	}
	return full
}

// manifest is the manifest as a merge of the receipts makes it, nil if some are
// missing.
func (d *derived) manifest(ctx context.Context) []byte {
	s := d.s
	sink := s.sink
	if s.plan == nil || sink == nil {
		return nil
	}
	over := d.over
	if s.root != nil {
		over = &overlay{Store: s.root.store, mem: memory.New()}
	}
	over.hidden = append(over.hidden, index.ManifestName)
	for _, split := range s.plan.Splits.Names() {
		over.hidden = append(over.hidden, split+"/"+index.ManifestName)
	}
	j := convert.Job{Plan: s.plan, Sink: *sink, Store: over}
	if _, err := j.Merge(ctx); err != nil {
		return nil
	}
	name := index.ManifestName
	if s.root != nil {
		name = s.prefix + name
	}
	return over.mem.Files()[name]
}

// explainManifest reports a damaged manifest, with what was changed if that can be determined.
func (s *set) explainManifest(ctx context.Context, d *derived) error {
	if s.damaged == nil {
		return s.remakeManifest(ctx, d)
	}
	p := *s.damaged
	want := s.fixed
	repairable := p.Fix == fixRepair
	if want == nil && repairable {
		want = d.manifest(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		have, err := s.written()
		switch {
		case want == nil:
			p.Fix = "restore it from a copy, or remove it and run the same convert command again"
		case err == nil && len(have) == len(want):
			p.Offset = int64(firstDiff(have, want))
			p.What = fmt.Sprintf("%d bytes are changed, the first is %#02x and was %#02x; %s", countDiff(have, want), have[p.Offset], want[p.Offset], p.What)
		case err == nil && bytes.HasPrefix(want, have):
			p.Offset, p.What = int64(len(have)), "is truncated"
		case err == nil:
			p.What = "is not what the receipts say; " + p.What
		}
	}
	s.add(p)
	if !s.o.Repair || !repairable {
		return nil
	}
	s.c.again = s.c.again || s.manifest == nil && want != nil
	return s.repairFile(ctx, index.ManifestName, want)
}

// remakeManifest makes a manifest that is missing, where every shard has its receipt.
func (s *set) remakeManifest(ctx context.Context, d *derived) error {
	if s.manifest != nil || !s.o.Repair {
		return nil
	}
	want := d.manifest(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if want == nil {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.report.Done = append(s.c.report.Done, s.prefix+index.ManifestName+": cannot be rebuilt: that needs the plan and the receipts of all shards, in "+storage.Private)
		return nil
	}
	s.c.again = true
	return s.repairFile(ctx, index.ManifestName, want)
}

// overlay is a store whose writes stay in memory.
type overlay struct {
	storage.Store
	mem    *memory.Store
	hidden []string // published files that are not seen
}

func (o *overlay) Open(name string) (storage.Blob, error) {
	if b, err := o.mem.Open(name); err == nil {
		return b, nil
	}
	if slices.Contains(o.hidden, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return o.Store.Open(name)
}

// Unwrap is the store below. What would write there, or show what is hidden, is replaced.
func (o *overlay) Unwrap() any { return o.Store }

// Flush has nothing to make durable.
func (o *overlay) Flush(context.Context) error { return nil }

// Replace writes to memory.
func (o *overlay) Replace(ctx context.Context, name string, content []byte) error {
	return o.mem.Replace(ctx, name, content)
}

// Names are those that List has.
func (o *overlay) Names(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for f, err := range o.List(dir) {
			if !yield(f.Name, err) {
				return
			}
		}
	}
}

// Size is that of the file which Open opens.
func (o *overlay) Size(name string) (int64, error) {
	b, err := o.Open(name)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	return b.Size(), nil
}

func (o *overlay) Create(name string) (storage.Pending, error) { return o.mem.Create(name) }

// Remove removes nothing: the rebuilding needs no removal.
func (o *overlay) Remove(string) error { return nil }

// List is that of the store below; what is written here is never listed.
func (o *overlay) List(dir string) iter.Seq2[storage.FileInfo, error] {
	return func(yield func(storage.FileInfo, error) bool) {
		for f, err := range o.Store.List(dir) {
			if err == nil && slices.Contains(o.hidden, f.Name) {
				continue
			}
			if !yield(f, err) {
				return
			}
		}
	}
}
