package rows

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"golang.org/x/sync/errgroup"
)

// found is what the keys of a unit are like.
type found struct {
	first, last string // keys, encoded
	head        int64  // rows in front of the first change; all without a change
	changes     int64
	rising      bool
	ids         [3]int64 // of the first row, the first change and the last row
	sample      []string // keys of some rows, evenly spread over all
	rows        int      // that belong to samples
	lost        [2]int64 // other rows, see view
}

const (
	// sampled is how many keys are sampled to estimate the rows per key.
	sampled = 1 << 15
	// chunk is how many units are scanned one after the other.
	chunk = 32
)

// scanner passes over the keys.
type scanner struct {
	s    *Source
	src  shardify.Source // with the key fields, perhaps alone
	pool *shardify.Pool
	jobs int
	// ranges: a table says which rows a sample has, and none are read.
	ranges bool
}

func (s *Source) scanner(env Env) scanner {
	c := scanner{s, s.Rows, env.Pool, max(env.Jobs, 1), len(s.opts.Keys) == 0}
	if _, ok := s.Rows.(format.Ranger); ok && env.Keys != nil {
		c.src = env.Keys
	}
	return c
}

// look finds out what the keys of the units are like.
func (c *scanner) look(ctx context.Context) ([]found, error) {
	s := c.s
	start := make([]int64, len(s.units))
	for k := 1; k < len(s.units); k++ {
		start[k] = start[k-1] + s.units[k-1].span.Samples()
	}
	step := s.step()
	all := make([]found, len(s.units))
	return all, c.each(ctx, func(_ int, k int, _ *shardify.Batch, v *view) error {
		all[k] = s.keys.found(v, s.units[k].span.Samples(), start[k], step)
		return nil
	})
}

// step is how many rows there are for each key that is sampled.
func (s *Source) step() int64 { return max(s.allRows()/sampled, 1) }

func (s *Source) allRows() (n int64) {
	for k := range s.units {
		n += s.units[k].span.Samples()
	}
	return n
}

// scan looks at the keys of all rows.
func (s *Source) scan(ctx context.Context, env Env) error {
	c := s.scanner(env)
	all, err := c.look(ctx)
	if err != nil {
		return err
	}
	rows := s.allRows()
	proven, spanning := s.join(all)
	if s.keys.listed != nil && proven {
		if err := s.spread(all); err != nil {
			return err
		}
	}
	samples := s.number()
	if !proven {
		if s.parts, err = c.count(ctx, all, samples); err != nil {
			return err
		}
		if s.parts != nil {
			samples = s.parts.samples()
		}
	}
	s.note(all, rows, samples, spanning)
	return nil
}

// found looks at the keys of a unit of so many rows.
func (k *keys) found(v *view, rows, start, step int64) found {
	f := found{head: rows, rows: v.n, lost: v.lost, rising: true}
	if v.n == 0 {
		return f
	}
	changes := v.changes(nil)
	f.first, f.last, f.changes = string(v.encode(nil, 0)), string(v.encode(nil, v.n-1)), int64(len(changes))
	f.ids[0], f.ids[2] = k.identity(v, 0), k.identity(v, v.n-1)
	if len(changes) > 0 {
		f.head = int64(changes[0])
		f.ids[1] = k.identity(v, int(changes[0]))
		if v.kept != nil {
			f.head = int64(v.kept[changes[0]])
		}
	}
	for _, i := range changes {
		if v.compare(int(i)-1, int(i)) > 0 {
			f.rising = false
			break
		}
	}
	for i := (start+step-1)/step*step - start; i < int64(v.n); i += step {
		f.sample = append(f.sample, string(v.encode(nil, int(i))))
	}
	return f
}

// mark distinguishes the keys that samples begin and end with from others.
func mark(first, last int64) uint32 {
	return uint32(shardify.Mix(uint64(first) + shardify.Mix(uint64(last))))
}

// join numbers the samples as if the rows of each were contiguous, and reports whether that is
// certain: keys never fall. spanning counts the samples that go on in another input.
func (s *Source) join(all []found) (proven bool, spanning int64) {
	proven = true
	var before *found
	var input uint32
	for k := range all {
		f, u := &all[k], &s.units[k]
		u.head, u.groups, u.mark = f.head, f.changes, mark(f.ids[1], f.ids[2])
		if f.rows == 0 {
			u.head = 0 // rows that are left out do not belong to the sample before
			continue
		}
		if before == nil || f.first != before.last {
			u.head, u.groups, u.mark = 0, f.changes+1, mark(f.ids[0], f.ids[2])
		} else if input != u.span.Input {
			spanning++
		}
		proven = proven && f.rising && (before == nil || f.first >= before.last)
		before, input = f, u.span.Input
	}
	return proven, spanning
}

func (s *Source) note(all []found, rows, samples, spanning int64) {
	var lost [2]int64
	for k := range all {
		lost[0], lost[1] = lost[0]+all[k].lost[0], lost[1]+all[k].lost[1]
	}
	for i, why := range []string{"without a key", "of no sample"} {
		if lost[i] > 0 {
			s.Left = append(s.Left, format.Leftover{Name: "rows", Reason: fmt.Sprintf("%d %s", lost[i], why)})
		}
	}
	by := strings.Join(s.opts.Keys, ", ")
	if s.opts.From != nil {
		by = strings.TrimPrefix(by+" of "+s.opts.From.Table, " of ")
	}
	how := "the rows of each stand together"
	if s.parts != nil {
		how = fmt.Sprintf("their rows are not next to each other and are collected in scratch files of about %s first", shardify.FormatSize(s.CollectBytes()))
	}
	text := fmt.Sprintf("%d rows are %d samples by %s: %s", rows, samples, by, how)
	if spanning > 0 && s.parts == nil {
		text += fmt.Sprintf("; %d go on in another file", spanning)
	}
	s.Says = append(s.Says, text)
}

// each hands the rows of every unit to do, with their keys: those of a chunk of units in
// order, chunks side by side. worker numbers what runs at the same time.
func (c *scanner) each(ctx context.Context, do func(worker, k int, b *shardify.Batch, v *view) error) error {
	g, ctx := errgroup.WithContext(ctx)
	todo := make(chan [2]int)
	g.Go(func() error {
		defer close(todo)
		for lo := 0; lo < len(c.s.units); {
			hi := c.runFrom(lo)
			select {
			case todo <- [2]int{lo, hi}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			lo = hi
		}
		return nil
	})
	for w := range c.jobs {
		g.Go(func() error {
			var v view
			for x := range todo {
				if err := c.chunk(ctx, x[0], x[1], func(k int, b *shardify.Batch, mem *shardify.Arena) error {
					b, err := c.s.keys.look(&v, b, mem)
					if err != nil {
						return err
					}
					return do(w, k, b, &v)
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// runFrom is the end of the units from lo on that are read one after the other.
func (c *scanner) runFrom(lo int) int {
	hi := lo + 1
	run := c.s.units[lo].span.Run
	for hi < len(c.s.units) && c.s.units[hi].span.Run == run && (run > 0 || hi < lo+chunk) {
		hi++
	}
	return hi
}

// chunk reads units [lo, hi), which are of one run.
func (c *scanner) chunk(ctx context.Context, lo, hi int, do func(k int, b *shardify.Batch, mem *shardify.Arena) error) error {
	if c.ranges {
		for k := lo; k < hi; k++ {
			sp := c.s.units[k].span
			if err := do(k, &shardify.Batch{Samples: int(sp.Samples()), First: shardify.ID{Input: sp.Input, Sample: sp.Lo}}, c.pool.Overdraft()); err != nil {
				return c.s.located(err, sp.Input)
			}
		}
		return nil
	}
	r, err := c.src.Reader(c.s.units[lo].span.Run)
	if err != nil {
		return err
	}
	defer r.Close()
	for k := lo; k < hi; k++ {
		sp := c.s.units[k].span
		if c.src != c.s.Rows {
			sp.Bytes = min(sp.Bytes, 16*sp.Samples()*int64(len(c.s.opts.Keys)))
		}
		mem, err := c.pool.Grant(ctx, sp.Bytes+sp.Bytes/4)
		if err != nil {
			return context.Cause(ctx)
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil && int64(b.Samples) != sp.Samples() {
			err = fmt.Errorf("%d rows for span [%d, %d)", b.Samples, sp.Lo, sp.Hi)
		}
		if err == nil {
			err = do(k, b, mem)
		}
		mem.Release()
		if err != nil {
			return c.s.located(err, sp.Input)
		}
	}
	return nil
}

// located names the input that an error is about.
func (s *Source) located(err error, input uint32) error {
	if int(input) >= s.table.Len() {
		return err
	}
	return shardify.Annotate(s.table.LocateIn(err, int(input)), "group", s.table.Path(int(input)), "")
}
