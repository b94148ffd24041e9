package gpuload

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
)

// TestBatchesByABudget: the samples of all formats and tiers come as the plan of the epoch says, in
// each world, from any place on.
func TestBatchesByABudget(t *testing.T) {
	for format, schema := range everyKind {
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 157, shard: 50})
		want := contents(t, format, dir)
		d := mustOpen(t, dir)
		field := ""
		for i := range want.Columns {
			if f := &want.Columns[i].Field; f.Levels == 1 && field == "" {
				field = f.Name
			}
		}
		var lengths []int64
		for i := range want.Columns {
			if c := &want.Columns[i]; c.Name == field {
				for k := range want.Samples {
					lengths = append(lengths, c.Offsets[0][k+1]-c.Offsets[0][k])
				}
			}
		}
		most := slices.Max(lengths) * 3
		t.Run(format, func(t *testing.T) {
			eachWay(t, func(t *testing.T, c Config) {
				c.Budget, c.Workers, c.Last, c.BudgetWindow = []Limit{{field, most}}, 3, Short, 40
				l := mustLoader(t, d, c)
				var whole [][]int64
				for epoch := range 2 {
					whole = epochIDs(t, l, want)
					if len(whole) != int(l.Order().Packs().Batches(epoch)) {
						t.Fatalf("%d batches, Steps says %d", len(whole), int(l.Order().Packs().Batches(epoch)))
					}
					all := slices.Concat(whole...)
					slices.Sort(all)
					for i, id := range all {
						if id != int64(i) || len(all) != 157 {
							t.Fatalf("%d samples of 157; number %d is sample %d", len(all), i, id)
						}
					}
					for _, ids := range whole {
						total := int64(0)
						for _, id := range ids {
							total += lengths[id]
						}
						if total > most || len(ids) == 0 {
							t.Fatalf("a batch of %d samples has %d, the budget is %d", len(ids), total, most)
						}
					}
				}
				c.World = 3
				for c.Rank = range 3 { // each goes on behind five batches
					r := mustLoader(t, d, c)
					s := r.State()
					s.Epoch, s.Position = 1, 5
					if err := r.Restore(s); err != nil {
						t.Fatal(err)
					}
					for at := 5 + c.Rank; ; at += 3 {
						b, err := r.Next(bg)
						if err == io.EOF {
							if at < len(whole) {
								t.Fatalf("rank %d ends before batch %d of %d", c.Rank, at, len(whole))
							}
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						if at < len(whole) && !slices.Equal(b.IDs(), whole[at]) || at >= len(whole) && b.Rows() > 0 {
							t.Fatalf("rank %d: batch %d is %v", c.Rank, at, b.IDs())
						}
						b.Release()
					}
				}
			})
		})
	}
}

// TestBudgetsOfSums: a limit of a sum of products counts what its fields do together.
func TestBudgetsOfSums(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "h:i16*,g:f32*", samples: 300, shard: 70})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	n := func(name string, i int64) int64 {
		c := &want.Columns[slices.IndexFunc(want.Columns, func(c shardify.Column) bool { return c.Name == name })]
		return c.Offsets[0][i+1] - c.Offsets[0][i]
	}
	for text, cost := range map[string]func(i int64) int64{
		"h + 2*g":       func(i int64) int64 { return n("h", i) + 2*n("g", i) },
		"h*h+g*3*h + 1": func(i int64) int64 { return n("h", i)*n("h", i) + 3*n("h", i)*n("g", i) + 1 },
		"len(h)+len(g)": func(i int64) int64 { return n("h", i) + n("g", i) },
		"len(h)":        func(i int64) int64 { return n("h", i) },
	} {
		var most int64
		for i := range int64(300) {
			most = max(most, 3*cost(i))
		}
		l := mustLoader(t, d, Config{Budget: []Limit{{text, most}}, Shuffle: Global, Seed: 1, Last: Short})
		var last, total int64 // of the batch before
		for k, ids := range epochIDs(t, l, want) {
			if k > 0 && last+cost(ids[0]) <= most {
				t.Errorf("%s: batch %d has room for the first sample of the next one", text, k-1)
			}
			last = 0
			for _, id := range ids {
				last += cost(id)
			}
			if total += int64(len(ids)); last > most {
				t.Errorf("%s: batch %d has %d, the budget is %d", text, k, last, most)
			}
		}
		if total != 300 {
			t.Errorf("%s: %d samples", text, total)
		}
	}
}

func TestWrongBudgets(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:i16*,n:i64", samples: 60, shard: 25})
	d := mustOpen(t, dir)
	for _, c := range []struct {
		Config
		want string
	}{
		{Config{Budget: []Limit{{"y", 5}}}, "no field"},
		{Config{Budget: []Limit{{"x", 5}}}, "neither a list"},
		{Config{Budget: []Limit{{"h + x", 5}}}, "field x is neither a list"},
		{Config{Budget: []Limit{{"h + y*2", 5}}}, `no field "y"`},
		{Config{Budget: []Limit{{"h - h", 5}}}, `no field "h - h"`},
		{Config{Budget: []Limit{{"len(n)", 5}}}, `no field "len(n)"`},
		{Config{Budget: []Limit{{"7", 5}}}, `no field "7"`},
		{Config{Budget: []Limit{{"", 5}}}, "no field"},
		{Config{Budget: []Limit{{"h + 9223372036854775806*h*h", 5}}}, "2^63 or more"},
		{Config{Budget: []Limit{{"h*9223372036854775807", 5}}}, "too large"},
		{Config{Budget: []Limit{{"h", -1}}}, "want 0 or more"},
		{Config{Budget: []Limit{{"h", 0}}}, `oversize="alone"`},
		{Config{Budget: []Limit{{"h", 5}}, Last: Pad}, "last=pad"},
		{Config{Budget: []Limit{{"h", 5}}, Window: "1+1"}, "window"},
		{Config{Budget: []Limit{{"h", 5}}, Oversize: "skip"}, "oversize"},
		{Config{Padded: true, Batch: 4}, "give one"},
		{Config{Budget: []Limit{{"h", 5}}, BudgetWindow: -1}, "windows"},
	} {
		l, err := d.Loader(c.Config)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.Config, err, c.want)
		}
	}
	l := mustLoader(t, d, Config{Budget: []Limit{{"h", 0}}, Oversize: order.Skip})
	r := l.Order().Packs().Report(0)
	if r.Samples+r.Dropped != 60 || r.Dropped == 0 {
		t.Errorf("%+v", r)
	}
	if want := fmt.Sprintf("%d of 60 samples are more than the budget by themselves", r.Dropped); !strings.Contains(strings.Join(l.Notes(), "\n"), want) {
		t.Errorf("no note %q in %q", want, l.Notes())
	}
}
