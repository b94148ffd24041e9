package convert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/dataset/proof"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Merge checks every receipt, writes what foreign loaders want, and publishes
// the manifest. It alone may say that a data set is complete. Missing shards are
// ErrIncomplete.
func (j *Job) Merge(ctx context.Context) (*index.Manifest, error) {
	m, err := j.collect(ctx)
	if err != nil {
		return nil, err
	}
	if j.Plan.Splits.Rule != nil {
		err = j.finishSplits(ctx, m)
	} else if err = j.complete(ctx, j.Store, &m.Manifest); err == nil {
		err = j.finish(ctx, &m.Manifest)
	}
	if err != nil {
		return nil, err
	}
	return &m.Manifest, j.Tidy()
}

// Missing is the error of a merge that lacks shards. It is an ErrIncomplete.
type Missing struct {
	Shards []int
	Of     int
}

// collected is the manifest that receipts describe. With splits, the manifests of the splits list
// the shards, with names below their own folders.
type collected struct {
	index.Manifest
	splits    []*index.Manifest
	documents []int64 // by split, that sequences were made of; nil without
}

func (m *Missing) Error() string {
	what := "shards are"
	if m.Of == 1 {
		what = "shard is"
	}
	const most = 400 // characters; m.Shards has them all
	list := plan.Ranges(m.Shards)
	if len(list) > most {
		list = list[:strings.LastIndexByte(list[:most], ',')] + ", ..."
	}
	return fmt.Sprintf("%d of %d %s missing: %s: %s", len(m.Shards), m.Of, what, list, ErrIncomplete.Error())
}

// Unwrap is ErrIncomplete.
func (m *Missing) Unwrap() error { return ErrIncomplete }

// collect reads all receipts.
func (j *Job) collect(ctx context.Context) (*collected, error) {
	p := j.Plan
	m := &collected{Manifest: p.Manifest()}
	m.Skipped = slices.Clone(p.In.Skipped)
	for range p.Splits.Names() {
		one := p.Manifest()
		one.Dropped, one.Counts = 0, nil // of all splits together
		m.splits = append(m.splits, &one)
	}
	var all proof.Sums
	var missing []int
	if p.Splits.Rule == nil {
		m.Shards = make([]shardify.Shard, 0, p.Outputs())
	}
	done, err := j.receipts(), error(nil)
	if done.store, err = sizes(ctx, j.Store, p.Outputs()); err != nil {
		return nil, err
	}
	err = plan.EachReceipt(ctx, p.Outputs(), done.receipt, func(i int, r *plan.Receipt) error {
		if r == nil {
			missing = append(missing, i)
			return nil
		}
		if len(missing) == 0 {
			all.Add(r.Proofs...)
			m.receipt(p, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, &Missing{Shards: missing, Of: p.Outputs()}
	}
	if p.Order.Shuffle == plan.ShuffleGlobal {
		if err := j.collectScatter(ctx, m, &all); err != nil {
			return nil, err
		}
	}
	m.Counts = flow.Sums(m.Counts)
	if err = all.Check(j.Source, p.In.Table); err != nil {
		err = &unproven{err}
	}
	if e, ok := errors.AsType[*shardify.Error](err); ok && !storages.Local(e.File) {
		err = shardify.Hint(err, "it may have been damaged on its way: stage the data set and convert that, or convert again with --fresh")
	}
	return m, err
}

// receipt adds what a receipt says.
func (m *collected) receipt(p *plan.Plan, r *plan.Receipt) {
	m.Skipped = append(m.Skipped, r.Skipped...)
	m.Dropped += r.Dropped
	m.Copied += r.Copied
	for i, n := range r.Documents {
		m.Documents += n
		if m.documents == nil {
			m.documents = make([]int64, len(r.Documents))
		}
		m.documents[i] += n
	}
	m.Counts = flow.AddCounts(m.Counts, r.Counts...)
	if r.Splits == nil {
		m.shard(r.Shard)
		return
	}
	for i, s := range r.Splits {
		if s.Samples == 0 {
			continue
		}
		one := collected{Manifest: *m.splits[i]}
		cut := len(p.Splits.Rule.Parts[i].Name) + 1
		s.Name = s.Name[cut:]
		files := s.Files
		s.Files = nil
		for _, f := range files {
			f.Name = f.Name[cut:]
			s.Files = append(s.Files, f)
		}
		one.shard(s)
		*m.splits[i] = one.Manifest
	}
}

func (m *collected) shard(s shardify.Shard) {
	if s.Samples == 0 {
		return
	}
	m.Shards = append(m.Shards, s)
	m.Samples += s.Samples
	m.Bytes += s.Bytes
}

// complete adds the files beside the shards to a manifest, and publishes it.
func (j *Job) complete(ctx context.Context, store storage.Store, m *index.Manifest) (err error) {
	p := j.Plan
	if j.Sink.Members != nil {
		if m.Members, err = j.Sink.Members(p.Sample.Schema, p.Out.Options); err != nil {
			return err
		}
	}
	if j.Sink.Finish != nil {
		set := format.FinishedSet{Schema: p.Sample.Schema, Keyed: p.Sample.Keyed, Shards: m.Shards, Options: p.Out.Options}
		if m.Files, err = j.Sink.Finish(ctx, store, set); err != nil {
			return err
		}
	}
	if j.Record != nil {
		if err := j.Record(ctx, p, j.Store, store, m); err != nil {
			return err
		}
	}
	if !p.Asked.Provenance {
		return nil
	}
	f, err := listInputs(p, ctx, store)
	m.Files = append(m.Files, f)
	return err
}

// finishSplits publishes the manifest of each split, then the one that names them.
func (j *Job) finishSplits(ctx context.Context, m *collected) (err error) {
	if r := j.Plan.Splits.Rule; r.Conditions() != nil && m.Dropped > 0 && !slices.ContainsFunc(m.splits, func(s *index.Manifest) bool { return s.Samples > 0 }) {
		return shardify.Hint(shardify.Misuse("--split: no sample is in any split: %s", r), "name=rest takes all samples for which no condition holds")
	}
	for i, s := range m.splits {
		if err := j.complete(ctx, storage.Below(j.Store, j.Plan.Splits.Rule.Parts[i].Name), s); err != nil {
			return err
		}
		m.Samples += s.Samples
		m.Bytes += s.Bytes
		m.Members = s.Members
	}
	if j.Sink.FinishSplits != nil {
		if m.Files, err = j.Sink.FinishSplits(ctx, j.Store, m.finished(j.Plan)); err != nil {
			return err
		}
	}
	if p := j.Plan.Asked.Static; p != nil {
		m.Files = append(m.Files, p.File)
	}
	if err := storage.Flush(ctx, j.Store); err != nil {
		return err
	}
	m.Splits = map[string]index.Split{}
	for i, s := range m.splits {
		name := j.Plan.Splits.Rule.Parts[i].Name
		if err := publishManifest(ctx, j.Store, name+"/"+index.ManifestName, s); err != nil {
			return err
		}
		m.Splits[name] = index.Split{Samples: s.Samples, Shards: int64(len(s.Shards)), Digest: s.Digest}
	}
	return j.finish(ctx, &m.Manifest)
}

// finished is the splits with names of shards from the root.
func (m *collected) finished(p *plan.Plan) (out []format.FinishedSplit) {
	for i, s := range m.splits {
		f := format.FinishedSplit{Name: p.Splits.Rule.Parts[i].Name}
		for _, x := range s.Shards {
			x.Name = f.Name + "/" + x.Name
			f.Shards = append(f.Shards, x)
		}
		out = append(out, f)
	}
	return out
}

// collectScatter adds the results of the first stage, and compares the samples that went in with
// those that came out.
func (j *Job) collectScatter(ctx context.Context, m *collected, all *proof.Sums) error {
	p := j.Plan
	want := make([]int64, max(len(p.Splits.Names()), 1))
	gathered := make([]int64, len(want))
	copy(gathered, m.documents)
	err := plan.EachReceipt(ctx, len(p.Pack.Shards), j.receipts().scatterOrWaiting, func(_ int, r *plan.Receipt) error {
		all.Add(r.Proofs...)
		r.Splits, r.Shard = nil, shardify.Shard{}
		m.receipt(p, r)
		for k := range want {
			want[k] += r.Written[k]
		}
		return nil
	})
	if err != nil {
		return err
	}
	have := []int64{m.Samples}
	if p.Sample.Documents != nil {
		have = gathered
	} else if p.Splits.Rule != nil {
		have = nil
		for _, s := range m.splits {
			have = append(have, s.Samples)
		}
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("%v samples were scattered, %v gathered", want, have)
	}
	return nil
}

func (j *Job) finish(ctx context.Context, m *index.Manifest) error {
	if err := storage.Flush(ctx, j.Store); err != nil {
		return err
	}
	if err := publishManifest(ctx, j.Store, index.ManifestName, m); err != nil {
		return err
	}
	return storage.Flush(ctx, j.Store)
}

// publishManifest completes a manifest with its digest and publishes it.
func publishManifest(ctx context.Context, s storage.Store, name string, m *index.Manifest) error {
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	err = m.EncodeTo(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Commit(ctx)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}
