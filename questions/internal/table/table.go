// Package table reads the tables that a conversion needs in addition to its inputs: into memory, or into scratch files if they are too
// large.
package table

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/questions/group/rows"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// File is where a table is read, and with how much memory.
type File struct {
	Op      string // the setting that names it
	Path    string
	Memory  int64
	Jobs    int
	Scratch string // folder for scratch files; "" is that of the system
}

// Most is how large a table in memory may be.
func (t *File) Most() int64 { return ask.PoolLimit(t.Memory) / ask.TableShare }

// Open opens the table with its keys, and the columns to take; nil is all.
func (t *File) Open(ctx context.Context, keys, take []string) (*readers.Opened, format.Input, error) {
	name, own := readers.CutTable(t.Path)
	in, _, err := settings.ChooseInput(ctx, nil, "", []string{name}, nil, false)
	if err != nil {
		return nil, in, err
	}
	given, err := in.TableOptions(own)
	if err != nil {
		return nil, in, err
	}
	o, err := t.openAs(ctx, in, name, given, keys, take)
	return o, in, in.TableError(err, t.Op, t.Path)
}

func (t *File) openAs(ctx context.Context, in format.Input, name string, given format.Options, keys, take []string) (*readers.Opened, error) {
	options, err := settings.Pick(given, in.Options)
	if err != nil {
		return nil, err
	}
	r := readers.Request{Inputs: []string{name}, Options: options, Jobs: t.Jobs, Asked: true}
	if take != nil {
		r.Columns = append(slices.Clone(take), keys...)
	}
	o, err := readers.Open(ctx, in, r)
	if err != nil {
		return nil, err
	}
	if err := o.Idle(&in, given); err != nil && (take == nil || len(take) > 0) { // it may be for columns
		o.Source.Close()
		return nil, err
	}
	for _, key := range keys {
		if shardify.FieldIndex(o.Source.Schema(), key) < 0 {
			o.Source.Close()
			return nil, shardify.Misuse("--%s: there is no field %s in %s", t.Op, key, t.Path)
		}
	}
	return o, nil
}

// Others are the fields of a table that are not keys.
func Others(o *readers.Opened, keys []string) []string {
	take := []string{}
	for _, f := range o.Source.Schema() {
		if !slices.Contains(keys, f.Name) {
			take = append(take, f.Name)
		}
	}
	return take
}

// Spill is a scratch file without a name, made of a table by fill, and what finds rows in it.
func (t *File) Spill(by []string, fill func(w *key.Writer, store storage.Store) error) (*key.Table, error) {
	dir, err := os.MkdirTemp(t.Scratch, "shardify-join-")
	if err != nil {
		return nil, err
	}
	defer local.RemoveAll(dir)
	store := local.NewDir(dir, local.SyncNone)
	file, err := local.NewSpill(store)
	if err != nil {
		return nil, err
	}
	w := key.NewWriter(by, file, file)
	var table *key.Table
	if err = fill(w, store); err == nil {
		table, err = w.Table()
	}
	if err != nil {
		file.Close()
	}
	return table, err
}

// Sorted brings a table into a scratch file by rising key.
func (t *File) Sorted(ctx context.Context, o *readers.Opened, in format.Input, by []string) (*key.Table, error) {
	return t.Spill(by, func(w *key.Writer, store storage.Store) error {
		number, err := rows.Numbers(ctx, o.Source)
		if err != nil {
			return err
		}
		env := rows.Env{Pool: shardify.NewPool(ask.PoolLimit(t.Memory) / 2), Jobs: t.Jobs}
		if _, ok := o.Source.(format.Ranger); ok {
			a := o.Args
			a.Columns = by
			if env.Keys, err = in.Open(ctx, a); err != nil {
				return err
			}
			defer env.Keys.Close()
		}
		return rows.Sorted(ctx, o.Source, o.Args.Table, by, env, store, func(b *shardify.Batch) error {
			return w.Add(b, func(i int) int64 { return number(b.ID(i)) })
		})
	})
}

// Cut takes columns out of a list.
func Cut(cols *[]shardify.Column, names []string) (out []shardify.Column) {
	for _, name := range names {
		k := slices.IndexFunc(*cols, func(c shardify.Column) bool { return c.Name == name })
		out = append(out, (*cols)[k])
		*cols = slices.Delete(*cols, k, k+1)
	}
	return out
}

// Decoded is the size of all samples of a source, about.
func Decoded(ctx context.Context, src shardify.Source) (n int64, err error) {
	for sp, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return 0, err
		}
		n += sp.Bytes
	}
	return n, nil
}

// Whole reads a table into memory.
func (t *File) Whole(ctx context.Context, src shardify.Source) ([]shardify.Column, int, error) {
	cols, rows, err := key.ReadAll(ctx, src, plan.SpanBytes, t.Most())
	if errors.Is(err, key.ErrTooLarge) {
		err = shardify.Hint(fmt.Errorf("a table of more than %s; a sixth of --memory is for tables: %w", shardify.FormatSize(t.Most()), shardify.ErrUnsupported), "give it more: --memory, or take fewer columns: take=COLUMN,...")
	}
	return cols, rows, err
}
