package sets

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/pass"
	"github.com/shardify/shardify/dataset/proof"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/transform/condition"
	"github.com/shardify/shardify/transform/op"
	"golang.org/x/sync/errgroup"
)

// stretch is samples lo ... hi-1 of a set.
type stretch struct{ lo, hi int64 }

func length(list []stretch) (n int64) {
	for _, s := range list {
		n += s.hi - s.lo
	}
	return n
}

// remove leaves the chosen samples out.
func (x *editor) remove(ctx context.Context) error {
	choose, err := x.chooser()
	if err != nil {
		return err
	}
	names := x.base.splits()
	gone := make([][]stretch, len(names))
	var all int64
	for i, name := range names {
		if gone[i], err = x.choose(ctx, x.base.of(name), choose); err != nil {
			return err
		}
		all += length(gone[i])
	}
	if err := choose.missed(); err != nil {
		return x.annotate(err)
	}
	if x.After.Samples -= all; all == 0 {
		return nil
	}
	if x.After.Samples == 0 {
		return x.annotate(shardify.Unsupported("all %s of the set would be removed: delete its folder instead", printable.Of(all, "sample")))
	}
	root := bare(x.base.Manifest)
	var made []*index.Manifest
	for i, name := range names {
		old := x.base.of(name)
		left, err := x.rewrite(ctx, old, name, gone[i], nil)
		if err != nil {
			return err
		}
		m := bare(old.Manifest)
		for k, s := range old.Manifest.Shards {
			if now, changed := left[k]; changed {
				s = now
			}
			if s.Samples > 0 || old.Manifest.Shards[k].Samples == 0 {
				m.Shards = append(m.Shards, s)
				m.Samples += s.Samples
			}
		}
		samples, shards := share(m.Parts, old.Manifest.Shards, left)
		for k := range m.Parts {
			m.Parts[k].Samples -= samples[k]
			m.Parts[k].Shards -= shards[k]
			if name != "" && k < len(root.Parts) {
				root.Parts[k].Samples -= samples[k]
				root.Parts[k].Shards -= shards[k]
			}
		}
		m.Windows = viewsWithout(old.Manifest.Windows, gone[i])
		x.count(old.Manifest.Windows, m.Windows)
		made = append(made, m)
	}
	if x.Dry {
		return nil
	}
	return x.publish(ctx, x.base, root, made)
}

// chooser says which samples of a batch are meant.
type chooser struct {
	where string
	keys  map[string]*atomic.Bool // found or not; nil with where
	from  string                  // the file of keys
	by    string                  // the field that they are values of; "" names
}

func (x *editor) chooser() (*chooser, error) {
	c := &chooser{where: x.Where, from: x.Keys, by: x.By}
	if x.Keys == "" {
		return c, nil
	}
	b, err := readGiven(x.Keys)
	if err != nil {
		return nil, err
	}
	c.keys = map[string]*atomic.Bool{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := bytes.TrimSuffix(lines.Bytes(), []byte("\r")); len(line) > 0 {
			c.keys[string(line)] = &atomic.Bool{}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "%v", err), "read", x.Keys, "")
	}
	return c, nil
}

// missed is the error about keys that no sample has.
func (c *chooser) missed() error {
	var missing []string
	for k, found := range c.keys {
		if !found.Load() {
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	what := "name"
	if c.by != "" {
		what = "value"
	}
	return shardify.Mismatch("%s of %s in %s not in the set, the first is %q: nothing was removed", printable.Count(int64(len(missing))), printable.Of(int64(len(c.keys)), what), c.from, missing[0])
}

// bind prepares the choice among the samples of a set: the fields that it reads, and what marks them.
func (c *chooser) bind(m *index.Manifest) (columns []string, mark func(schema []shardify.Field) (func(b *shardify.Batch, marks []byte) error, error), err error) {
	if c.keys != nil && c.by != "" {
		if err := namesSamples(m.Schema, c.by); err != nil {
			return nil, nil, err
		}
		columns = []string{c.by}
	}
	if c.keys != nil {
		return columns, func([]shardify.Field) (func(b *shardify.Batch, marks []byte) error, error) { return c.byName, nil }, nil
	}
	cond, err := condition.New(&op.Env{Keyed: m.Keyed}, "where", c.where)
	if err != nil {
		return nil, nil, err
	}
	return cond.Fields().Named, func(schema []shardify.Field) (func(b *shardify.Batch, marks []byte) error, error) {
		return cond.Keep, cond.Bind(schema)
	}, nil
}

// byName is called for several batches at once.
func (c *chooser) byName(b *shardify.Batch, marks []byte) error {
	if c.by == "" && b.Keys == nil {
		return shardify.Unsupported("the samples have no names: choose them by the values of a field (--by) or a condition (--where)")
	}
	key := keyOf(b, c.by)
	for i := range b.Samples {
		marks[i] = 0
		if found := c.keys[string(key(i))]; found != nil {
			marks[i] = 1
			found.Store(true)
		}
	}
	return nil
}

// open opens the samples of a set as an input.
func (x *editor) open(ctx context.Context, s *Set, columns []string) (*readers.Opened, error) {
	f, ok := readers.Lookup(s.Manifest.Format)
	if !ok || !f.Sets {
		err := shardify.Unsupported("samples of sets of %s shards are neither removed nor changed", s.Manifest.Format)
		return nil, shardify.Hint(x.annotate(err), "make a new set from the inputs: shardify convert INPUT -o FOLDER, with --where 'not (CONDITION)' or --labels FILE")
	}
	options, err := format.CheckOptions(f.Options, nil)
	if err != nil {
		return nil, err
	}
	o, err := readers.Open(ctx, f, readers.Request{FS: storages.Files, Inputs: []string{s.Dir}, Columns: columns, Options: options, Jobs: x.Jobs})
	if err != nil {
		return nil, x.annotate(err)
	}
	if have, want := textOf(o.Source.Schema()), textOf(s.Manifest.Schema); columns == nil && have != want {
		o.Source.Close()
		return nil, x.annotate(fmt.Errorf("the shards of %s are read with other fields than it has: %s", s.Dir, have))
	}
	return o, nil
}

// look reads fields of all samples of a set, in parts side by side. first is the number of the first sample of a batch.
func (x *editor) look(ctx context.Context, s *Set, columns []string, bind func(schema []shardify.Field) (do func(first int64, b *shardify.Batch) error, err error)) error {
	if len(s.Manifest.Shards) == 0 {
		return nil
	}
	o, err := x.open(ctx, s, columns)
	if err != nil {
		return err
	}
	defer o.Source.Close()
	do, err := bind(o.Source.Schema())
	if err != nil {
		return err
	}
	return x.scan(ctx, s, o, do)
}

// choose reads what decides, and returns the samples that are meant.
func (x *editor) choose(ctx context.Context, s *Set, c *chooser) (all []stretch, err error) {
	columns, bind, err := c.bind(s.Manifest)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := map[int64][]stretch{}
	err = x.look(ctx, s, columns, func(schema []shardify.Field) (func(int64, *shardify.Batch) error, error) {
		mark, err := bind(schema)
		return func(first int64, b *shardify.Batch) error {
			marks := make([]byte, b.Samples)
			if err := mark(b, marks); err != nil {
				return err
			}
			var list []stretch
			for k, m := range marks {
				list = addTo(list, first+int64(k), m != 0)
			}
			mu.Lock()
			defer mu.Unlock()
			if list != nil {
				found[first] = list
			}
			return nil
		}, err
	})
	for _, first := range slices.Sorted(maps.Keys(found)) {
		for _, s := range found[first] {
			if n := len(all); n > 0 && all[n-1].hi == s.lo {
				all[n-1].hi = s.hi
				continue
			}
			all = append(all, s)
		}
	}
	return all, err
}

// scan is look for a set that is open.
func (x *editor) scan(ctx context.Context, s *Set, o *readers.Opened, do func(first int64, b *shardify.Batch) error) error {
	parts, total, err := pass.Split(ctx, o.Source)
	if err == nil && total != s.Manifest.Samples {
		err = x.annotate(shardify.Corrupt(-1, "%d samples in the shards of %s, the manifest says %d", total, s.Dir, s.Manifest.Samples))
	}
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var sums proof.Sums
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(max(x.Jobs, 1))
	for i := range parts {
		g.Go(func() error {
			at := parts[i].First
			return pass.Read(each, o.Source, x.pool, parts[i].Spans, func(_ shardify.Span, b *shardify.Batch) error {
				err := do(at, b)
				at += int64(b.Samples)
				mu.Lock()
				defer mu.Unlock()
				sums.Add(b.Proofs...)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return sums.Check(o.Source, o.Args.Table)
}

// addTo appends a sample to stretches, if it is meant.
func addTo(list []stretch, sample int64, meant bool) []stretch {
	if !meant {
		return list
	}
	if n := len(list); n > 0 && list[n-1].hi == sample {
		list[n-1].hi++
		return list
	}
	return append(list, stretch{sample, sample + 1})
}

// changed are the samples that are gone, by shard and as numbers within it.
func changed(shards []shardify.Shard, gone []stretch) map[int][]stretch {
	first, out, k := numbered(shards), map[int][]stretch{}, 0
	for _, s := range gone {
		for s.lo < s.hi {
			for first[k+1] <= s.lo {
				k++
			}
			end := min(s.hi, first[k+1])
			out[k] = append(out[k], stretch{s.lo - first[k], end - first[k]})
			s.lo = end
		}
	}
	return out
}

// rewrite writes each shard of a set, or of a split, in which samples change under another name: they are gone,
// or get values. It returns what became of these, by their place; without a sample there is no shard.
func (x *editor) rewrite(ctx context.Context, s *Set, split string, touched []stretch, values *relabelling) (map[int]shardify.Shard, error) {
	shards := s.Manifest.Shards
	by := changed(shards, touched)
	left := map[int]shardify.Shard{}
	for k, list := range by {
		left[k] = shardify.Shard{Samples: shards[k].Samples}
		if values == nil {
			left[k] = shardify.Shard{Samples: shards[k].Samples - length(list)}
		}
		if left[k].Samples > 0 {
			x.Written++
			if x.Dry {
				x.Bytes += shards[k].Bytes / shards[k].Samples * left[k].Samples
			}
		}
	}
	if x.Dry || len(by) == 0 {
		return left, nil
	}
	o, err := x.open(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	w := &rewriting{editor: x, of: s, from: o, split: split, values: values, first: numbered(shards)}
	if w.sink, w.options, err = sink(s.Manifest); err != nil {
		return nil, err
	}
	spans, err := w.spans(ctx, by)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(max(x.Jobs, 1))
	for _, k := range slices.DeleteFunc(sorted(by), func(k int) bool { return left[k].Samples == 0 }) {
		g.Go(func() error {
			now, err := w.shard(each, k, spans[k], by[k])
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			left[k] = now
			x.Bytes += now.Bytes
			(&Set{Manifest: &index.Manifest{Shards: []shardify.Shard{now}}}).files(split, func(name string) { x.wrote = append(x.wrote, name) })
			return nil
		})
	}
	return left, g.Wait()
}

// rewriting is the work on the shards of a set.
type rewriting struct {
	*editor
	of      *Set
	from    *readers.Opened
	split   string
	values  *relabelling // nil: samples are gone
	first   []int64      // samples of the shards
	sink    format.Output
	options format.Options
}

// spans are those of the shards that are written again.
func (w *rewriting) spans(ctx context.Context, by map[int][]stretch) (map[int][]shardify.Span, error) {
	parts, _, err := pass.Split(ctx, w.from.Source)
	if err != nil {
		return nil, err
	}
	first, out := w.first, map[int][]shardify.Span{}
	k, at := 0, int64(0)
	for i := range parts {
		for _, s := range parts[i].Spans {
			for first[k+1] <= at {
				k++
			}
			if at += s.Samples(); at > first[k+1] {
				return nil, fmt.Errorf("samples [%d, %d) are in two shards of %s", at-s.Samples(), at, w.of.Dir)
			}
			if by[k] != nil {
				out[k] = append(out[k], s)
			}
		}
	}
	return out, nil
}

// shard writes one again.
func (w *rewriting) shard(ctx context.Context, k int, spans []shardify.Span, gone []stretch) (now shardify.Shard, err error) {
	old := &w.of.Manifest.Shards[k]
	defer w.Steps.Begin("writing " + storage.Join(w.of.Dir, old.Name) + " again").End()
	first := w.first[k]
	var values []byte
	if w.values != nil {
		values = w.values.digest(first, first+old.Samples)
	}
	name, err := renamedBy(old, gone, values)
	if err != nil {
		return now, err
	}
	var out shardify.Sink
	defer func() {
		if out != nil {
			_ = out.Abort()
		}
	}()
	var sums proof.Sums
	var keep []byte
	at, samples := int64(0), old.Samples
	if w.values == nil {
		samples -= length(gone)
	}
	write := func(b *shardify.Batch) (err error) {
		if out == nil {
			// Rows in tars have names, which stay as they are.
			out, err = w.sink.New(storage.Below(w.store, w.split), format.ShardSpec{
				Name: name, Schema: w.of.Manifest.Schema, Samples: samples, Exact: true, Keyed: b.Keys != nil, Options: w.options,
			})
		}
		if err != nil {
			return err
		}
		return out.Write(b)
	}
	err = pass.Read(ctx, w.from.Source, w.pool, spans, func(_ shardify.Span, b *shardify.Batch) error {
		sums.Add(b.Proofs...)
		mem := w.pool.Overdraft()
		defer mem.Release()
		if w.values != nil {
			now, err := w.values.apply(b, first+at, mem)
			if at += int64(b.Samples); err != nil {
				return err
			}
			return write(now)
		}
		keep = slices.Grow(keep[:0], b.Samples)[:b.Samples]
		for i := range keep {
			for len(gone) > 0 && gone[0].hi <= at {
				gone = gone[1:]
			}
			keep[i] = 1
			if len(gone) > 0 && gone[0].lo <= at {
				keep[i] = 0
			}
			at++
		}
		left, err := op.Select(b, keep, mem)
		if err != nil || left.Samples == 0 {
			return err
		}
		return write(left)
	})
	if err == nil {
		err = sums.Check(w.from.Source, w.from.Args.Table)
	}
	if err != nil {
		return now, err
	}
	return out.Commit(ctx)
}

// editStem ends the names of shards that were written again.
var editStem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9a-f]{16}$`) })

// renamedBy names a shard in which samples change: by what it was, so that a second try makes the same
// file.
func renamedBy(s *shardify.Shard, gone []stretch, values []byte) (string, error) {
	stem, ext, ok := cutStem(s.Name)
	if !ok {
		return "", shardify.Corrupt(-1, "shard %q has no extension", s.Name)
	}
	var d index.Digest
	_, _ = d.Write([]byte(s.Digest))
	for _, g := range gone {
		_, _ = d.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(g.lo)), uint64(g.hi)))
	}
	_, _ = d.Write(values)
	return fmt.Sprintf("%s-%s%s", editStem().ReplaceAllString(stem, ""), d.String()[len(index.DigestPrefix):][:16], ext), nil
}

// viewsWithout is views of rows after some are gone: windows over these, too, are gone.
func viewsWithout(views map[string]index.View, gone []stretch) map[string]index.View {
	if len(gone) == 0 || views == nil {
		return views
	}
	out := map[string]index.View{}
	for name, v := range views {
		lo, hi := v.Span()
		lo, hi = min(lo, 0), max(hi, 0)
		old := v.Anchors
		v.Anchors = []index.Anchors{}
		k, before := 0, int64(0) // stretches that end before the window, and their rows
		for _, a := range old {
			for row := a.Lo; row < a.Hi; row += a.Step {
				for k < len(gone) && gone[k].hi <= row+lo {
					before += gone[k].hi - gone[k].lo
					k++
				}
				if k < len(gone) && gone[k].lo <= row+hi {
					continue
				}
				v.Anchors = anchor(v.Anchors, row-before, a.Step)
			}
		}
		out[name] = v
	}
	return out
}

// count adds up the windows before and after an edit, by their names.
func (e *Edit) count(before, after map[string]index.View) {
	for name, v := range before {
		if e.Windows == nil {
			e.Windows = map[string][2]int64{}
		}
		n, now := e.Windows[name], after[name]
		e.Windows[name] = [2]int64{n[0] + v.Len(), n[1] + now.Len()}
	}
}

// WindowsText says how many windows of rows are left; "" where there were none.
func (e *Edit) WindowsText() (text string) {
	for _, name := range slices.Sorted(maps.Keys(e.Windows)) {
		n := e.Windows[name]
		text += fmt.Sprintf("; view %s: %s, before %s", name, printable.Of(n[1], "window"), printable.Count(n[0]))
	}
	return text
}

// anchor appends a row to runs of anchors.
func anchor(list []index.Anchors, row, step int64) []index.Anchors {
	if n := len(list); n > 0 {
		last := &list[n-1]
		end := last.Lo + last.Len()*last.Step // where the next one would be
		switch {
		case last.Len() == 1 && last.Hi == last.Lo+1 && row-last.Lo == step:
			last.Step, last.Hi = step, row+1
			return list
		case last.Step == step && row == end:
			last.Hi = row + 1
			return list
		}
	}
	return append(list, index.Anchors{Lo: row, Hi: row + 1, Step: step})
}
