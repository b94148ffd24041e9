package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strconv"
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
	m, err := j.collect(ctx)
	if err != nil {
		return nil, err
	}
	if j.Plan.Split != nil {
		err = j.finishSplits(ctx, m)
	} else if err = j.complete(ctx, j.Store, &m.Manifest); err == nil {
		err = j.finish(ctx, &m.Manifest)
	}
	if err != nil {
		return nil, err
	}
	return &m.Manifest, j.tidy()
}

func (j *Job) finish(ctx context.Context, m *index.Manifest) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	if err := j.flush(ctx); err != nil {
		return err
	}
	if err := publish(ctx, j.Store, index.ManifestName, b); err != nil {
		return err
	}
	return j.flush(ctx)
}

func (j *Job) flush(ctx context.Context) error {
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
	if p.Shuffle != "" {
		r["shuffle"] = p.Shuffle
	}
	if p.Shuffle != "" || p.Split != nil || len(p.Ops) > 0 {
		r["seed"] = strconv.FormatUint(p.Seed, 10)
	}
	if p.Split != nil {
		p.Split.recipe(r)
	}
	if p.Provenance {
		r["provenance"] = "true"
	}
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
