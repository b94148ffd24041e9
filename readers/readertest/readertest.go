// Package readertest is the conformance suite that every Source runs. A new
// format gets its tests of order, spans, runs, memory and cancellation by one
// call:
//
//	func TestConformance(t *testing.T) {
//		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
//			return npz.Format.Open(ctx, format.OpenArgs{Table: table, Columns: columns, State: state, Options: options})
//		})
//	}
//
// The data should have several inputs, more than one kind of column, and few
// enough samples (hundreds) that a span for each is quick.
package readertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// Put writes a file into a folder of its own, and returns its name.
func Put(t testing.TB, name, data string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TableOf is the table of files that are named one by one.
func TableOf(files ...string) *format.Table {
	t := &format.Table{Roots: files}
	for i := range files {
		t.Append(i, "", format.SizeUnknown, 0)
	}
	return t
}

// Open opens the source under test. columns and state are as in
// format.OpenArgs; Run closes what it gets.
type Open func(columns []string, state []byte) (shardify.Source, error)

// Run checks everything that docs of shardify.Source and shardify.Reader
// promise. Released buffers are filled with garbage under -race and by make test-plain, so run it so.
// With -race and -short, only what reads from several goroutines is checked.
func Run(t *testing.T, open Open) {
	s := &suite{open: open}
	s.learn(t)
	cases := []struct {
		name string
		run  func(*testing.T)
	}{
		{"ReadersAtOnceEqualOneAfterAnother", s.concurrent},
		{"CancelledIsAnErrorNeverShort", s.cancelled},
		{"SpansCoverEverySampleOnceInOrder", s.spansCover},
		{"SameDataWhateverTheTarget", s.anyTarget},
		{"PartsOfASpanEqualTheWhole", s.parts},
		{"SpansOfARunMayBeLeftOut", s.leftOut},
		{"ProjectionEqualsTheColumnOfAll", s.projection},
		{"UnknownColumnIsAnError", s.unknownColumn},
		{"ReleaseOfOneBatchLeavesTheOther", s.release},
		{"LittleMemoryGivesTheSame", s.littleMemory},
		{"ProofsJoin", s.checksums},
		{"WrongSpansAreErrors", s.wrongSpans},
		{"CloseTwice", s.closeTwice},
		{"CloseFreesFiles", s.closeFrees},
		{"StateReopensTheSame", s.state},
	}
	if race.On && testing.Short() {
		cases = cases[:2]
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// suite holds what one serial pass over the source found; the tests compare
// other ways of reading with it.
type suite struct {
	open   Open
	schema []shardify.Field
	total  int64 // samples
	bytes  int64 // decoded, as the spans say
	ends   map[uint32]int64
	want   *Content
}

func (s *suite) source(t *testing.T, columns []string, state []byte) shardify.Source {
	t.Helper()
	src, err := s.open(columns, state)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

func (s *suite) learn(t *testing.T) {
	src := s.source(t, nil, nil)
	s.schema = src.Schema()
	if err := shardify.ValidateSchema(s.schema); err != nil {
		t.Fatalf("schema: %v", err)
	}
	s.ends = map[uint32]int64{}
	for _, sp := range Spans(t, src, 1<<40) {
		s.total += sp.Samples()
		s.bytes += sp.Bytes
		s.ends[sp.Input] = max(s.ends[sp.Input], sp.Hi)
	}
	if s.total == 0 {
		t.Fatal("the source under test has no samples")
	}
	s.want = ReadAll(t, src, 1<<40)
}

// targets goes from a span per sample, if there are few, to one per input.
func (s *suite) targets() []int64 {
	if s.total <= 5000 {
		return []int64{1, s.bytes/13 + 1, s.bytes/3 + 1, 1 << 40}
	}
	return []int64{s.bytes/97 + 1, s.bytes/13 + 1, 1 << 40}
}

// small is a target that gives several spans even for few inputs.
func (s *suite) small() int64 { return s.bytes/23 + 1 }

// Spans lists all spans, or fails the test.
func Spans(t testing.TB, src shardify.Source, target int64) []shardify.Span {
	t.Helper()
	var all []shardify.Span
	for sp, err := range src.Spans(context.Background(), target) {
		if err != nil {
			t.Fatalf("spans of %d bytes: %v", target, err)
		}
		all = append(all, sp)
	}
	return all
}

// ReadAll reads every span in order and returns what the source holds.
func ReadAll(t testing.TB, src shardify.Source, target int64) *Content {
	t.Helper()
	c := NewContent()
	Each(t, src, Spans(t, src, target), func(b *shardify.Batch) { c.Add(b, 0, b.Samples) })
	return c
}

// Each reads the spans in order, one reader per run, checks every batch against
// its span and the schema, and hands it on.
func Each(t testing.TB, src shardify.Source, spans []shardify.Span, f func(*shardify.Batch)) {
	t.Helper()
	if err := each(src, spans, f); err != nil {
		t.Fatal(err)
	}
}

func each(src shardify.Source, spans []shardify.Span, f func(*shardify.Batch)) (err error) {
	return eachIn(shardify.NewPool(1<<40), src, spans, f)
}

func eachIn(pool *shardify.Pool, src shardify.Source, spans []shardify.Span, f func(*shardify.Batch)) (err error) {
	var r shardify.Reader
	run := uint32(0)
	for i, sp := range spans {
		if i == 0 || sp.Run != run {
			if r != nil {
				r.Close()
			}
			if r, err = src.Reader(sp.Run); err != nil {
				return fmt.Errorf("reader of run %d: %w", sp.Run, err)
			}
			defer r.Close()
			run = sp.Run
		}
		if err := readOne(src, r, sp, pool, f); err != nil {
			return err
		}
	}
	return nil
}

func readOne(src shardify.Source, r shardify.Reader, sp shardify.Span, pool *shardify.Pool, f func(*shardify.Batch)) error {
	ctx := context.Background()
	mem, err := pool.Grant(ctx, sp.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	b, err := r.Read(ctx, sp, mem)
	if err != nil {
		return fmt.Errorf("read %+v: %w", sp, err)
	}
	if err := checkBatch(b, sp, src.Schema()); err != nil {
		return fmt.Errorf("read %+v: %w", sp, err)
	}
	f(b)
	return nil
}

func (s *suite) spansCover(t *testing.T) {
	src := s.source(t, nil, nil)
	for _, target := range s.targets() {
		spans := Spans(t, src, target)
		if err := checkSpans(spans, s.ends, s.total); err != nil {
			t.Errorf("target %d: %v", target, err)
		}
		if again := Spans(t, src, target); !slices.Equal(spans, again) {
			t.Errorf("target %d: a second call gives other spans", target)
		}
	}
}

func checkSpans(spans []shardify.Span, ends map[uint32]int64, total int64) error {
	var n int64
	done := map[uint32]bool{} // runs that have ended
	for i, sp := range spans {
		switch {
		case sp.Lo < 0 || sp.Hi <= sp.Lo:
			return fmt.Errorf("span %d is empty or backwards: %+v", i, sp)
		case sp.Bytes < 0:
			return fmt.Errorf("span %d has %d bytes", i, sp.Bytes)
		case sp.Run != 0 && done[sp.Run]:
			return fmt.Errorf("span %d goes back to run %d", i, sp.Run)
		}
		first := i == 0 || spans[i-1].Input != sp.Input
		if first && sp.Lo != 0 || !first && sp.Lo != spans[i-1].Hi {
			return fmt.Errorf("span %d does not follow: %+v", i, sp)
		}
		if i > 0 {
			if sp.Input < spans[i-1].Input {
				return fmt.Errorf("span %d goes back to input %d", i, sp.Input)
			}
			if first && spans[i-1].Hi != ends[spans[i-1].Input] {
				return fmt.Errorf("input %d ends at %d, elsewhere at %d", spans[i-1].Input, spans[i-1].Hi, ends[spans[i-1].Input])
			}
			if sp.Run != spans[i-1].Run {
				done[spans[i-1].Run] = true
			}
		}
		n += sp.Samples()
	}
	if n != total {
		return fmt.Errorf("%d samples in all, elsewhere %d", n, total)
	}
	return nil
}

func (s *suite) anyTarget(t *testing.T) {
	src := s.source(t, nil, nil)
	for _, target := range s.targets() {
		if err := s.want.Equal(ReadAll(t, src, target)); err != nil {
			t.Errorf("target %d: %v", target, err)
		}
	}
}

// parts asks run 0 for pieces of its spans, cut where no border is.
func (s *suite) parts(t *testing.T) {
	src := s.source(t, nil, nil)
	var cut []shardify.Span
	for _, sp := range Spans(t, src, s.bytes/5+1) {
		n := sp.Samples()
		if sp.Run != 0 || n < 2 {
			cut = append(cut, sp)
			continue
		}
		a, b := sp.Lo+(n+2)/3, sp.Lo+n-n/5
		for _, p := range [][2]int64{{sp.Lo, a}, {a, b}, {b, sp.Hi}} {
			if p[0] < p[1] {
				q := sp
				q.Lo, q.Hi = p[0], p[1]
				cut = append(cut, q)
			}
		}
	}
	c := NewContent()
	Each(t, src, cut, func(b *shardify.Batch) { c.Add(b, 0, b.Samples) })
	if err := s.want.Equal(c); err != nil {
		t.Error(err)
	}
}

func (s *suite) concurrent(t *testing.T) {
	src := s.source(t, nil, nil)
	spans := Spans(t, src, s.small())
	want := perSpan(t, src, spans)
	var wg sync.WaitGroup
	for _, part := range deal(spans, 4) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			i := 0
			err := each(src, part, func(b *shardify.Batch) {
				c := NewContent()
				c.Add(b, 0, b.Samples)
				if err := want[part[i]].Equal(c); err != nil {
					t.Errorf("%+v: %v", part[i], err)
				}
				i++
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
}

func perSpan(t testing.TB, src shardify.Source, spans []shardify.Span) map[shardify.Span]*Content {
	t.Helper()
	all := make(map[shardify.Span]*Content, len(spans))
	i := 0
	Each(t, src, spans, func(b *shardify.Batch) {
		c := NewContent()
		c.Add(b, 0, b.Samples)
		all[spans[i]] = c
		i++
	})
	return all
}

// deal gives n lists: spans of run 0 in turn, a run as a whole, and the first run a second
// time to the next list.
func deal(spans []shardify.Span, n int) [][]shardify.Span {
	out := make([][]shardify.Span, n)
	var again []shardify.Span
	for i, sp := range spans {
		to := i % n
		if sp.Run != 0 {
			to = int(sp.Run) % n
			if len(again) == 0 || again[0].Run == sp.Run {
				again = append(again, sp)
			}
		}
		out[to] = append(out[to], sp)
	}
	if len(again) > 0 {
		to := int(again[0].Run+1) % n
		out[to] = append(slices.Clone(again), out[to]...)
	}
	return out
}

func (s *suite) leftOut(t *testing.T) {
	src := s.source(t, nil, nil)
	spans := Spans(t, src, s.small())
	want := perSpan(t, src, spans)
	for _, step := range []int{2, 5} {
		var some []shardify.Span
		for i := 1; i < len(spans); i += step {
			some = append(some, spans[i])
		}
		i := 0
		Each(t, src, some, func(b *shardify.Batch) {
			c := NewContent()
			c.Add(b, 0, b.Samples)
			if err := want[some[i]].Equal(c); err != nil {
				t.Errorf("%+v: %v", some[i], err)
			}
			i++
		})
	}
}

func (s *suite) closeFrees(t *testing.T) {
	before, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd here")
	}
	src, err := s.open(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	Each(t, src, Spans(t, src, s.small()), func(*shardify.Batch) {})
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	if len(after) > len(before) {
		t.Errorf("%d files open before, %d after Close", len(before), len(after))
	}
}
