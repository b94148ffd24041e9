package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/race"
)

// span is a condition on a field, and what it means: lo <= x < hi.
type span struct {
	text   string
	lo, hi int64
}

// spans invents a condition on numbers of 0 to most, which text writes.
func spanOf(r *rand.Rand, name string, most int64, text func(int64) string) span {
	a, b := 5*r.Int64N(most/5), 5*r.Int64N(most/5)
	if a > b {
		a, b = b, a
	}
	least, top := int64(math.MinInt64), int64(math.MaxInt64)
	x, y := text(a), text(b)
	switch r.IntN(8) {
	case 0:
		return span{name + " < " + x, least, a}
	case 1:
		return span{x + " >= " + name, least, a + 1}
	case 2:
		return span{name + " > " + x, a + 1, top}
	case 3:
		return span{"not (" + name + " < " + x + ")", a, top}
	case 4:
		return span{name + " >= " + x, a, top}
	case 5:
		return span{x + " <= " + name + " < " + y, a, b}
	case 6:
		return span{name + " > " + x + " && " + name + " <= " + y, a + 1, b + 1}
	}
	return span{"(" + y + " > " + name + " and " + name + " >= " + x + ")", a, b}
}

// parts are the splits of a test; the spans are empty for the rest.
type parts struct {
	names []string
	spans []span
	rest  int
	gap   int64
}

const noPart = -1

func (p *parts) of(x int64) int {
	for i, s := range p.spans {
		if i != p.rest && x >= s.lo && x < s.hi {
			return i
		}
	}
	return p.rest
}

// near reports whether another split is within the gap, by looking at each number there.
func (p *parts) near(x int64) bool {
	own := p.of(x)
	for d := int64(1); d <= p.gap; d++ {
		if q := p.of(x + d); q != own && q != noPart && (q != p.rest) {
			return true
		}
		if q := p.of(x - d); own == p.rest && q != own && q != noPart {
			return true
		}
	}
	return false
}

// windowsOf are the times of the windows of n rows, every stride-th, in a split with such times.
func windowsOf(times []int64, n int, stride int64) (out [][]int64) {
	counts := map[int64]int{}
	spacing := int64(0)
	for i := 1; i < len(times); i++ {
		counts[times[i]-times[i-1]]++
	}
	for d, c := range counts {
		if best := counts[spacing]; c > best || c == best && d < spacing {
			spacing = d
		}
	}
	first := int64(-1)
	for i := 0; i+n <= len(times); i++ {
		even := true
		for k := i + 1; k < i+n; k++ {
			even = even && times[k]-times[k-1] == spacing
		}
		if first < 0 && even {
			first = times[i]
		}
		if even && (times[i]-first)%(stride*spacing) == 0 {
			out = append(out, times[i:i+n])
		}
	}
	return out
}

// TestGapsOfSplitsAreThoseOfAReference: random times with holes, borders, gaps and windows. No window
// of one split has a row of another, or one within the gap.
func TestGapsOfSplitsAreThoseOfAReference(t *testing.T) {
	race.Sequential(t)
	r := rand.New(rand.NewPCG(8, 5))
	start := time.Date(2018, 12, 30, 23, 50, 0, 0, time.UTC).Unix()
	made, dropped, windows := 0, int64(0), 0
	for n := range 200 {
		dir := t.TempDir()
		var rows []collision
		byTime := r.IntN(3) > 0
		at, s := int64(0), Settings{Format: "mmap", Sync: "none", ShardSamples: int64(5 + r.IntN(60))}
		for i := range 1 + r.IntN(3) {
			var more []collision
			for range 20 + r.IntN(80) {
				if at += 10; r.IntN(12) == 0 {
					at += 10 * r.Int64N(8)
				}
				x := collision{int64(len(rows) + len(more)), at, start + at, "a"}
				if byTime && r.IntN(40) == 0 {
					x.at = math.MinInt64
				}
				more = append(more, x)
			}
			s.Inputs = append(s.Inputs, npzOf(t, filepath.Join(dir, fmt.Sprintf("%d.npz", i)), more))
			rows = append(rows, more...)
		}
		p := parts{rest: noPart, gap: 1 + r.Int64N(90)}
		field, gap := "run", fmt.Sprint(p.gap)
		text := func(x int64) string { return fmt.Sprint(x) }
		if byTime {
			field, gap = "time", gap+"s"
			text = func(x int64) string {
				return time.Unix(start+x, 0).UTC().Format([]string{`"2006-01-02T15:04:05"`, `"2006-01-02 15:04:05Z"`}[r.IntN(2)])
			}
		}
		var items []string
		for i := range 1 + r.IntN(4) {
			x := span{}
			if p.rest == noPart && r.IntN(3) == 0 && i > 0 || i == 3 && p.rest == noPart {
				p.rest, x.text = i, "rest"
			} else {
				x = spanOf(r, field, at, text)
			}
			p.names, p.spans = append(p.names, string(rune('a'+i))), append(p.spans, x)
			items = append(items, p.names[i]+"="+x.text)
		}
		s.Split = strings.Join(slices.Insert(items, r.IntN(len(items)+1), "gap="+gap), "; ")
		size, stride := [2]int{1 + r.IntN(4), 1 + r.IntN(3)}, int64(1+r.IntN(4))
		s.Window = []string{fmt.Sprintf("time=%d+%d,stride=%d", size[0], size[1], stride)}
		want, times := map[string][]int64{}, map[string][]int64{}
		var none, within, missing int64
		for i := range rows {
			switch x := rows[i].at - start; {
			case rows[i].at == math.MinInt64 && p.rest == noPart && !slices.ContainsFunc(p.spans, func(s span) bool { return strings.HasPrefix(s.text, "not") }):
				none++
			case rows[i].at == math.MinInt64:
				missing++
			case p.of(x) == noPart:
				none++
			case p.near(x):
				within++
			default:
				name := p.names[p.of(x)]
				want[name], times[name] = append(want[name], rows[i].event), append(times[name], x)
			}
		}
		s.Output, s.Jobs = filepath.Join(dir, "one"), 1
		res, err := Convert(t.Context(), s)
		if len(want) == 0 {
			if err == nil || !strings.Contains(err.Error(), "no sample is in any split") {
				t.Fatalf("%d: --split '%s' takes no sample: %v", n, s.Split, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d: --split '%s': %v", n, s.Split, err)
		}
		made, dropped = made+1, dropped+within
		for name, list := range eventsOf(t, s.Output) {
			if !slices.Equal(list, want[name]) {
				t.Fatalf("%d: --split '%s', %s: %d, want %d", n, s.Split, name, list, want[name])
			}
			m, _ := manifestOf(t, filepath.Join(s.Output, name))
			v := m.Windows["window"]
			ref := windowsOf(times[name], size[0]+size[1], stride)
			if v.Len() != int64(len(ref)) {
				t.Fatalf("%d: --split '%s' --window %s, %s: %d windows, want %d", n, s.Split, s.Window, name, v.Len(), len(ref))
			}
			for i, anchor := range v.Rows() {
				for k, o := range slices.Concat(v.In, v.Out) {
					if got := times[name][anchor+o]; got != ref[i][k] {
						t.Fatalf("%d: --split '%s' --window %s, %s: row %d of window %d is of %d, want %d", n, s.Split, s.Window, name, k, i, got, ref[i][k])
					}
				}
			}
			windows += len(ref)
			for other, list := range times {
				for _, x := range times[name] {
					if other != name && slices.ContainsFunc(list, func(y int64) bool { return max(x-y, y-x) <= p.gap }) {
						t.Fatalf("%d: --split '%s': a sample of %s is within the gap of one of %s", n, s.Split, name, other)
					}
				}
			}
		}
		got := map[string]int64{}
		for _, c := range res.Manifest.Counts {
			for _, reason := range []string{"in no split of", "within the gap of", "without a value of time"} {
				if strings.HasPrefix(c.Name, reason) {
					got[reason] += c.N
				}
			}
		}
		if got["in no split of"] != none || got["within the gap of"] != within || got["without a value of time"] != missing {
			t.Fatalf("%d: --split '%s': %v are counted, want %d, %d and %d", n, s.Split, got, none, within, missing)
		}
		three := s
		three.Output, three.Jobs = filepath.Join(dir, "three"), 3
		if _, err := Convert(t.Context(), three); err != nil {
			t.Fatal(err)
		}
		if contents(t, s.Output) != contents(t, three.Output) {
			t.Fatalf("%d: --split '%s': three jobs make other bytes", n, s.Split)
		}
	}
	t.Logf("%d sets, %d samples within gaps, %d windows", made, dropped, windows)
	if made < 120 || dropped == 0 || windows == 0 {
		t.Errorf("%d sets, %d samples within gaps, %d windows: the test looks at too little", made, dropped, windows)
	}
}

// TestGapsThatAreRefused say what a gap is.
func TestGapsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	input := npzOf(t, filepath.Join(dir, "a.npz"), collisions(rand.New(rand.NewPCG(8, 6)), 0, 50))
	for split, want := range map[string]string{
		`val=time >= "2019-01-01"; train=rest; gap=24`:                                   "want a unit, as in gap=24h",
		`val=time >= "2019-01-01"; train=rest; gap=24 hours`:                             "hours is no unit of time",
		`val=time >= "2019-01-01"; train=rest; gap=-3h`:                                  "want a number, as 5, or a time",
		`val=time >= "2019-01-01"; train=rest; gap=0h`:                                   "want more than nothing",
		`val=time >= "2019-01-01"; train=rest; gap=1ms`:                                  "has no count in the unit",
		`val=time >= "2019-01-01"; train=rest; gap=999999999999999999w`:                  "is no time",
		`val=time >= "2019-13-01"; train=rest; gap=1h`:                                   "is no time",
		`val=time >= "2019-01-01"; test=run > 3; train=rest; gap=1h`:                     "two fields, time and run",
		`val=time >= "2019-01-01" && run > 3; train=rest; gap=1h`:                        "another field than time",
		`val=run >= 355000; train=rest; gap=1h`:                                          "want a number in its unit, as in gap=1",
		`val=run >= -9223372036854775807; train=rest; gap=9`:                             "beyond 64 bits",
		`val=event % 5 == 0; train=rest; gap=3`:                                          "compares no field",
		`val=event == 0; train=rest; gap=3`:                                              "compares no field",
		`val=fold >= "2019-01-01"; train=rest; gap=1h`:                                   "field fold is no number or time",
		`train=0.8,val=0.2; gap=24h`:                                                     "not for shares",
		`train=rest,val=10;gap=24h`:                                                      "not for shares",
		`train=0.8,val=0.2,gap=24h`:                                                      "want a share",
		`a=run < 3; b=rest; gap=2; gap=3`:                                                "gap=3",
		`a=rest; gap=2`:                                                                  "not for shares",
		"a=" + strings.Repeat("run < 3 || run >= 5 || ", 400) + "run < 8; b=rest; gap=2": "constants, at most 256",
	} {
		_, err := Convert(t.Context(), Settings{Inputs: []string{input}, Output: filepath.Join(dir, "out"), Sync: "none", Split: split})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--split '%.80s': %v, want %q", split, err, want)
		}
	}
}
