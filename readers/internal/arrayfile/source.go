package arrayfile

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
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
	labels *joined
	notes  []string
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
	var tables []*labels.Table
	if a.State == nil {
		if tables, err = readLabels(ctx, &a); err != nil {
			return nil, err
		}
		if f.Beside = fieldsOf(tables); tables == nil && labels.MayClass(a.Table, o) {
			f.Beside = []string{labels.ClassField}
		}
	} else if s.labels, a.State, err = readJoined(&a); err != nil {
		return nil, shardify.Annotate(err, "open", "", "survey of the plan")
	} else if s.named, a.State, err = labels.ReadNamed(a.State, a.Table); err != nil {
		return nil, shardify.Annotate(err, "open", "", "survey of the plan")
	} else if s.named.Fields() != nil || s.labels.schema() != nil {
		f.Beside = []string{labels.ClassField}
	}
	all, err := survey.Open(ctx, a, f)
	if errors.Is(err, shardify.ErrSchema) && a.State == nil && tables == nil {
		err = cmp.Or(pairs.Refuse(&a, false, false), err) // parts of samples are of different shapes and types
	}
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, func(ctx context.Context, f storage.File, in *set.Input) (*File, error) {
		g, err := group(in.Blob, a.Table)
		if err != nil {
			return nil, err
		}
		return k.read(ctx, fs, in.Path(), f, o, g)
	}, func() shardify.Reader {
		r := &reader{Reader: set.NewReader(s.Table, &worker{}), src: s}
		if s.labels != nil {
			r.labels.Values = s.labels.values
		}
		return r
	})
	return s, s.name(&a, tables)
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
func (s *source) name(a *format.OpenArgs, tables []*labels.Table) (err error) {
	s.byFile = true
	var files []uint32
	first := []int64{0}
	for in := range s.Inputs() {
		if in.Samples == 0 {
			continue // of the sample of another file
		}
		s.byFile = s.byFile && string(in.Blob) != isSection
		files, first = append(files, in.Index), append(first, first[len(first)-1]+in.Samples)
	}
	if tables != nil {
		s.labels = &joined{inputs: files, first: first}
		if s.notes, err = s.labels.join(a, tables, s.Set.Schema(), !s.byFile); err != nil {
			return err
		}
		b := *a // folders are no classes, then
		b.Options = maps.Clone(a.Options)
		b.Options["labels"], b.Options["key"] = labels.Never, ""
		a = &b
	} else if s.labels != nil {
		s.labels.inputs, s.labels.first = files, first
		if err := s.labels.fits(); err != nil {
			return err
		}
	}
	switch {
	case !s.byFile && s.named != nil:
		return shardify.Corrupt(-1, "survey of the plan: names of files that are not samples")
	case !s.byFile:
		if a.State == nil {
			if err := labels.None(a.Options); err != nil {
				return err
			}
			if err := pairs.Refuse(a, false, false); err != nil {
				return err
			}
		}
	case a.State != nil:
		s.named.Inputs(files)
	default:
		if s.named, err = labels.Name(a, files, s.Set.Schema()); err != nil {
			return err
		}
		if err := pairs.Refuse(a, s.named != nil && s.named.Fields() != nil, false); err != nil {
			return err
		}
	}
	if len(s.Schema()) == 0 {
		return shardify.Misuse("--columns '%s' leaves no field", strings.Join(a.Columns, ","))
	}
	return shardify.ValidateSchema(s.Schema())
}

// Schema implements shardify.Source.
func (s *source) Schema() []shardify.Field {
	return slices.Concat(s.Set.Schema(), s.named.Fields(), s.labels.schema())
}

// State implements format.Stater.
func (s *source) State() ([]byte, error) {
	b, err := s.Set.State()
	if err != nil {
		return nil, err
	}
	if b, err = s.named.State(b); err != nil {
		return nil, err
	}
	return s.labels.state(b)
}

// Pages implements format.Pager: those of the labels.
func (s *source) Pages() int {
	if s.labels == nil {
		return 0
	}
	return s.labels.values.Pages()
}

// Page implements format.Pager.
func (s *source) Page(i int) ([]byte, error) { return s.labels.values.Page(i) }

// Close implements shardify.Source.
func (s *source) Close() error {
	err := s.Table.Close()
	if s.labels != nil {
		err = errors.Join(err, s.labels.values.Close())
	}
	return err
}

// Leftovers implements format.Reporter.
func (s *source) Leftovers() []format.Leftover {
	left := slices.Concat(s.Set.Leftovers(), s.named.Leftovers())
	if s.labels != nil {
		left = append(left, s.labels.Left...)
	}
	return left
}

// Notes implements format.Noter.
func (s *source) Notes() []string {
	notes := slices.Concat(s.Set.Notes(), s.notes)
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
			if s.labels == nil || err != nil {
				if !yield(sp, err) {
					return
				}
				continue
			}
			at := labels.Cursor{Values: s.labels.values}
			base, each := s.labels.number(sp.Input), sp.Bytes/max(sp.Samples(), 1)
			if !s.labels.runs(base+sp.Lo, base+sp.Hi, func(lo, hi int64) bool {
				part := sp
				part.Lo, part.Hi, part.Bytes = lo-base, hi-base, each*(hi-lo)
				for k := s.labels.rank(lo); k < s.labels.rank(hi); k++ {
					n, err := at.Bytes(k, s.labels.Wanted)
					if err != nil {
						yield(part, err)
						return false
					}
					part.Bytes += n
				}
				return yield(part, nil)
			}) {
				return
			}
		}
	}
}

// reader adds names, classes and labels.
type reader struct {
	shardify.Reader
	src    *source
	labels labels.Cursor
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	b, err := r.Reader.Read(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	if err := r.src.named.Finish(b, sp.Input, mem); err != nil || r.src.labels == nil {
		return b, err
	}
	j := r.src.labels
	base := j.number(sp.Input)
	lo, hi := j.rank(base+sp.Lo), j.rank(base+sp.Hi)
	if hi-lo != sp.Samples() {
		return nil, shardify.Corrupt(-1, "samples [%d, %d), of which %d have labels", sp.Lo, sp.Hi, hi-lo)
	}
	cols, err := r.labels.Batch(lo, hi, j.Wanted, mem)
	b.Columns = append(b.Columns, cols...)
	return b, err
}
