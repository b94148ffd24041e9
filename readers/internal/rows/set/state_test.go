package set_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/rowstest"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/tests/race"
)

// rich is inputs with everything that a state can hold.
func rich() []rowstest.Made {
	var files []rowstest.Made
	for i := range 12 {
		m := rowstest.File(fmt.Sprintf("f%02d", i), rowstest.Field("x", shardify.F32), rowstest.Jagged("j", shardify.I16, int64(100+i)))
		m.Facts.Blob = []byte{byte(i % 3), 7}
		m.Facts.Samples, m.Facts.Size = int64(i*5), int64(1000+i)
		switch i % 4 {
		case 0:
			m.Facts.Borders = set.Borders{Every: 3, Inside: 1}
		case 1:
			m.Facts.Borders = set.Borders{At: []int64{0, 2, 2, 4, 9, 16, 1000}}
		case 2:
			m.Facts.Fields = append(m.Facts.Fields, rowstest.Field("y", shardify.I32, 2))
		case 3:
			m.Facts.Fields[0] = rowstest.Field("x", shardify.F64)
			m.Facts.Left = []format.Leftover{{Name: "z", Reason: "why not"}}
		}
		files = append(files, m)
	}
	files = append(files, rowstest.Made{Name: "other", Facts: survey.Facts{Foreign: "no data"}})
	return files
}

func reopen(f survey.Format, files []rowstest.Made, state []byte) (*set.Set, error) {
	f.Look = func(context.Context, string, *columns.Wanted) (*survey.Facts, error) { panic("touched an input") }
	return survey.Open(context.Background(), format.OpenArgs{Table: rowstest.TableOf(files), State: state}, f)
}

func TestStateReopensTheSameWithoutTouchingInputs(t *testing.T) {
	files := rich()
	for _, missing := range []survey.Missing{survey.Fill, survey.Drop, survey.Intersect} {
		s, err := rowstest.Open(files, missing)
		if err != nil {
			t.Fatal(err)
		}
		state, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		re, err := reopen(rowstest.FormatOf(files), files, state)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := rowstest.Show(s), rowstest.Show(re); a != b {
			t.Errorf("%s\nafter: %s", a, b)
		}
		if a, b := rowstest.ShownLeft(s), rowstest.ShownLeft(re); a != b || !slices.Equal(s.Describe(), re.Describe()) {
			t.Errorf("left out %s\nafter: %s", a, b)
		}
		for _, target := range []int64{1, 50, 1 << 30} {
			if a, b := rowstest.Spans(t, s, target), rowstest.Spans(t, re, target); !slices.Equal(a, b) {
				t.Errorf("spans %v\nafter: %v", a, b)
			}
		}
		var a, b []set.Input
		for in := range s.Inputs() {
			a = append(a, in)
		}
		for in := range re.Inputs() {
			b = append(b, in)
		}
		if !slices.EqualFunc(a, b, func(a, b set.Input) bool {
			return a.Index == b.Index && a.Size == b.Size && a.Samples == b.Samples && string(a.Blob) == string(b.Blob)
		}) {
			t.Error("inputs differ")
		}
		if again, err := re.State(); err != nil || !slices.Equal(again, state) {
			t.Errorf("the state of the reopened set differs (error %v)", err)
		}
		for n := range state {
			if _, err := reopen(rowstest.FormatOf(files), files, state[:n]); err == nil {
				t.Errorf("cut to %d of %d bytes it opens", n, len(state))
			}
		}
		other := rowstest.FormatOf(files)
		other.Key = "sample=file"
		if _, err := reopen(other, files, state); err == nil {
			t.Error("with other options it opens")
		}
		if _, err := reopen(rowstest.FormatOf(files), files[:3], state); err == nil {
			t.Error("with fewer inputs it opens")
		}
	}
}

// TestStateDoesNotDependOnTheOrderOfLooking: law 3, the same plan whatever the jobs.
func TestStateDoesNotDependOnTheOrderOfLooking(t *testing.T) {
	files := rich()
	var want []byte
	for i := range 20 {
		f := rowstest.FormatOf(files)
		turn := make(chan struct{}, 1)
		if i > 0 { // another order each time: every input waits for a random other one
			look := f.Look
			f.Look = func(ctx context.Context, path string, w *columns.Wanted) (*survey.Facts, error) {
				for range len(path) * i % 7 {
					runtime.Gosched()
				}
				select {
				case turn <- struct{}{}:
					runtime.Gosched()
					<-turn
				default:
				}
				return look(ctx, path, w)
			}
		}
		s, err := survey.Open(context.Background(), format.OpenArgs{
			Table: rowstest.TableOf(files), Options: format.Options{"missing": "fill"}, Jobs: 1 + i%13,
		}, f)
		if err != nil {
			t.Fatal(err)
		}
		state, _ := s.State()
		if want == nil {
			want = state
		}
		if !slices.Equal(state, want) {
			t.Fatalf("%d jobs give another state", 1+i%13)
		}
	}
}

// TestManyEqualInputsCostLittle: memory below 50 bytes an input, a state of about 15,
// though the survey saw 40 fields and 1,000 private bytes of each.
func TestManyEqualInputsCostLittle(t *testing.T) {
	n := 20_000
	if os.Getenv("SHARDIFY_LONG") != "" {
		n = 1_000_000
	}
	var fields []survey.Field
	for i := range 40 {
		fields = append(fields, rowstest.Field(fmt.Sprint("field", i), shardify.F32))
	}
	table := &format.Table{Roots: []string{""}}
	for i := range n {
		table.Append(0, fmt.Sprint(i), 1, 1)
	}
	blob := make([]byte, 1000)
	f := survey.Format{Name: "made", Look: func(_ context.Context, path string, _ *columns.Wanted) (*survey.Facts, error) {
		return &survey.Facts{Samples: 1000 + int64(len(path)), Size: 1 << 20, Fields: fields, Borders: set.Borders{Every: 100}, Blob: blob}, nil
	}}
	before := heap()
	s, err := survey.Open(context.Background(), format.OpenArgs{Table: table}, f)
	if err != nil {
		t.Fatal(err)
	}
	each := float64(heap()-before) / float64(n)
	state, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f bytes of memory and %.1f of state an input", each, float64(len(state))/float64(n))
	if each > 50 || len(state) > 16*n {
		t.Errorf("%.1f bytes of memory and %.1f of state an input", each, float64(len(state))/float64(n))
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// states are made of rich inputs, in every way that makes the state another.
func states(tb testing.TB) (files []rowstest.Made, all [][]byte) {
	for _, ragged := range []bool{false, true} {
		for _, missing := range []survey.Missing{survey.Fill, survey.Drop} {
			files = rich()
			for i := range files[:12] {
				if ragged {
					files[i].Facts.Fields = append(files[i].Facts.Fields, rowstest.Field("image", shardify.U8, 2, i%5))
				}
			}
			format := rowstest.FormatOf(files)
			format.Ragged = ragged
			s, err := rowstest.OpenAs(format, files, missing)
			if err != nil {
				tb.Fatal(err)
			}
			state, err := s.State()
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, state)
		}
	}
	return files, all
}

// TestDamagedStateIsAnErrorOrASetThatKeepsWithinItsMemory changes every byte behind
// the JSON, where the fuzzer is slow to go.
func TestDamagedStateIsAnErrorOrASetThatKeepsWithinItsMemory(t *testing.T) {
	race.Sequential(t)
	files, all := states(t)
	table := rowstest.TableOf(files)
	tried, opened := 0, 0
	for _, state := range all {
		head, n := binary.Uvarint(state[1:])
		for at := 1 + n + int(head); at < len(state); at++ {
			for _, v := range []byte{0, 1, 3, 0x7f, 0xff, state[at] + 1, state[at] - 1} {
				for _, insert := range []bool{false, true} {
					bad := slices.Clone(state)
					if bad[at] = v; insert {
						bad = slices.Insert(slices.Clone(state), at, v)
					}
					tried++
					s, err := survey.Open(context.Background(), format.OpenArgs{Table: table, State: bad}, survey.Format{Name: "made"})
					if err == nil {
						opened++
						useSet(t, s)
					} else if !errors.Is(err, shardify.ErrCorrupt) {
						t.Fatal(err)
					}
				}
			}
		}
	}
	t.Logf("%d damaged states, %d of them open", tried, opened)
	if opened == 0 {
		t.Error("none opens: the test reaches nothing")
	}
}

// FuzzState: a damaged plan is an error, or a set that keeps within its memory.
func FuzzState(f *testing.F) {
	files, all := states(f)
	for _, state := range all {
		f.Add(state)
	}
	table := rowstest.TableOf(files)
	f.Fuzz(func(t *testing.T, state []byte) {
		s, err := survey.Open(context.Background(), format.OpenArgs{Table: table, State: state}, survey.Format{Name: "made"})
		if err != nil {
			return
		}
		again, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		re, err := survey.Open(context.Background(), format.OpenArgs{Table: table, State: again}, survey.Format{Name: "made"})
		if err != nil {
			t.Fatalf("its own state does not open: %v", err)
		}
		if a, b := rowstest.Show(s), rowstest.Show(re); a != b {
			t.Fatalf("%s\nafter: %s", a, b)
		}
		useSet(t, s)
	})
}

// useSet goes through spans and makes batches, as far as they fit into little memory.
func useSet(t *testing.T, s *set.Set) {
	for _, target := range []int64{100, 1 << 20} {
		n := 0
		last := shardify.Span{}
		for sp, err := range s.Spans(context.Background(), target) {
			if err != nil {
				t.Fatal(err)
			}
			if sp.Hi <= sp.Lo || sp.Input == last.Input && n > 0 && sp.Lo != last.Hi {
				t.Fatalf("span %+v after %+v", sp, last)
			}
			last = sp
			if n++; n == 20 {
				break
			}
			if sp.Bytes > 1<<14 {
				continue
			}
			mem := shardify.NewPool(1 << 30).Overdraft()
			in, b, err := s.Begin(context.Background(), sp, mem)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Columns {
				if in.Field(i) >= 0 {
					zeros(&b.Columns[i], b.Samples, mem)
				}
			}
			if b, err = s.Finish(&in, b, mem); err != nil {
				t.Fatal(err)
			}
			if err := b.Match(s.Schema()); err != nil {
				t.Fatal(err)
			}
			mem.Release()
		}
	}
}

// zeros is the data of a column whose lists are empty.
func zeros(c *shardify.Column, samples int, mem *shardify.Arena) {
	for l := range c.Levels {
		n := []int{samples, 0}[l]
		o := mem.Int64s(n + 1)
		clear(o)
		c.Offsets = append(c.Offsets, o)
	}
	if c.Levels == 0 {
		c.Data = mem.Alloc(samples * c.ElemBytes())
		clear(c.Data)
	}
}
