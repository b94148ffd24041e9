package hdf5

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// chooser looks into the inputs.
type chooser struct {
	fs     storage.FS
	opts   *tree.Settings
	inputs int
	choice *look.Choice
	splits map[string]*look.Choice // by split
	// missing is the option.
	missing string
	want    *columns.Wanted // to find the damage that matters

	mu   sync.Mutex
	refs []tree.Reference
	kept *tree.Tree // of the file that decided, which is not scanned twice
	path string
}

// maxLooks bounds the inputs that are tried for what the samples are.
const maxLooks = 64

// decide finds what the samples are from the first input that shows it: one that holds a
// single row, as the last part of a set may, leaves it open.
func (s *chooser) decide(ctx context.Context, a format.OpenArgs) error {
	if s.opts.Splits {
		return s.decideSplits(ctx, a)
	}
	err := s.decideOn(ctx, a, false)
	if s.choice != nil || !errors.Is(err, shardify.ErrCorrupt) || ctx.Err() != nil {
		return err
	}
	// All inputs that could show it are damaged. Groups that are samples may be damaged by
	// themselves.
	if e := s.decideOn(ctx, a, true); e == nil && s.opts.Skip {
		return nil
	} else if e == nil && (s.choice.Mode == tree.ByGroup || s.choice.Mode == tree.ByItem) {
		return &format.Skippable{Err: err}
	}
	return err
}

// decideOn goes through the inputs; damaged ones count only if damage is said to.
func (s *chooser) decideOn(ctx context.Context, a format.OpenArgs, damage bool) error {
	var firstErr error
	for i := range min(a.Table.Len(), maxLooks) {
		c, err := s.decideBy(ctx, a, i, damage)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, errCells) {
				return err
			}
			if firstErr == nil {
				firstErr = shardify.Annotate(err, "open", a.Table.Shown(i), "")
			}
			continue
		}
		if s.choice == nil || !c.Unsure && c.Mode != tree.ByGroup {
			s.choice = c
		}
		if !s.choice.Unsure {
			return nil
		}
		s.close() // and look into the next
		s.kept = nil
	}
	if s.choice != nil {
		return nil
	}
	if firstErr != nil {
		return firstErr
	}
	return shardify.Unsupported("no HDF5 files")
}

// decideBy looks at all data sets, whatever the columns: a column alone must have
// the samples that it has among the others.
//
// Damaged parts may be those that show the samples. They are not among the parts to choose
// from, so that damage comes before any choice.
func (s *chooser) decideBy(ctx context.Context, a format.OpenArgs, i int, damage bool) (c *look.Choice, err error) {
	all, _ := columns.New(nil)
	f, err := s.file(ctx, a.Table.Path(i))
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			f.Close()
		}
	}()
	if s.isCells(f) {
		return nil, errCells
	}
	t, err := tree.Scan(ctx, f, s.opts, all, tree.Samples{})
	if err != nil {
		return nil, err
	}
	if list := look.Concerned(t, s.want, nil); len(list) > 0 && !damage {
		return nil, shardify.Annotate(list[0].Err, "", "", list[0].Object)
	}
	if len(t.Objects) == 0 {
		return nil, look.Nothing(t, len(s.opts.Objects) == 0 && len(a.Columns) == 0)
	}
	if c, err = s.chooseFrom(ctx, t, a.Columns); err != nil {
		return nil, err
	}
	c.Times = look.Times(ctx, t, c)
	if keep = len(a.Columns) == 0; keep {
		s.kept, s.path = t, a.Table.Path(i)
	}
	return c, nil
}

// known is what a scan gets to know of the samples.
func (s *chooser) known() tree.Samples {
	if s.choice == nil {
		return tree.Samples{}
	}
	return s.choice.Samples
}

// chooseFrom decides by all data sets of a tree, or by the columns alone where all say
// nothing of them.
func (s *chooser) chooseFrom(ctx context.Context, t *tree.Tree, columns []string) (*look.Choice, error) {
	c, err := look.Choose(t, s.opts.Sample, s.inputs)
	if len(columns) == 0 {
		return c, err
	}
	sub := t.Only(columns)
	if len(sub.Objects) == 0 {
		return s.decideAlone(ctx, t.File, columns, c, err)
	}
	if err != nil || c.LeavesAll(sub) {
		if alone, e := look.Choose(sub, s.opts.Sample, s.inputs); e == nil {
			return alone, nil
		}
	}
	return c, err
}

// decideAlone looks at the data sets that columns name by other names than the walk: c and
// err are the choice without them.
func (s *chooser) decideAlone(ctx context.Context, f *column.File, patterns []string, c *look.Choice, err error) (*look.Choice, error) {
	want, e := columns.New(patterns)
	if e != nil {
		return c, err
	}
	sub, e := tree.Scan(ctx, f, s.opts, want, tree.Samples{})
	if e != nil || len(sub.Objects) == 0 {
		if c != nil { // that there is no such field comes first
			err = nil
		}
		return c, err
	}
	return look.Choose(sub, s.opts.Sample, s.inputs)
}

// keptTree returns the kept tree of a file, once.
func (s *chooser) keptTree(name string) *tree.Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept
	if t == nil || s.path != name {
		return nil
	}
	s.kept = nil
	return t
}

// close drops what was kept and not taken.
func (s *chooser) close() {
	if s.kept != nil {
		s.kept.File.Close()
	}
}

func (s *chooser) file(ctx context.Context, name string) (*column.File, error) {
	in, err := rows.OpenFile(ctx, s.fs, name, -1)
	if err != nil {
		return nil, err
	}
	f, err := column.Open(s.fs, in, name, s.opts.External)
	if err != nil {
		in.Close()
		return nil, err
	}
	return f, nil
}

// look implements survey.Format.
func (s *chooser) look(ctx context.Context, name string, want *columns.Wanted) (_ *survey.Facts, err error) {
	t := s.keptTree(name)
	if t == nil {
		f, err := s.file(ctx, name)
		if err != nil {
			return s.foreign(ctx, name, err)
		}
		if t, err = tree.Scan(ctx, f, s.opts, want, s.known()); err != nil {
			f.Close()
			return nil, err
		}
	}
	defer t.File.Close()
	if err := t.Kind.Refused(); err != nil {
		return nil, err
	}
	t.Match(want)
	s.refer(t.References())
	if s.opts.Chunked && !want.All() {
		if t.All, err = s.scanAll(ctx, t.File); err != nil {
			return nil, err
		}
	}
	facts, err := s.factsOf(ctx, t)
	if err == nil && len(facts.Fields)+len(facts.Left) == 0 && facts.Samples == 0 && !want.All() {
		facts.Samples, err = s.count(ctx, t.File)
	}
	if failed := t.File.Failed(); failed != nil {
		return nil, failed
	}
	// The rest of a damaged file may seem to be anything.
	if list := look.Place(t, s.choice, look.Concerned(t, want, s.choice)); len(list) > 0 {
		if err != nil || facts.Foreign != "" {
			facts = &survey.Facts{}
		}
		facts.Damaged, err = list, nil
	}
	return facts, err
}

// count is how many samples a file has that has none of the wanted fields: it lacks them,
// rather than being empty.
func (s *chooser) count(ctx context.Context, f *column.File) (int64, error) {
	t, err := s.scanAll(ctx, f)
	if err != nil || len(t.Objects) == 0 {
		return 0, err
	}
	facts, err := s.factsOf(ctx, t)
	if err != nil {
		return 0, err
	}
	return facts.Samples, nil
}

// scanAll looks at all data sets of a file, whatever columns are wanted.
func (s *chooser) scanAll(ctx context.Context, f *column.File) (*tree.Tree, error) {
	all, err := columns.New(nil)
	if err != nil {
		return nil, err
	}
	return tree.Scan(ctx, f, s.opts, all, s.known())
}

func (s *chooser) factsOf(ctx context.Context, t *tree.Tree) (*survey.Facts, error) {
	if s.opts.Splits {
		return s.lookSplits(ctx, t)
	}
	return look.Facts(ctx, t, s.choice, s.opts)
}

// foreign leaves a file out that is no HDF5 and is not named so.
func (s *chooser) foreign(ctx context.Context, name string, err error) (*survey.Facts, error) {
	if !errors.Is(err, shardify.ErrCorrupt) || slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
		return nil, err
	}
	head := make([]byte, len(signature))
	f, e := s.fs.Open(ctx, name)
	if e != nil {
		return nil, e
	}
	defer f.Close()
	for off := int64(0); ; off = max(512, 2*off) {
		if _, e := f.ReadAt(head, off); e != nil {
			return &survey.Facts{Foreign: "no HDF5 file"}, nil
		}
		if string(head) == signature {
			return nil, err
		}
	}
}
