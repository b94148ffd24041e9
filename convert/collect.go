package convert

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// Missing is the error of a merge that lacks shards. It is an ErrIncomplete.
type Missing struct {
	Shards []int
	Of     int
}

func (m *Missing) Error() string {
	what := "shards are"
	if m.Of == 1 {
		what = "shard is"
	}
	const most = 400 // characters; who needs them all has m.Shards
	list := Ranges(m.Shards)
	if len(list) > most {
		list = list[:strings.LastIndexByte(list[:most], ',')] + ", ..."
	}
	return fmt.Sprintf("%d of %d %s missing: %s: %s", len(m.Shards), m.Of, what, list, ErrIncomplete.Error())
}

// Unwrap is ErrIncomplete.
func (m *Missing) Unwrap() error { return ErrIncomplete }

const (
	// Receipts are read many at once, since a parallel file system answers many
	// requests in the time of one, and kept for as long as an earlier one is awaited.
	receiptReaders = 32
	receiptWindow  = 2048
)

// inOrder reads n receipts and hands them on in order.
func inOrder(ctx context.Context, n int, read func(i int) (*Receipt, error), each func(i int, r *Receipt) error) error {
	var got [receiptWindow]*Receipt
	for lo := 0; lo < n; lo += receiptWindow {
		hi := min(lo+receiptWindow, n)
		var next atomic.Int64
		next.Store(int64(lo))
		g, in := errgroup.WithContext(ctx)
		for range min(receiptReaders, hi-lo) {
			g.Go(func() (err error) {
				for i := int(next.Add(1)) - 1; i < hi && err == nil; i = int(next.Add(1)) - 1 {
					if in.Err() != nil {
						return context.Cause(in)
					}
					got[i-lo], err = read(i)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for i := lo; i < hi; i++ {
			if err := each(i, got[i-lo]); err != nil {
				return err
			}
		}
	}
	return nil
}

// collected is the manifest of what receipts say. With splits its shards stand in
// those of the splits, with names below their own folders.
type collected struct {
	index.Manifest
	splits []*index.Manifest
}

// manifest is what the plan alone says about the set.
func (p *Plan) manifest() index.Manifest {
	m := index.Manifest{
		Format: p.Output, Keyed: p.Keyed, Schema: p.Schema, Recipe: p.recipe(), LeftOut: slices.Concat(p.LeftOut, p.Outside),
		Shards: []shardify.Shard{}, Inputs: p.inputs(),
	}
	for _, o := range p.Ops {
		m.Operations = append(m.Operations, index.Operation{Op: o.Name, Text: o.Text})
	}
	for _, f := range p.Findings {
		m.Surveys = append(m.Surveys, index.Survey{What: f.What, Result: f.Result})
	}
	return m
}

// collect reads all receipts.
func (j *Job) collect(ctx context.Context) (*collected, error) {
	p := j.Plan
	m := &collected{Manifest: p.manifest()}
	m.Skipped = slices.Clone(p.Skipped)
	for range p.SplitNames() {
		one := p.manifest()
		m.splits = append(m.splits, &one)
	}
	var all proofs
	var missing []int
	if p.Split == nil {
		m.Shards = make([]shardify.Shard, 0, p.Outputs())
	}
	err := inOrder(ctx, p.Outputs(), j.receipt, func(i int, r *Receipt) error {
		if r == nil {
			missing = append(missing, i)
			return nil
		}
		if len(missing) == 0 {
			all.add(r.Proofs...)
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
	if p.Shuffle == ShuffleGlobal {
		if err := j.collectScatter(ctx, m, &all); err != nil {
			return nil, err
		}
	}
	return m, all.check(j.Source, p.Table)
}

// receipt adds what a receipt says.
func (m *collected) receipt(p *Plan, r *Receipt) {
	m.Skipped = append(m.Skipped, r.Skipped...)
	m.Dropped += r.Dropped
	m.Copied += r.Copied
	for _, c := range r.Counts {
		m.Counts = addCount(m.Counts, c)
	}
	if r.Splits == nil {
		m.shard(r.Shard)
		return
	}
	for i, s := range r.Splits {
		if s.Samples == 0 {
			continue
		}
		one := collected{Manifest: *m.splits[i]}
		cut := len(p.Split.Parts[i].Name) + 1
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

// complete adds to a manifest what stands beside the shards, and publishes that.
func (j *Job) complete(ctx context.Context, store storage.Store, m *index.Manifest) error {
	p := j.Plan
	if j.Sink.Members != nil {
		var err error
		if m.Members, err = j.Sink.Members(p.Schema, p.OutputOptions); err != nil {
			return err
		}
	}
	if j.Sink.Finish != nil {
		files, err := j.Sink.Finish(ctx, store, shardify.FinishedSet{Schema: p.Schema, Keyed: p.Keyed, Shards: m.Shards, Options: p.OutputOptions})
		if err != nil {
			return err
		}
		m.Files = files
	}
	if p.Provenance {
		f, err := p.listInputs(ctx, store)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	return nil
}

// finishSplits publishes the manifest of each split, then the one that names them.
func (j *Job) finishSplits(ctx context.Context, m *collected) error {
	for i, s := range m.splits {
		if err := j.complete(ctx, storage.Below(j.Store, j.Plan.Split.Parts[i].Name), s); err != nil {
			return err
		}
		m.Samples += s.Samples
		m.Bytes += s.Bytes
		m.Members = s.Members
	}
	if j.Sink.FinishSplits != nil {
		var err error
		if m.Files, err = j.Sink.FinishSplits(ctx, j.Store, j.finishedSplits(m)); err != nil {
			return err
		}
	}
	if err := j.flush(ctx); err != nil {
		return err
	}
	m.Splits = map[string]index.Split{}
	for i, s := range m.splits {
		name := j.Plan.Split.Parts[i].Name
		if err := publishManifest(ctx, j.Store, name+"/"+index.ManifestName, s); err != nil {
			return err
		}
		m.Splits[name] = index.Split{Samples: s.Samples, Shards: int64(len(s.Shards)), Digest: s.Digest}
	}
	return j.finish(ctx, &m.Manifest)
}

// finishedSplits is the splits with names of shards from the root.
func (j *Job) finishedSplits(m *collected) (out []shardify.FinishedSplit) {
	for i, s := range m.splits {
		f := shardify.FinishedSplit{Name: j.Plan.Split.Parts[i].Name}
		for _, x := range s.Shards {
			x.Name = f.Name + "/" + x.Name
			f.Shards = append(f.Shards, x)
		}
		out = append(out, f)
	}
	return out
}
