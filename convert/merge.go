package convert

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

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
	if err := j.flush(ctx); err != nil {
		return err
	}
	if err := publishManifest(ctx, j.Store, index.ManifestName, m); err != nil {
		return err
	}
	return j.flush(ctx)
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

func (j *Job) flush(ctx context.Context) error {
	return storage.Flush(ctx, j.Store)
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
	in := *p.Listed
	if in.Count <= index.MaxInputNames {
		for i := range p.Table.Len() {
			in.Names = append(in.Names, strings.ToValidUTF8(p.Table.Name(i), "\uFFFD"))
		}
	}
	return in
}

// lister adds up tables to what a manifest says about them.
type lister struct {
	count, bytes int64
	digest       index.Digest
	lines        []byte
}

func (l *lister) add(t *shardify.Table) {
	l.count, l.bytes = l.count+int64(t.Len()), l.bytes+t.Bytes()
	for i := range t.Len() {
		if name := t.NameBytes(i); len(name) > 0 {
			l.lines = append(l.lines, name...)
		} else {
			l.lines = append(l.lines, t.Name(i)...)
		}
		l.lines = binary.LittleEndian.AppendUint64(append(l.lines, 0), uint64(t.Size(i)))
		if len(l.lines) > 64<<10 || i == t.Len()-1 {
			l.digest.Write(l.lines)
			l.lines = l.lines[:0]
		}
	}
}

func (l *lister) inputs(format string) index.Inputs {
	return index.Inputs{Format: format, Count: l.count, Bytes: l.bytes, Digest: l.digest.String()}
}

// Ranges writes numbers as an --array list: "3,17-19".
func Ranges(n []int) string {
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
