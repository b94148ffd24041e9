package arrayfile

import (
	"context"
	"iter"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// source is a table of files, of which each may be a sample with a name and a class.
type source struct {
	*set.Table[*File]
	named  *labels.Named
	byFile bool
}

// Open is that of the format.
func (k *Kind) Open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(k.Options(), a.Options)
	if err != nil {
		return nil, err
	}
	a.Options = o
	fs := storages.Of(a.Table)
	var groups map[string]*Group
	if a.State == nil {
		if groups, err = k.groups(ctx, &a, fs); err != nil {
			return nil, err
		}
	}
	f := survey.Format{Name: k.Title, Key: k.key(o), Ragged: true, Look: func(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
		g := groups[path]
		switch {
		case g != nil && path != a.Table.Path(int(g.first())):
			return &survey.Facts{Within: true}, nil
		case g != nil && g.Err != nil:
			return nil, g.Err
		}
		in, err := rows.OpenFile(ctx, fs, path, -1)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		x, err := k.read(ctx, fs, path, in, o, g)
		if err != nil {
			return nil, err
		}
		defer x.Close()
		return k.facts(x, want), nil
	}}
	s := &source{}
	if a.State == nil {
		if labels.MayClass(a.Table, o) {
			f.Beside = labels.ClassField
		}
	} else if s.named, a.State, err = labels.ReadNamed(a.State, a.Table); err != nil {
		return nil, shardify.Annotate(err, "open", "", "survey of the plan")
	} else if s.named.Fields() != nil {
		f.Beside = labels.ClassField
	}
	all, err := survey.Open(ctx, a, f)
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, func(ctx context.Context, f storage.File, in *set.Input) (*File, error) {
		g, err := group(in.Blob, a.Table)
		if err != nil {
			return nil, err
		}
		return k.read(ctx, fs, in.Path(), f, o, g)
	}, func() shardify.Reader { return &reader{Reader: set.NewReader(s.Table, &worker{}), src: s} })
	return s, s.name(&a)
}

// key is all that the facts depend on.
func (k *Kind) key(o format.Options) string {
	var b strings.Builder
	b.WriteString(k.Key)
	for i := range k.Own {
		b.WriteString(" " + k.Own[i].Name + "=" + o.Value(&k.Own[i]))
	}
	return b.String()
}

// name finds what samples are called, and their classes, where each file is one.
func (s *source) name(a *format.OpenArgs) (err error) {
	s.byFile = true
	var files []uint32
	for in := range s.Inputs() {
		if in.Samples == 0 {
			continue // of the sample of another file
		}
		s.byFile = s.byFile && string(in.Blob) != isSection
		files = append(files, in.Index)
	}
	switch {
	case !s.byFile && s.named != nil:
		return shardify.Corrupt(-1, "survey of the plan: names of files that are not samples")
	case !s.byFile:
		return labels.None(a.Options)
	case a.State != nil:
		s.named.Inputs(files)
	default:
		if s.named, err = labels.Name(a, files, s.Set.Schema()); err != nil {
			return err
		}
		if err := parts(a, s.named != nil && s.named.Fields() != nil); err != nil {
			return err
		}
	}
	if len(s.Schema()) == 0 {
		return shardify.Misuse("--columns '%s' leaves no field", strings.Join(a.Columns, ","))
	}
	return shardify.ValidateSchema(s.Schema())
}

// parts is the error about folders that hold parts of the same samples, unless --labels says what they are.
func parts(a *format.OpenArgs, classes bool) error {
	if v := a.Options["labels"]; v != "" && v != labels.Auto {
		return nil
	}
	level := -1
	if classes {
		level = 0
	}
	var sides pairs.Sides
	names, exts := labels.NewPaths(a.Table, labels.First), []string{""}
	for i := range a.Table.Len() {
		sides.Add(names, i, &exts)
	}
	if list := sides.Find(level); list != nil {
		return pairs.Doubt(list, true)
	}
	return nil
}

// Schema implements shardify.Source.
func (s *source) Schema() []shardify.Field { return append(s.Set.Schema(), s.named.Fields()...) }

// State implements format.Stater.
func (s *source) State() ([]byte, error) {
	b, err := s.Set.State()
	if err != nil {
		return nil, err
	}
	return s.named.State(b)
}

// Leftovers implements format.Reporter.
func (s *source) Leftovers() []format.Leftover {
	return append(s.Set.Leftovers(), s.named.Leftovers()...)
}

// Notes implements format.Noter.
func (s *source) Notes() []string {
	notes := s.Set.Notes()
	if s.byFile {
		notes = append(notes, "files are read as arrays; --from files copies their bytes")
	}
	return notes
}

// ByFile implements format.Arrayed.
func (s *source) ByFile() bool { return s.byFile }

// Keyed implements format.Keyer: files that are samples may have names.
func (s *source) Keyed() bool { return s.named.Keyed() }

// Columnar implements format.Columnar.
func (s *source) Columnar() bool { return true }

// CheckKeys implements format.Keyer.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	return s.named.CheckKeys(memberMax, check)
}

// Spans implements shardify.Source.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for sp, err := range s.Set.Spans(ctx, target) {
			sp.Bytes += s.named.Bytes(sp.Input)
			if !yield(sp, err) {
				return
			}
		}
	}
}

// reader adds names and classes.
type reader struct {
	shardify.Reader
	src *source
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	b, err := r.Reader.Read(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	return b, r.src.named.Finish(b, sp.Input, mem)
}
