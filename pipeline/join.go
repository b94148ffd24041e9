package pipeline

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/convert/group"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
)

// joins are the tables that operations join.
type joins struct {
	tables map[string]*transform.JoinTable // by the texts of the operations
	paths  []string
}

// openJoins reads the tables, and completes the texts of --join: the columns that are taken
// are known by then.
func (s *Settings) openJoins(ctx context.Context, p *Prepared) error {
	texts := s.shape[transform.Join]
	if len(texts) == 0 {
		return nil
	}
	s.joins = joins{tables: map[string]*transform.JoinTable{}}
	s.shape[transform.Join] = nil
	for _, text := range texts {
		j, err := transform.ParseJoin(text)
		if err != nil {
			return shardify.Usage("%v", err)
		}
		from := j.Table
		t, err := readJoin(ctx, sideTable{path: from, memory: p.Memory, jobs: p.Jobs, scratch: s.Scratch}, &j)
		if err != nil {
			return err
		}
		if from, err = storage.Abs(from); err != nil {
			return err
		}
		j.Table = path.Base(strings.TrimRight(j.Table, "/"))
		s.shape[transform.Join] = append(s.shape[transform.Join], j.Text())
		s.joins.tables[j.Text()], s.joins.paths = t, append(s.joins.paths, from)
	}
	return nil
}

// seal writes what is in the tables into the operations.
func (j *joins) seal(ops []plan.Op) {
	for i := range ops {
		if ops[i].Name == transform.Join {
			ops[i] = transform.Opened(ops[i], j.tables[ops[i].Text])
		}
	}
}

// compileJoins makes the operations of a plan, whose tables are read when they are wanted first.
func (p *Prepared) compileJoins() flow.Compile { return compileJoins(p.Plan, p.Memory, p.Jobs) }

func compileJoins(p *plan.Plan, memory int64, jobs int) flow.Compile {
	tables := sync.OnceValues(func() (map[string]*transform.JoinTable, error) {
		out := map[string]*transform.JoinTable{}
		for _, op := range p.Ops {
			if op.Name != transform.Join {
				continue
			}
			text := transform.Shown(op)[0]
			j, err := transform.ParseJoin(text)
			if err == nil && len(out) >= len(p.Tables) {
				err = shardify.Corrupt(-1, "the plan does not say where %s is", j.Table)
			}
			if err != nil {
				return nil, err
			}
			if out[text], err = readJoin(context.Background(), sideTable{path: p.Tables[len(out)], memory: memory, jobs: jobs, scratch: p.ScratchPath}, &j); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	return func(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		t, err := tables()
		if err != nil {
			return nil, err
		}
		return transform.CompileWith(t)(ops, env)
	}
}

// joinsOf is compileJoins for a data set that is looked at: its plan says where the tables are.
func joinsOf(dir string, jobs int) flow.Compile {
	return func(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		if !slices.ContainsFunc(ops, func(o plan.Op) bool { return o.Name == transform.Join }) {
			return transform.Compile(ops, env)
		}
		p, err := plan.Load(local.NewDir(dir, local.SyncNone))
		if err != nil {
			return nil, err
		}
		memory, _ := host.This().Budget(0)
		return compileJoins(p, memory, jobs)(ops, env)
	}
}

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
	in, _, err := ChooseInput(ctx, nil, "", []string{t.path})
	if err != nil {
		return nil, in, err
	}
	options, err := Pick(nil, in.Options)
	if err != nil {
		return nil, in, err
	}
	r := readers.Request{Inputs: []string{t.path}, Options: options, Jobs: t.jobs, Asked: true}
	if take != nil {
		r.Columns = append(slices.Clone(take), keys...)
	}
	o, err := readers.Open(ctx, in, r)
	if err != nil {
		return nil, in, err
	}
	for _, name := range keys {
		if shardify.FieldIndex(o.Source.Schema(), name) < 0 {
			o.Source.Close()
			return nil, in, shardify.Misuse("--%s: there is no field %s in %s", t.op, name, t.path)
		}
	}
	return o, in, nil
}

// others are the fields of a table that are no keys.
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
func readJoin(ctx context.Context, from sideTable, j *transform.JoinSpec) (*transform.JoinTable, error) {
	from.op = transform.Join
	names := []string{j.Key}
	o, in, err := from.open(ctx, names, j.Take)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	if j.Take == nil {
		j.Take = others(o, names)
	}
	if len(j.Take) == 0 {
		return nil, shardify.Misuse("--join: %s has no column beside %s", from.path, j.Key)
	}
	size, err := decoded(ctx, o.Source)
	if err != nil {
		return nil, err
	}
	var t *transform.JoinTable
	if size > from.most() {
		t, err = from.sorted(ctx, o, in, j.Key)
	} else {
		var cols []shardify.Column
		var rows int
		if cols, rows, err = whole(ctx, o.Source, from.most()); err == nil {
			keys := cut(&cols, names)
			t, err = transform.NewJoinTable(keys[0], cols, rows)
		}
	}
	return t, shardify.Annotate(o.Args.Table.Locate(err), "join", from.path, "")
}

// sorted brings a table into a scratch file without a name, by rising key.
func (t *sideTable) sorted(ctx context.Context, o *readers.Opened, in format.Input, key string) (*transform.JoinTable, error) {
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
	number, err := group.Numbers(ctx, o.Source)
	env := group.Env{Pool: shardify.NewPool(poolLimit(t.memory) / 2), Jobs: t.jobs}
	if _, ok := o.Source.(format.Ranger); ok && err == nil {
		a := o.Args
		a.Columns = []string{key}
		if env.Keys, err = in.Open(ctx, a); err == nil {
			defer env.Keys.Close()
		}
	}
	w := transform.NewJoinWriter(key, file, file)
	if err == nil {
		err = group.Sorted(ctx, o.Source, o.Args.Table, key, env, store, func(b *shardify.Batch) error {
			return w.Add(b, func(i int) int64 { return number(b.ID(i)) })
		})
	}
	var table *transform.JoinTable
	if err == nil {
		table, err = w.Table()
	}
	if err != nil {
		file.Close()
	}
	return table, err
}

// readTable reads a table into memory: its keys, and the columns to take, which are all others
// if they are nil.
func readTable(ctx context.Context, from sideTable, names []string, take *[]string) (keys, cols []shardify.Column, rows int, err error) {
	o, _, err := from.open(ctx, names, *take)
	if err != nil {
		return nil, nil, 0, err
	}
	defer o.Source.Close()
	if *take == nil {
		*take = others(o, names)
	}
	if cols, rows, err = whole(ctx, o.Source, from.most()); err != nil {
		return nil, nil, 0, shardify.Annotate(o.Args.Table.Locate(err), from.op, from.path, "")
	}
	return cut(&cols, names), cols, rows, nil
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

// whole reads all samples of a source into one column for each field, of most bytes in all.
func whole(ctx context.Context, src shardify.Source, most int64) (all []shardify.Column, rows int, err error) {
	for _, f := range src.Schema() {
		all = append(all, f.Empty())
	}
	var r shardify.Reader
	run := uint32(0)
	defer func() {
		if r != nil {
			r.Close()
		}
	}()
	pool := shardify.NewPool(most)
	var size int64
	for sp, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return nil, 0, err
		}
		if r == nil || run != sp.Run {
			if r != nil {
				r.Close()
			}
			if r, err = src.Reader(sp.Run); err != nil {
				return nil, 0, err
			}
			run = sp.Run
		}
		if size += sp.Bytes; size > most {
			return nil, 0, shardify.Hint(fmt.Errorf("a table of more than %s; a sixth of --memory is for tables: %w", shardify.FormatSize(most), shardify.ErrUnsupported), "give it more: --memory, or take fewer columns: take=COLUMN,...")
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return nil, 0, err
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			for i := range all {
				all[i].Append(&b.Columns[i], rows, b.Samples)
			}
			rows += b.Samples
		}
		mem.Release()
		if err != nil {
			return nil, 0, err
		}
	}
	return all, rows, nil
}
