package survey

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"golang.org/x/sync/errgroup"
)

// seen is what a survey has seen of all files.
type seen struct {
	files   set.Files
	empty   Inputs // without samples
	within  int64  // files that are parts of others' samples
	layouts layouts
	lines   []string // about the first file
	told    uint32   // 1 + the input that lines are about
	piece   set.Piece
	remarks map[string]*remark
	foreign failures
	damaged damaged
}

// remark is a note about some files.
type remark struct {
	in      Inputs
	samples int64
}

// collector gathers the facts of all files.
type collector struct {
	table *format.Table
	f     *Format
	want  *columns.Wanted

	mu sync.Mutex
	seen
	bad failures
}

// remoteLooks is how many files of other machines are looked into at the same time.
const remoteLooks = 64

// look looks into every file, several at once. Its goroutines end before it does.
func look(ctx context.Context, a format.OpenArgs, f *Format, want *columns.Wanted) (*seen, error) {
	if a.Table == nil || a.Table.Len() == 0 {
		return nil, shardify.Unsupported("no input files")
	}
	c := newCollector(a.Table, f, want)
	c.damaged.skips = a.SkipDamaged
	if err := EachInput(ctx, &a, func(ctx context.Context, i, _ int) error { return c.look(ctx, uint32(i)) }); err != nil {
		return nil, err
	}
	return &c.seen, c.verdict()
}

// EachInput calls look for each input, several at once; workers is how many goroutines each call
// may have. Its goroutines end before it does, all of them at the first error.
func EachInput(ctx context.Context, a *format.OpenArgs, look func(ctx context.Context, input, workers int) error) error {
	n, jobs := a.Table.Len(), a.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	workers := max(jobs/n, 1)
	if _, local := storage.Path(storages.Of(a.Table), a.Table.Path(0)); !local {
		jobs = max(jobs, remoteLooks) // they wait for answers
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(jobs, n) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := look(ctx, int(i), workers); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func newCollector(t *format.Table, f *Format, want *columns.Wanted) *collector {
	c := &collector{table: t, f: f, want: want}
	c.files.List = make([]set.File, 0, t.Len())
	c.layouts = layouts{byKey: map[string]uint32{}, most: rows.MaxFields}
	return c
}

// look looks into one file. Its error ends the survey; a bad file is not an error.
func (c *collector) look(ctx context.Context, input uint32) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	facts, err := c.f.Look(ctx, c.table.Path(int(input)), c.want)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	var parts []*checked
	if err == nil && facts.Foreign == "" {
		parts, err = c.examine(facts)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.damaged.skips && skippable(err):
		c.damaged.skip(input, facts, err)
	case err != nil:
		c.bad.add(input, shardify.Annotate(err, "open", c.table.Shown(int(input)), ""))
	case parts == nil:
		c.foreign.add(input, errText(facts.Foreign))
	default:
		if len(facts.Skipped) > 0 {
			c.damaged.lost = append(c.damaged.lost, lost{input, facts.Skipped})
		}
		return c.addAll(input, facts, parts)
	}
	return nil
}

// examine checks what a format says about a file, part by part. Damage comes first: numbers that follow from
// it are not reasons.
func (c *collector) examine(facts *Facts) (parts []*checked, err error) {
	if err := facts.damage(c.damaged.skips); err != nil {
		return nil, err
	}
	for i := -1; i < len(facts.More); i++ {
		f := facts
		if i >= 0 {
			f = facts.More[i]
		}
		s, err := f.check(c.want, c.f.Ragged)
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
	return parts, nil
}

// addAll adds a file and its further parts.
func (c *collector) addAll(input uint32, facts *Facts, parts []*checked) error {
	if err := c.add(input, 0, facts, parts[0]); err != nil {
		return err
	}
	first := facts.Samples
	for i, f := range facts.More {
		f.Size = facts.Size
		if err := c.add(input, first, f, parts[i+1]); err != nil {
			return err
		}
		first += f.Samples
	}
	return nil
}

// add adds the part of a file whose first sample is first. It is called with mu held; all that takes long
// was done before.
func (c *collector) add(input uint32, first int64, facts *Facts, s *checked) error {
	c.describe(input, facts)
	layout, jagged, err := c.layouts.add(input, facts.Samples == 0, s)
	if err != nil {
		return err
	}
	f := set.File{Input: input, Layout: layout, Samples: facts.Samples, Size: facts.Size, Jagged: jagged}
	switch {
	case facts.Within:
		c.within++
	case facts.Samples == 0:
		c.empty.Add(input)
	}
	c.files.Add(f, facts.Part, first, s.borders, facts.Blob, s.shapes)
	return nil
}

// describe keeps what is said about the first file, about the largest piece, and about many files.
func (s *seen) describe(input uint32, facts *Facts) {
	if s.told == 0 || input < s.told-1 {
		if s.told, s.lines = input+1, facts.Lines; facts.Further != nil {
			s.lines = append(s.lines, facts.Further()...)
		}
	}
	if n := facts.PieceBytes; n > s.piece.Bytes || n > 0 && n == s.piece.Bytes && input < s.piece.Input {
		s.piece = set.Piece{What: facts.Piece, Bytes: n, Input: input}
	}
	if facts.Remark == "" {
		return
	}
	if s.remarks == nil {
		s.remarks = map[string]*remark{}
	}
	r := s.remarks[facts.Remark]
	if r == nil {
		r = &remark{}
		s.remarks[facts.Remark] = r
	}
	r.in.Add(input)
	r.samples = rows.SatAdd(r.samples, facts.Samples)
}

// verdict is the error about bad inputs. If others would be left without them, it is
// Skippable.
func (c *collector) verdict() error {
	slices.SortFunc(c.damaged.skipped, func(a, b skipped) int { return cmp.Compare(a.input, b.input) })
	n := int64(c.table.Len()) - c.foreign.count - c.within
	if err := c.bad.err(c.table); err != nil {
		if c.bad.count < n && !c.damaged.skips && c.bad.skippable {
			return &format.Skippable{Err: err}
		}
		return err
	}
	if len(c.damaged.skipped) == 0 || int64(len(c.damaged.skipped)) < n {
		return nil
	}
	for _, s := range c.damaged.skipped {
		c.bad.add(s.input, shardify.Annotate(s.err, "open", c.table.Shown(int(s.input)), ""))
	}
	return c.bad.err(c.table)
}
