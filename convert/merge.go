package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// flusher is a store that makes files durable at the end rather than one by one.
type flusher interface{ Flush(context.Context) error }

// Merge checks every receipt, writes what foreign loaders want, and publishes
// the manifest. It alone may say that a data set is complete. Missing shards are
// ErrIncomplete.
func (j *Job) Merge(ctx context.Context) (*index.Manifest, error) {
	p := j.Plan
	m := &index.Manifest{
		Format: p.Output, Keyed: p.Keyed, Schema: p.Schema, Recipe: p.recipe(), LeftOut: p.LeftOut,
		Shards: make([]shardify.Shard, 0, len(p.Shards)), Inputs: p.inputs(),
	}
	var all proofs
	var missing []int
	for i := range p.Shards {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := j.receipt(i)
		switch {
		case err != nil:
			return nil, err
		case r == nil:
			missing = append(missing, i)
			continue
		}
		all.add(r.Proofs...)
		m.Skipped = append(m.Skipped, r.Skipped...)
		if r.Shard.Samples > 0 {
			m.Shards = append(m.Shards, r.Shard)
			m.Samples += r.Shard.Samples
			m.Bytes += r.Shard.Bytes
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%d of %d shards are missing: %s: %w", len(missing), len(p.Shards), ranges(missing), ErrIncomplete)
	}
	if err := all.check(j.Source, p.Table); err != nil {
		return nil, err
	}
	if j.Sink.Members != nil {
		var err error
		if m.Members, err = j.Sink.Members(p.Schema, p.OutputOptions); err != nil {
			return nil, err
		}
	}
	if j.Sink.Finish != nil {
		files, err := j.Sink.Finish(ctx, j.Store, shardify.FinishedSet{Schema: p.Schema, Keyed: p.Keyed, Shards: m.Shards, Options: p.OutputOptions})
		if err != nil {
			return nil, err
		}
		m.Files = files
	}
	return m, j.finish(ctx, m)
}

func (j *Job) finish(ctx context.Context, m *index.Manifest) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	if f, ok := j.Store.(flusher); ok {
		if err := f.Flush(ctx); err != nil {
			return err
		}
	}
	if err := publish(ctx, j.Store, index.ManifestName, b); err != nil {
		return err
	}
	if f, ok := j.Store.(flusher); ok {
		return f.Flush(ctx)
	}
	return nil
}

// recipe is every option that decides bytes, as text.
func (p *Plan) recipe() map[string]string {
	r := maps.Clone(p.Recipe)
	maps.Copy(r, p.InputOptions)
	maps.Copy(r, p.OutputOptions)
	if len(p.Columns) > 0 {
		r["columns"] = strings.Join(p.Columns, ",")
	}
	r["on-error"] = p.OnError
	return r
}

// inputs describes the input table without saying where it lies.
func (p *Plan) inputs() index.Inputs {
	t := p.Table
	in := index.Inputs{Format: p.Input, Count: int64(t.Len()), Bytes: t.Bytes()}
	var d index.Digest
	var lines []byte
	for i := range t.Len() {
		if name := t.NameBytes(i); len(name) > 0 {
			lines = append(lines, name...)
		} else {
			lines = append(lines, t.Name(i)...)
		}
		lines = binary.LittleEndian.AppendUint64(append(lines, 0), uint64(t.Size(i)))
		if len(lines) > 64<<10 || i == t.Len()-1 {
			d.Write(lines)
			lines = lines[:0]
		}
		if t.Len() <= index.MaxInputNames {
			in.Names = append(in.Names, strings.ToValidUTF8(t.Name(i), "\uFFFD"))
		}
	}
	in.Digest = d.String()
	return in
}

// ranges writes numbers as an --array list: "3,17-19".
func ranges(n []int) string {
	var b strings.Builder
	for i := 0; i < len(n); {
		k := i
		for k+1 < len(n) && n[k+1] == n[k]+1 {
			k++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if k > i {
			fmt.Fprintf(&b, "%d-%d", n[i], n[k])
		} else {
			fmt.Fprintf(&b, "%d", n[i])
		}
		i = k + 1
	}
	return b.String()
}

// Publish puts the plan into the data set's folder. If one is there already it
// must be the same plan; otherwise the error is ErrExists with the differences.
func (p *Plan) Publish(ctx context.Context, s shardify.Store) error {
	old, err := LoadPlan(s)
	switch {
	case err == nil && old.Digest() == p.Digest():
		return nil
	case err == nil:
		return &Conflict{Diff: old.Diff(p)}
	case !errors.Is(err, errNotExist):
		return err
	}
	b, err := p.Encode()
	if err != nil {
		return err
	}
	return publish(ctx, s, PlanName, b)
}

// Conflict is another plan in the output folder.
type Conflict struct{ Diff []string }

func (c *Conflict) Error() string {
	return "the folder holds another conversion (there / now): " + strings.Join(c.Diff, "; ") + ": " + shardify.ErrExists.Error()
}

// Unwrap is ErrExists.
func (c *Conflict) Unwrap() error { return shardify.ErrExists }
