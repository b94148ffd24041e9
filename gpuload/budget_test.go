package gpuload

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

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

func TestWrongBudgets(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:i16*,n:i64", samples: 60, shard: 25})
	d := mustOpen(t, dir)
	for _, c := range []struct {
		Config
		want string
	}{
		{Config{Budget: []Limit{{"y", 5}}}, "no field"},
		{Config{Budget: []Limit{{"x", 5}}}, "neither a list"},
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
