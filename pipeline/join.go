package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/group"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/transform/tables"
)

// sideTable is where a table is read, and with how much memory.
type sideTable struct {
	op      string
	path    string
	memory  int64
	jobs    int
	scratch string // folder for scratch files; "" is that of the system
}

// tableShare is the part of the memory for samples that a table may take; tests give it less.
var tableShare int64 = 4

func (t *sideTable) most() int64 { return poolLimit(t.memory) / tableShare }

// open opens the table with its keys, and the columns to take; nil is all.
func (t *sideTable) open(ctx context.Context, keys, take []string) (*readers.Opened, format.Input, error) {
	name, own := readers.CutTable(t.path)
	in, _, err := ChooseInput(ctx, nil, "", []string{name})
	if err != nil {
		return nil, in, err
	}
	given, err := in.TableOptions(own)
	if err != nil {
		return nil, in, err
	}
	o, err := t.openAs(ctx, in, name, given, keys, take)
	return o, in, in.TableError(err, t.op, t.path)
}

func (t *sideTable) openAs(ctx context.Context, in format.Input, name string, given format.Options, keys, take []string) (*readers.Opened, error) {
	options, err := Pick(given, in.Options)
	if err != nil {
		return nil, err
	}
	r := readers.Request{Inputs: []string{name}, Options: options, Jobs: t.jobs, Asked: true}
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
			return nil, shardify.Misuse("--%s: there is no field %s in %s", t.op, key, t.path)
		}
	}
	return o, nil
}

// others are the fields of a table that are not keys.
func others(o *readers.Opened, keys []string) []string {
	take := []string{}
	for _, f := range o.Source.Schema() {
		if !slices.Contains(keys, f.Name) {
			take = append(take, f.Name)
		}
	}
	return take
}

// readJoin reads a table to join: into memory, or into a scratch file if it is too large.
// Columns that are not named are all of them.
func readJoin(ctx context.Context, from sideTable, j *tables.Spec) (*key.Table, error) {
	from.op = transform.Join
	names := j.Keys
	o, in, err := from.open(ctx, names, j.Take)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	if j.Take == nil {
		j.Take = others(o, names)
	}
	if len(j.Take) == 0 {
		return nil, shardify.Misuse("--join: %s has no column beside %s", from.path, strings.Join(names, ","))
	}
	size, err := decoded(ctx, o.Source)
	if err != nil {
		return nil, err
	}
	var t *key.Table
	if size > from.most() {
		t, err = from.sorted(ctx, o, in, names)
	} else {
		var cols []shardify.Column
		var rows int
		if cols, rows, err = from.whole(ctx, o.Source); err == nil {
			keys := cut(&cols, names)
			t, err = key.NewTable(keys, cols, rows)
		}
	}
	return t, shardify.Annotate(o.Args.Table.Locate(err), "join", from.path, "")
}

// spill is a scratch file without a name, made of a table by fill, and what finds rows in it.
func (t *sideTable) spill(by []string, fill func(w *key.Writer, store storage.Store) error) (*key.Table, error) {
	dir, err := os.MkdirTemp(t.scratch, "shardify-join-")
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

// sorted brings a table into a scratch file by rising key.
func (t *sideTable) sorted(ctx context.Context, o *readers.Opened, in format.Input, by []string) (*key.Table, error) {
	return t.spill(by, func(w *key.Writer, store storage.Store) error {
		number, err := group.Numbers(ctx, o.Source)
		if err != nil {
			return err
		}
		env := group.Env{Pool: shardify.NewPool(poolLimit(t.memory) / 2), Jobs: t.jobs}
		if _, ok := o.Source.(format.Ranger); ok {
			a := o.Args
			a.Columns = by
			if env.Keys, err = in.Open(ctx, a); err != nil {
				return err
			}
			defer env.Keys.Close()
		}
		return group.Sorted(ctx, o.Source, o.Args.Table, by, env, store, func(b *shardify.Batch) error {
			return w.Add(b, func(i int) int64 { return number(b.ID(i)) })
		})
	})
}

// cut takes columns out of a list.
func cut(cols *[]shardify.Column, names []string) (out []shardify.Column) {
	for _, name := range names {
		k := slices.IndexFunc(*cols, func(c shardify.Column) bool { return c.Name == name })
		out = append(out, (*cols)[k])
		*cols = slices.Delete(*cols, k, k+1)
	}
	return out
}

// decoded is the size of all samples of a source, about.
func decoded(ctx context.Context, src shardify.Source) (n int64, err error) {
	for sp, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return 0, err
		}
		n += sp.Bytes
	}
	return n, nil
}

// whole reads a table into memory.
func (t *sideTable) whole(ctx context.Context, src shardify.Source) ([]shardify.Column, int, error) {
	cols, rows, err := key.ReadAll(ctx, src, plan.SpanBytes, t.most())
	if errors.Is(err, key.ErrTooLarge) {
		err = shardify.Hint(fmt.Errorf("a table of more than %s; a sixth of --memory is for tables: %w", shardify.FormatSize(t.most()), shardify.ErrUnsupported), "give it more: --memory, or take fewer columns: take=COLUMN,...")
	}
	return cols, rows, err
}
