package view

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

func mustParse(t *testing.T, text string) Spec {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const hour = 3600

// every is n times, with so many hours between them.
func every(n, hours int) (list []int64) {
	for i := range n {
		list = append(list, int64(i*hours*hour))
	}
	return list
}

func anchorsOf(v *index.View) (list []int64) {
	for _, a := range v.Anchors {
		for r := a.Lo; r < a.Hi; r += a.Step {
			list = append(list, r)
		}
	}
	return list
}

func TestTextsOfWindows(t *testing.T) {
	day := Distance{Nanos: 24 * 3600e9}
	for text, want := range map[string]Spec{
		"3+1":                                 {In: 3, Out: 1},
		" 16 ":                                {In: 16},
		"time=2+1,lead=1d,stride=24h,step=6h": {Axis: "time", In: 2, Out: 1, Lead: day, Stride: day, Step: Distance{Nanos: 6 * 3600e9}},
		"time=1+4,step=2,name=long":           {Axis: "time", In: 1, Out: 4, Step: Distance{Rows: 2}, Name: "long"},
		"pairs":                               {View: "pairs", Out: -1},
		"pairs,out=2":                         {View: "pairs", Out: 2},
		"valid_time=1+1,step=30min,lead=900s": {Axis: "valid_time", In: 1, Out: 1, Step: Distance{Nanos: 1800e9}, Lead: Distance{Nanos: 900e9}},
	} {
		got := mustParse(t, text)
		if got.Text = ""; got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, text := range []string{"", "+", "1+0", "1", "0+2", "-1+2", "2+-1", "a b", "time=", "=2+1", "2+1,", "2+1,lead=", "2+1,lead=0", "2+1,lead=-6h", "2+1,lead=6q",
		"2+1,out=1", "pairs,lead=2", "pairs,out=-1", "2+1,name=", "2+1,name=a/b", "99999999+1", "2+1,lead=99999999999999999w"} {
		if s, err := Parse(text); !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestWindowsByTimes(t *testing.T) {
	gap := slices.Delete(every(40, 6), 10, 12)
	for _, c := range []struct {
		text         string
		times        []int64
		n, positions int64
		first, last  int64
	}{
		{"time=1+1", every(40, 6), 39, 39, 0, 38},
		{"time=2+1,lead=24h", every(40, 6), 35, 35, 1, 35},
		{"time=2+1,lead=24h,stride=24h", every(40, 6), 9, 9, 1, 33},
		{"time=2+3,step=12h", every(40, 6), 32, 32, 2, 33},
		{"time=1+1", gap, 36, 37, 0, 36},
	} {
		s := mustParse(t, c.text)
		v, f, err := s.Build(Rows{N: int64(len(c.times)), Values: c.times, Nanos: 1e9})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Check(int64(len(c.times))); err != nil {
			t.Error(err)
		}
		a := anchorsOf(v)
		if v.Len() != c.n || f.Windows != c.n || f.ByPosition != c.positions || a[0] != c.first || a[len(a)-1] != c.last {
			t.Errorf("%s of %d rows: %d windows %v, %+v", c.text, len(c.times), v.Len(), a, f)
		}
	}
}

// TestNoWindowCrossesAGap holds what is found against what the times of all rows say.
func TestNoWindowCrossesAGap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var times []int64
		at := r.Int64N(1000) * 3600
		for range 1 + r.IntN(80) {
			times = append(times, at)
			switch r.IntN(12) {
			case 0:
				at += r.Int64N(5) * 3600 * 6 // a gap, or the same time again
			case 1:
				at -= r.Int64N(20) * 3600 * 6 // another series
			case 2:
				at += 1 + r.Int64N(3600*6)
			}
			at += 6 * 3600
		}
		if r.IntN(8) == 0 {
			times[r.IntN(len(times))] = math.MinInt64
		}
		s := Spec{Text: "t", Axis: "t", In: 1 + r.Int64N(4), Out: r.Int64N(4), Step: Distance{Rows: 1 + r.Int64N(3)}, Lead: Distance{Rows: r.Int64N(4)}}
		if s.In+s.Out == 1 {
			s.Out = 1
		}
		v, f, err := s.Build(Rows{N: int64(len(times)), Values: times, Nanos: 1e9})
		if err != nil {
			continue // no two times that rise
		}
		if err := v.Check(int64(len(times))); err != nil {
			t.Fatal(err)
		}
		lo, hi := v.Span()
		var want []int64
		for i := -lo; i+hi < int64(len(times)); i++ {
			whole := true
			for o := lo + 1; o <= hi; o++ {
				whole = whole && times[i+o-1] != math.MinInt64 && times[i+o]-times[i+o-1] == f.Spacing
			}
			if whole {
				want = append(want, i)
			}
		}
		if got := anchorsOf(v); !slices.Equal(got, want) {
			t.Fatalf("%+v of %v: anchors %v, want %v", s, times, got, want)
		}
	}
}

func TestStridesGoOnBehindAGap(t *testing.T) {
	times := slices.Delete(every(40, 6), 11, 13)
	s := mustParse(t, "time=1+1,stride=1d")
	v, _, err := s.Build(Rows{N: 38, Values: times, Nanos: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range anchorsOf(v) {
		if times[a]%(24*hour) != 0 {
			t.Errorf("anchor %d at hour %d", a, times[a]/hour)
		}
	}
	if v.Len() != 9 { // of 10 days one has no pair at its first hour
		t.Errorf("%d windows: %v", v.Len(), anchorsOf(v))
	}
}

func TestWindowsByNumber(t *testing.T) {
	s := mustParse(t, "3+1,stride=2")
	v, f, err := s.Build(Rows{N: 20, Borders: []int64{9}})
	if err != nil {
		t.Fatal(err)
	}
	if got := anchorsOf(v); !slices.Equal(got, []int64{2, 4, 6, 11, 13, 15, 17}) || f.ByPosition != 9 {
		t.Errorf("%v, %+v", got, f)
	}
}

func TestDistancesThatNoRowsHave(t *testing.T) {
	for text, r := range map[string]Rows{
		"time=1+1,lead=4h": {N: 9, Values: every(9, 6), Nanos: 1e9},
		"time=1+1,lead=6h": {N: 9, Values: every(9, 6)},
		"1+1,lead=6h":      {N: 9},
		"time=1+1":         {N: 3, Values: []int64{5, 5, 4}},
		"time=1+1,step=9":  {N: 2, Values: []int64{9, 9}},
	} {
		s := mustParse(t, text)
		if v, _, err := s.Build(r); !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	s := mustParse(t, "time=1+1,stride=9999999999")
	if v, _, err := s.Build(Rows{N: 3, Values: []int64{math.MinInt64 + 1, 0, math.MaxInt64}}); err == nil && v.Len() > 1 {
		t.Errorf("%+v", v)
	}
}

func TestNumbersOfAnAxis(t *testing.T) {
	f := shardify.Field{Name: "t", DType: shardify.F32}
	list, nanos := Values(&f, shardify.Bytes([]float32{0.1, 0.2, 0.3, float32(math.NaN()), 0.5, 0.55}), nil)
	if nanos != 0 || !slices.Equal(list, []int64{0, 1, 2, math.MinInt64, 4, math.MinInt64}) {
		t.Error(list, nanos)
	}
	f = shardify.Field{Name: "t", DType: shardify.I32, Attrs: map[string]string{"time": "ms"}}
	if list, nanos = Values(&f, shardify.Bytes([]int32{-1, 7, 0}), []byte{1, 1, 0}); nanos != 1e6 || !slices.Equal(list, []int64{-1, 7, math.MinInt64}) {
		t.Error(list, nanos)
	}
}

// TestLongAxesOfFloats: distances that are no sum of powers of two are the same in all rows.
func TestLongAxesOfFloats(t *testing.T) {
	const n = 60000
	days, short := make([]float64, n), make([]float32, n/100)
	for i := range days {
		days[i] = 20000 + float64(i)/24
	}
	for i := range short {
		short[i] = float32(float64(i) / 10)
	}
	days[0], days[n/2] = math.NaN(), math.Inf(1)
	for i := n - 100; i < n; i++ {
		days[i] = days[i-n+200] // another series
	}
	f := shardify.Field{Name: "t", DType: shardify.F64}
	list, _ := Values(&f, shardify.Bytes(days), nil)
	for i, v := range list {
		want := int64(i - 1)
		if i >= n-100 {
			want -= n - 200
		}
		if i == 0 || i == n/2 {
			want = math.MinInt64
		}
		if v != want {
			t.Fatalf("row %d at day %v: %d, want %d", i, days[i], v, want)
		}
	}
	f.DType = shardify.F32
	for i, v := range first(Values(&f, shardify.Bytes(short), nil)) {
		if v != int64(i) {
			t.Fatalf("row %d at %v: %d", i, short[i], v)
		}
	}
}

func first(list []int64, _ int64) []int64 { return list }

func TestASetOfOneRowHasNoWindows(t *testing.T) {
	s := mustParse(t, "time=2+1,step=6h")
	for n := range int64(2) {
		v, _, err := s.Build(Rows{N: n, Values: make([]int64, n), Nanos: 1e9})
		if err != nil || v.Len() != 0 || v.Check(n) != nil {
			t.Error(n, v, err)
		}
	}
}

func TestFieldsThatAreNoAxis(t *testing.T) {
	schema := []shardify.Field{{Name: "half", DType: shardify.F16}, {Name: "n", DType: shardify.I64}, {Name: "time", DType: shardify.I64, Attrs: map[string]string{"time": "s"}}}
	for text, ok := range map[string]bool{"half=1+1": false, "n=1+1": true, "n=1+1,lead=1d": false, "time=1+1,lead=1d": true, "1+1,stride=1d": false, "none=1+1": false} {
		s := mustParse(t, text)
		if err := s.Fits(schema); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
