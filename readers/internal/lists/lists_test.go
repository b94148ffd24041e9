package lists

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestParse(t *testing.T) {
	got, err := Parse(" /hits/, jets/* starts=/first counts=n hits ;; points offsets=p/ptr")
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if r := got[0]; !slices.Equal(r.Of, []string{"hits", "jets/*"}) || r.Text() != "starts=first counts=n hits" || r.Name() != "n hits" {
		t.Errorf("%+v", r)
	}
	for p, want := range map[string]bool{"hits": true, "hits/x": true, "hits_x": false, "jets/pt": true, "jets": false, "first": false} {
		if (got[0].Matches(p) != nil) != want {
			t.Errorf("%s: %v", p, !want)
		}
	}
	for _, text := range []string{"auto", "off", ""} {
		if r, err := Parse(text); r != nil || err != nil {
			t.Error(text, r, err)
		}
	}
	for text, want := range map[string]string{
		"on":                         "says not where",
		";":                          "no arrays",
		"hits starts=a":              "needs counts= or ends=",
		"hits counts=a ends=b":       "contradict",
		"hits counts=a counts=b":     "twice",
		"hits counts=":               "names no array",
		"counts=n":                   "does not name the arrays",
		"h[ counts=n":                "syntax error",
		"hits starts=a offsets=b":    "contradict",
		"hits counts=a; b starts=ab": `--lists "b starts=ab"`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// of reads from arrays in memory.
func of(arrays map[string][]int64) Read {
	return func(_ context.Context, name string, dst []int64, row int64) error {
		if n := int64(len(arrays[name])); row < 0 || row+int64(len(dst)) > n {
			return errors.New("rows outside")
		}
		copy(dst, arrays[name][row:])
		return nil
	}
}

var ways = []string{"a counts=c", "a starts=s counts=c", "a starts=s ends=e", "a ends=e", "a offsets=o"}

// TestAnyWayFindsTheSameLists: random lists, in spans anywhere.
func TestAnyWayFindsTheSameLists(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 34))
	for range 300 {
		n, total := r.IntN(40), int64(0)
		var s, c []int64
		o := []int64{0}
		for range n {
			k := int64(r.IntN(4) * r.IntN(3))
			c, s = append(c, k), append(s, total)
			total += k
			o = append(o, total)
		}
		for i := range s { // an empty list starts anywhere
			if c[i] == 0 && r.IntN(2) == 0 {
				s[i] = r.Int64N(total + 1)
			}
		}
		for _, way := range ways {
			x := index(t, way, n, total)
			x.block = int64(1 + r.IntN(9))
			read := of(map[string][]int64{"s": s, "c": c, "e": endsOf(way, s, c, o), "o": o})
			if err := x.Check(t.Context(), read); err != nil {
				t.Fatalf("%s: %v of %v %v", way, err, s, c)
			}
			lo := int64(r.IntN(n + 1))
			dst := make([]int64, 1+r.Int64N(int64(n)-lo+1))
			if err := x.At(t.Context(), read, dst, lo); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			if len(dst) > 1 && !slices.Equal(dst, o[lo:][:len(dst)]) {
				t.Fatalf("%s: %v from %d, want %v", way, dst, lo, o)
			}
		}
	}
}

func endsOf(way string, s, c, o []int64) []int64 {
	if way != "a starts=s ends=e" {
		return o[1:]
	}
	e := slices.Clone(s)
	for i := range e {
		e[i] += c[i]
	}
	return e
}

func index(t *testing.T, way string, n int, stored int64) *Index {
	t.Helper()
	rules, err := Parse(way)
	if err != nil {
		t.Fatal(err)
	}
	if rules[0].Offsets != "" {
		n++
	}
	x, err := New(rules[0], int64(n), stored, 0)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestNumbersThatAreNoLists: each is refused, with the list.
func TestNumbersThatAreNoLists(t *testing.T) {
	for _, c := range []struct {
		way     string
		s, n    []int64 // n: counts, ends or offsets
		row     int64
		refused error
		want    string
	}{
		{"a counts=c", nil, []int64{3, -1, 8}, 1, shardify.ErrCorrupt, "it has -1 values"},
		{"a counts=c", nil, []int64{3, 8, 0}, 1, shardify.ErrCorrupt, "starts at 3 with 8 values, of 10"},
		{"a counts=c", nil, []int64{3, math.MaxInt64, 0}, 1, shardify.ErrCorrupt, "of 10 in all"},
		{"a counts=c", nil, []int64{3, 3, 3}, -1, shardify.ErrCorrupt, "add up to 9, of 10 values"},
		{"a starts=s counts=c", []int64{0, 3, 11}, []int64{3, 3, 4}, 2, shardify.ErrCorrupt, "it starts at 11"},
		{"a starts=s counts=c", []int64{0, -3, 6}, []int64{3, 3, 4}, 1, shardify.ErrCorrupt, "it starts at -3"},
		{"a starts=s counts=c", []int64{0, 3, 6}, []int64{3, 3, 5}, 2, shardify.ErrCorrupt, "starts at 6 with 5"},
		{"a starts=s counts=c", []int64{0, 7, 3}, []int64{3, 3, 4}, 1, shardify.ErrUnsupported, "list 1 starts at 7, and the lists before it end at 3"},
		{"a starts=s counts=c", []int64{0, 2, 6}, []int64{3, 4, 4}, 1, shardify.ErrUnsupported, "starts at 2"},
		{"a starts=s ends=e", []int64{0, 3, 6}, []int64{3, 2, 10}, 1, shardify.ErrCorrupt, "it has -1 values"},
		{"a starts=s ends=e", []int64{0, 3, 6}, []int64{3, 6, 9}, -1, shardify.ErrCorrupt, "end at 9, of 10"},
		{"a ends=e", nil, []int64{3, 2, 10}, 1, shardify.ErrCorrupt, "it has -1 values"},
		{"a ends=e", nil, []int64{3, 12, 10}, 1, shardify.ErrCorrupt, "it ends at 12"},
		{"a offsets=o", nil, []int64{1, 3, 5, 10}, 0, shardify.ErrCorrupt, "it starts at 1"},
		{"a offsets=o", nil, []int64{0, 3, 5, 9}, -1, shardify.ErrCorrupt, "end at 9"},
	} {
		x := index(t, c.way, 3, 10)
		read := of(map[string][]int64{"s": c.s, "c": c.n, "e": c.n, "o": c.n})
		for _, block := range []int64{1, 2, blockRows} {
			x.block = block
			err := x.Check(t.Context(), read)
			var at *shardify.Error
			if !errors.Is(err, c.refused) || !errors.As(err, &at) || at.Sample != c.row || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v %v: %v", c.way, c.s, c.n, err)
			}
		}
	}
}

// FuzzParse: any text is rules or an error, and rules say what they are.
func FuzzParse(f *testing.F) {
	for _, s := range append(ways, "off", "a, b/c counts=n c; x offsets=/o", "a counts=b counts=c", "=;=") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Parse(text)
		for _, r := range rules {
			if err != nil || len(r.Of) == 0 || r.Name() == "" || len(r.By()) == 0 || len(r.By()) > 2 {
				t.Fatalf("%q: %+v %v", text, r, err)
			}
			r.Matches(text)
		}
	})
}

// FuzzIndex: any numbers are lists that take all values in order, or an error.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, []byte{1, 1, 1, 0}, uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, s, c []byte, stored, way uint8) {
		n := min(len(s), len(c))
		if n == 0 {
			return
		}
		numbers := func(p []byte) (out []int64) {
			for _, b := range p[:n] {
				v := int64(int8(b))
				if v == math.MinInt8 {
					v = math.MinInt64
				} else if v == math.MaxInt8 {
					v = math.MaxInt64
				}
				out = append(out, v)
			}
			return out
		}
		w := ways[int(way)%len(ways)]
		lists := n
		if w == "a offsets=o" {
			lists--
		}
		x := index(t, w, lists, int64(stored))
		x.block = 1 + int64(stored)%3
		read := of(map[string][]int64{"s": numbers(s), "c": numbers(c), "e": numbers(c), "o": numbers(c)})
		if x.Check(t.Context(), read) != nil {
			return
		}
		dst := make([]int64, lists+1)
		if err := x.At(t.Context(), read, dst, 0); err != nil {
			t.Fatal(err)
		}
		if x.Rows == 0 && stored == 0 {
			return
		}
		if dst[0] != 0 || dst[lists] != int64(stored) || !slices.IsSorted(dst) {
			t.Fatalf("%v of %d", dst, stored)
		}
	})
}
