// Package operations answers what is done to samples: --where, --define and all others of the table of package transform, with the
// files that --join and --tokenize read.
package operations

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/questions/internal/table"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/transform/annotations"
	"github.com/shardify/shardify/transform/codes"
	"github.com/shardify/shardify/transform/fields"
	"github.com/shardify/shardify/transform/tables"
)

// Question is that of the operations.
var Question = ask.Question{Name: "operations", Keys: keys(), New: func() ask.Asked { return &operations{} }, Again: again, Extend: extend}

// keys are the settings that are operations.
func keys() (names []string) {
	for i := range settings.Keys {
		if k := &settings.Keys[i]; k.Kept == settings.AsOperation || k.Kept == settings.AsCheck {
			names = append(names, k.Name)
		}
	}
	return names
}

// operations are those of one conversion, and what they read beside the inputs: tables that are joined, and
// tokenizers.
type operations struct {
	ask.Nothing
	side  transform.Side
	paths []string // of all files, in the order of the operations
}

// Check implements ask.Asked.
func (o *operations) Check(c *ask.Conversion) error {
	c.Shape = c.Operations()
	c.Once = c.Once || !c.Shape.Empty()
	return nil
}

// Prepare implements ask.Asked. It reads the files, and completes the texts of the operations: the columns to take
// are known by then, and the result does not depend on the folder of a file.
func (o *operations) Prepare(ctx context.Context, c *ask.Conversion) ([]string, error) {
	o.side = transform.Side{Tables: map[string]*tables.Table{}, Tokenizers: map[string]*codes.Tokenizer{}}
	if c.Scratch != "" {
		o.side.Scratch = local.NewDir(c.Scratch, local.SyncNone)
	}
	err := complete(c, transform.Join, func(text string) (string, error) {
		j, err := tables.Parse(text)
		if err != nil {
			return "", shardify.Usage("%v", err)
		}
		t, err := readJoin(ctx, table.File{Path: j.Table, Memory: c.Memory, Jobs: c.Jobs, Scratch: c.Scratch}, &j)
		if err != nil {
			return "", err
		}
		c.Closers.Add(t)
		j.Table, err = o.add(j.Table)
		o.side.Tables[j.Text()] = t
		return j.Text(), err
	})
	if err == nil {
		err = complete(c, transform.Tokenize, func(text string) (string, error) {
			spec, err := codes.ParseTokenize(text)
			if err != nil {
				return "", shardify.Usage("%v", err)
			}
			t, err := readTokenizer(ctx, spec, spec.File)
			if err != nil {
				return "", err
			}
			c.Notes = append(c.Notes, t.Notes...)
			spec.File, err = o.add(spec.File)
			o.side.Tokenizers[spec.Text()] = t
			return spec.Text(), err
		})
	}
	if err == nil {
		err = complete(c, transform.Parse, func(text string) (string, error) { return readNames(ctx, text) })
	}
	if c.Compile == nil {
		c.Compile = transform.CompileWith(o.side)
	}
	return nil, err
}

// complete replaces the texts of an operation.
func complete(c *ask.Conversion, op string, full func(text string) (string, error)) error {
	var texts []string
	for _, text := range c.Shape[op] {
		text, err := full(text)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	if texts != nil {
		c.Shape[op] = texts
	}
	return nil
}

// add records where a file is, and returns its name.
func (o *operations) add(file string) (name string, err error) {
	from, err := storage.Abs(file)
	o.paths = append(o.paths, from)
	return path.Base(strings.TrimRight(file, "/")), err
}

// Open implements ask.Asked. It lists the operations, and writes what is in the files into them.
func (o *operations) Open(ctx context.Context, c *ask.Conversion) error {
	if err := complete(c, transform.Parse, func(text string) (string, error) { return look(ctx, c, text) }); err != nil {
		return err
	}
	shaped, err := c.Shape.WithTotals(ctx, c.Input, c.Opened.Args.Table, c.Pool(), c.Jobs)
	if err != nil {
		return err
	}
	if c.Draft.Steps.Ops, err = shaped.Ops(c.Opened.Args.Table); err != nil {
		return shardify.Usage("%v", err)
	}
	for i, op := range c.Draft.Steps.Ops {
		switch op.Name {
		case transform.Join:
			c.Draft.Steps.Ops[i] = transform.Opened(op, o.side.Tables[op.Text].Digest)
		case transform.Tokenize:
			c.Draft.Steps.Ops[i] = transform.Opened(op, o.side.Tokenizers[op.Text].Digest)
		}
	}
	return nil
}

// Planned implements ask.Asked.
func (o *operations) Planned(ctx context.Context, c *ask.Conversion, p *plan.Plan, _ *format.Output) error {
	p.Local.Tables = append(p.Local.Tables, o.paths...)
	if !p.Pack.InParts() {
		c.Looks = append(c.Looks, func(ctx context.Context) []string { return o.fertility(ctx, c, p.Pack.Samples) })
	}
	return nil
}

// maxTokenizer bounds the file of a tokenizer.
const maxTokenizer = 256 << 20

// readNames puts the names of classes in the place of the file that has them.
func readNames(ctx context.Context, text string) (string, error) {
	spec, err := annotations.ParseSpec(text)
	if err != nil {
		return "", shardify.Usage("%v", err)
	}
	if spec.File == "" {
		return spec.Text(), nil
	}
	data, err := readFile(ctx, spec.File, annotations.MaxNames)
	if err == nil {
		err = shardify.Annotate(spec.ReadNames(data), "read", spec.File, "")
	}
	return spec.Text(), err
}

// readFile reads a file beside the inputs: no more than a byte beyond most.
func readFile(ctx context.Context, from string, most int64) ([]byte, error) {
	r, err := storages.Stream(ctx, from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	return data, shardify.Annotate(err, "read", from, "")
}

// readTokenizer reads the file of a tokenizer.
func readTokenizer(ctx context.Context, spec codes.TokenizeSpec, from string) (*codes.Tokenizer, error) {
	data, err := readFile(ctx, from, maxTokenizer)
	if err != nil {
		return nil, err
	}
	return codes.OpenTokenizer(spec, data)
}

// again makes the operations of a plan, whose files are read when they are wanted first.
func again(a *ask.Again) {
	if a.Compile != nil || !slices.ContainsFunc(a.Plan.Steps.Ops, readsFile) {
		return
	}
	side := sync.OnceValues(func() (transform.Side, error) {
		s, err := readAgain(context.Background(), a)
		for _, t := range s.Tables {
			a.Closers.Add(t)
		}
		return s, err
	})
	a.Compile = func(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		s, err := side()
		if err != nil {
			return nil, err
		}
		return transform.CompileWith(s)(ops, env)
	}
}

func readAgain(ctx context.Context, a *ask.Again) (transform.Side, error) {
	p := a.Plan
	out := transform.Side{Tables: map[string]*tables.Table{}, Tokenizers: map[string]*codes.Tokenizer{}}
	paths := p.Local.Tables
	for _, op := range p.Steps.Ops {
		if !readsFile(op) {
			continue
		}
		text := transform.Shown(op)[0]
		if len(paths) == 0 {
			return out, shardify.Corrupt(-1, "the plan does not say where the file of --%s '%s' is", op.Name, text)
		}
		from := paths[0]
		paths = paths[1:]
		if op.Name == transform.Tokenize {
			spec, err := codes.ParseTokenize(text)
			if err == nil {
				out.Tokenizers[text], err = readTokenizer(ctx, spec, from)
			}
			if err != nil {
				return out, err
			}
			continue
		}
		j, err := tables.Parse(text)
		if err != nil {
			return out, err
		}
		t, err := readJoin(ctx, table.File{Path: from, Memory: a.Memory, Jobs: a.Jobs, Scratch: p.Local.Scratch}, &j)
		if err != nil {
			return out, err
		}
		out.Tables[text] = t
	}
	return out, nil
}

// readsFile reports whether an operation reads a file beside the inputs.
func readsFile(op plan.Op) bool { return op.Name == transform.Join || op.Name == transform.Tokenize }

// readJoin reads a table to join: into memory, or into a scratch file if it is too large.
// Columns that are not named are all of them.
func readJoin(ctx context.Context, from table.File, j *tables.Spec) (*key.Table, error) {
	from.Op = transform.Join
	names := j.Keys
	o, in, err := from.Open(ctx, names, j.Take)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	if j.Take == nil {
		j.Take = table.Others(o, names)
	}
	if len(j.Take) == 0 {
		return nil, shardify.Misuse("--join: %s has no column beside %s", from.Path, strings.Join(names, ","))
	}
	size, err := table.Decoded(ctx, o.Source)
	if err != nil {
		return nil, err
	}
	var t *key.Table
	if size > from.Most() {
		t, err = from.Sorted(ctx, o, in, names)
	} else {
		var cols []shardify.Column
		var rows int
		if cols, rows, err = from.Whole(ctx, o.Source); err == nil {
			keys := table.Cut(&cols, names)
			t, err = key.NewTable(keys, cols, rows)
		}
	}
	return t, shardify.Annotate(o.Args.Table.Locate(err), "join", from.Path, "")
}

// extend refuses operations that depend on more than the inputs that they are done to.
func extend(part *index.Part) error {
	for _, o := range part.Operations {
		op := plan.Op{Name: o.Op, Text: o.Text}
		if text := transform.Shown(op)[0]; readsFile(op) {
			return shardify.Unsupported("it was made with --%s %s: convert the further inputs with it, and use merge-sets", o.Op, text)
		} else if o.Op == transform.Set && fields.HasTotals(o.Text) {
			return shardify.Unsupported("--set %s is a sum over all its inputs, which further ones would change: convert all of them together", text)
		}
	}
	return nil
}
