package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

// TestEverySampleIsCounted: samples of the inputs are in the output, or counted with the reason.
func TestEverySampleIsCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.csv")
	text := "x,y\n"
	for i := range 200 {
		text += fmt.Sprintf("%d,%d\n", i, i%7)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	table := func(s *Settings) { s.From, s.Inputs, s.Options = "", []string{file}, nil }
	for name, c := range map[string]struct {
		change func(*Settings)
		plan   string // what the plan knows
		done   string
	}{
		"limit":          {func(s *Settings) { s.Limit = 60 }, "outside of limit 60: dropped 140", "outside of limit 60: dropped 140"},
		"limit of all":   {func(s *Settings) { s.Limit = 200 }, "", ""},
		"range":          {func(s *Settings) { s.Range = Range{Lo: 10, Hi: 50} }, "outside of range 10:50: dropped 160", "outside of range 10:50: dropped 160"},
		"range to end":   {func(s *Settings) { s.Range = Range{Lo: 10} }, "outside of range 10:: dropped 10", "outside of range 10:: dropped 10"},
		"range, limit":   {func(s *Settings) { s.Range, s.Limit = Range{Lo: 10}, 5 }, "outside of range 10:, limit 5: dropped 195", "outside of range 10:, limit 5: dropped 195"},
		"split":          {func(s *Settings) { s.Split = "train=50,val=20" }, "in no split of train=50,val=20: dropped 130", "in no split of train=50,val=20: dropped 130"},
		"split and rest": {func(s *Settings) { s.Split = "train=50,val=rest" }, "", ""},
		"all of them": {func(s *Settings) { s.Limit, s.Where, s.Split = 100, []string{"y < 40"}, "a=5,b=5" },
			"outside of limit 100: dropped 100; in no split of a=5,b=5: dropped *", "in no split of a=5,b=5: dropped *; outside of limit 100: dropped 100; where y < 40: dropped *"},
		"where":      {func(s *Settings) { s.Where = []string{"y < 40"} }, "", "where y < 40: dropped *"},
		"fraction":   {func(s *Settings) { table(s); s.Fraction = []string{"*=0.5"} }, "", "fraction *=0.5: dropped *"},
		"duplicates": {func(s *Settings) { table(s); s.DropDuplicates = []string{"y"} }, "", "drop-duplicates y: dropped 193"},
		"nan":        {func(s *Settings) { s.Define, s.NaN = []string{"z=log(y-30)"}, []string{"z=drop"} }, "", "nan z: in dropped samples *; nan z=drop: dropped *"},
	} {
		s := synth(filepath.Join(t.TempDir(), "out"), c.change)
		var planned string
		r, err := Convert(WithHooks(t.Context(), Hooks{Planned: func(p *Prepared) { planned = countText(p.Facts().Dropped) }}), s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := r.Manifest
		if got := countText(m.Counts); !matches(got, c.done) {
			t.Errorf("%s: counts %q, want %q", name, got, c.done)
		}
		if !matches(planned, c.plan) {
			t.Errorf("%s: plan has %q, want %q", name, planned, c.plan)
		}
		sum := int64(0)
		for _, x := range plan.Reasons(m.Counts) {
			sum += x.N
		}
		if sum != m.Dropped || m.Samples+m.Dropped != 200 {
			t.Errorf("%s: %d samples, %d dropped, %d with a reason", name, m.Samples, m.Dropped, sum)
		}
	}
}

func countText(list []shardify.Count) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s %d", c.Name, c.N))
	}
	return strings.Join(out, "; ")
}

// matches compares with a text whose * are any numbers.
func matches(got, want string) bool {
	g, w := strings.Fields(got), strings.Fields(want)
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		if g[i] != w[i] && !strings.HasPrefix(w[i], "*") {
			return false
		}
	}
	return true
}

// TestSplitOfPercentIsAsked: numbers that add up to 100 may be percent. Each way of the error
// works when it is given.
func TestSplitOfPercentIsAsked(t *testing.T) {
	for text, want := range map[string][]string{
		"train=90,val=10":       {"train=0.9,val=0.1", "train=180,val=20", "train=90,val=10,unused=rest"},
		"train=99,val=1":        {"train=0.99,val=0.01", "train=198,val=2", "train=99,val=1,unused=rest"},
		"a=33,b=33,unused=34":   {"a=0.33,b=0.33,unused=0.34", "a=66,b=66,unused=68", "a=33,b=33,unused=34,unused-rest=rest"},
		"train=120,val=80":      nil,
		"train=90,val=9":        nil,
		"train=100":             nil,
		"train=90,val=10,c=100": nil,
		"train=1,val=rest":      nil,
	} {
		_, err := Convert(t.Context(), synth(filepath.Join(t.TempDir(), "out"), func(s *Settings) { s.Split = text }))
		var d *format.Ambiguous
		if errors.As(err, &d) != (want != nil) || d == nil && want != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, w := range want {
			if got := d.Ways[i].Options["split"]; got != w || !strings.Contains(err.Error(), "--split "+w+" makes ") {
				t.Errorf("%s: way %d is %s, want %s: %v", text, i, got, w, err)
			}
			r, err := Convert(t.Context(), synth(filepath.Join(t.TempDir(), "out"), func(s *Settings) { s.Split = w }))
			if err != nil || r.Manifest.Samples != 200 || r.Manifest.Dropped != 0 {
				t.Errorf("%s: %s: %v", text, w, err)
			}
		}
	}
	// Of exactly 100 samples all are used.
	r, err := Convert(t.Context(), synth(filepath.Join(t.TempDir(), "out"), func(s *Settings) { s.Split, s.Where, s.Limit = "train=90,val=10", nil, 100 }))
	if err != nil || r.Manifest.Samples != 100 {
		t.Errorf("100 samples: %v", err)
	}
}
