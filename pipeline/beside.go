package pipeline

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/transform/codes"
	"github.com/shardify/shardify/transform/tables"
)

// sideFiles are what operations read beside the inputs: tables that are joined, and tokenizers.
type sideFiles struct {
	side  transform.Side
	paths []string // of all, in the order of the operations
	notes []string
}

// openTables are tables that were read, some into files.
type openTables []*tables.Table

// Close ends their use.
func (t *openTables) Close() (err error) {
	for _, x := range *t {
		err = errors.Join(err, x.Close())
	}
	*t = nil
	return err
}

// openBeside reads the side files, and completes the texts of the operations: the columns to take
// are known by then, and the result does not depend on the folder of a file.
func (s *Settings) openBeside(ctx context.Context, p *Prepared) error {
	s.beside = sideFiles{side: transform.Side{Tables: map[string]*tables.Table{}, Tokenizers: map[string]*codes.Tokenizer{}}}
	if s.Scratch != "" {
		s.beside.side.Scratch = local.NewDir(s.Scratch, local.SyncNone)
	}
	var texts []string
	for _, text := range s.shape[transform.Join] {
		j, err := tables.Parse(text)
		if err != nil {
			return shardify.Usage("%v", err)
		}
		t, err := readJoin(ctx, sideTable{path: j.Table, memory: p.Memory, jobs: p.Jobs, scratch: s.Scratch}, &j)
		if err != nil {
			return err
		}
		p.joined = append(p.joined, t)
		if j.Table, err = s.beside.add(j.Table); err != nil {
			return err
		}
		texts = append(texts, j.Text())
		s.beside.side.Tables[j.Text()] = t
	}
	if texts != nil {
		s.shape[transform.Join] = texts
	}
	texts = nil
	for _, text := range s.shape[transform.Tokenize] {
		spec, err := codes.ParseTokenize(text)
		if err != nil {
			return shardify.Usage("%v", err)
		}
		t, err := readTokenizer(ctx, spec, spec.File)
		if err != nil {
			return err
		}
		if spec.File, err = s.beside.add(spec.File); err != nil {
			return err
		}
		texts = append(texts, spec.Text())
		s.beside.side.Tokenizers[spec.Text()] = t
		s.beside.notes = append(s.beside.notes, t.Notes...)
	}
	if texts != nil {
		s.shape[transform.Tokenize] = texts
	}
	return nil
}

// add notes where a file is, and returns its name.
func (b *sideFiles) add(file string) (name string, err error) {
	from, err := storage.Abs(file)
	b.paths = append(b.paths, from)
	return path.Base(strings.TrimRight(file, "/")), err
}

// seal writes what is in the files into the operations.
func (b *sideFiles) seal(ops []plan.Op) {
	for i, op := range ops {
		switch op.Name {
		case transform.Join:
			ops[i] = transform.Opened(op, b.side.Tables[op.Text].Digest)
		case transform.Tokenize:
			ops[i] = transform.Opened(op, b.side.Tokenizers[op.Text].Digest)
		}
	}
}

// maxTokenizer bounds the file of a tokenizer.
const maxTokenizer = 256 << 20

// readTokenizer reads the file of a tokenizer.
func readTokenizer(ctx context.Context, spec codes.TokenizeSpec, from string) (*codes.Tokenizer, error) {
	r, err := storages.Stream(ctx, from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxTokenizer+1))
	if err != nil {
		return nil, shardify.Annotate(err, "read", from, "")
	}
	return codes.OpenTokenizer(spec, data)
}

// compileBeside makes the operations of a plan, whose files are read when they are wanted first.
func (p *Prepared) compileBeside() flow.Compile {
	return compileBeside(p.Plan, p.Memory, p.Jobs, &p.joined)
}

func compileBeside(p *plan.Plan, memory int64, jobs int, joined *openTables) flow.Compile {
	side := sync.OnceValues(func() (transform.Side, error) {
		s, err := readBeside(context.Background(), p, memory, jobs)
		for _, t := range s.Tables {
			*joined = append(*joined, t)
		}
		return s, err
	})
	return func(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		s, err := side()
		if err != nil {
			return nil, err
		}
		return transform.CompileWith(s)(ops, env)
	}
}

func readBeside(ctx context.Context, p *plan.Plan, memory int64, jobs int) (transform.Side, error) {
	out := transform.Side{Tables: map[string]*tables.Table{}, Tokenizers: map[string]*codes.Tokenizer{}}
	paths := p.Local.Tables
	for _, op := range p.Steps.Ops {
		if !readsBeside(op) {
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
		t, err := readJoin(ctx, sideTable{path: from, memory: memory, jobs: jobs, scratch: p.Local.Scratch}, &j)
		if err != nil {
			return out, err
		}
		out.Tables[text] = t
	}
	return out, nil
}

func readsBeside(op plan.Op) bool { return op.Name == transform.Join || op.Name == transform.Tokenize }

// besideOf is compileBeside for a data set that is looked at: its plan says where the files are.
func besideOf(dir string, jobs int, joined *openTables) flow.Compile {
	return func(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		if !slices.ContainsFunc(ops, readsBeside) {
			return transform.Compile(ops, env)
		}
		p, err := plan.Load(local.NewDir(dir, local.SyncNone))
		if err != nil {
			return nil, err
		}
		memory, _ := host.This().Budget(0)
		return compileBeside(p, memory, jobs, joined)(ops, env)
	}
}
