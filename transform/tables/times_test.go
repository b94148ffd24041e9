package tables

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// timed is a column of times in a unit.
func timed(name, unit, zone string, v ...int64) shardify.Column {
	c := ints(name, v...)
	c.Attrs = map[string]string{"time": unit}
	if zone != "" {
		c.Attrs["timezone"] = zone
	}
	return c
}

// TestTimesJoinTexts: texts that are times join times, exactly, in either direction, and what could
// be two moments is refused with the word that decides.
func TestTimesJoinTexts(t *testing.T) {
	const day = int64(1704067200) // 2024-01-01
	iso := []string{"2024-01-01", "2024-01-01T00:00:01", "2024-01-01 00:01", "2024-01-01T00:00:02Z", "2024-01-01T00:00:03+00:00", "2024-01-01T00:00:04.500"}
	ms := []int64{day * 1000, day*1000 + 1000, day*1000 + 60000, day*1000 + 2000, day*1000 + 3000, day*1000 + 4500}
	zoned := []string{"2024-01-01T02:00:00+02:00", "2023-12-31T19:00:01-0500", "2024-01-01T00:01Z"}
	for name, c := range map[string]struct {
		sample, table shardify.Column
		spec          string
		wrong         string
		want          []int64 // rows of the table, from 1
	}{
		"texts in the table":        {timed("k", "ms", "", ms...), words("k", iso...), "", "", []int64{1, 2, 3, 4, 5, 6}},
		"texts in the samples":      {words("k", iso...), timed("k", "ms", "", ms...), "", "", []int64{1, 2, 3, 4, 5, 6}},
		"ns":                        {timed("k", "ns", "", day*1e9+1e9, day*1e9), words("k", iso...), "", "", []int64{2, 1}},
		"a unit too coarse":         {timed("k", "s", "", day), words("k", iso...), "", "row 5, k: \"2024-01-01T00:00:04.500\" has no count in the unit of the other times, which is 1s", nil},
		"days":                      {timed("k", "D", "", day/86400), words("k", "2024-01-01"), "", "", []int64{1}},
		"two units":                 {timed("k", "ns", "", day*1e9, day*1e9+5e8), timed("k", "ms", "", day*1000+500, day*1000), "", "", []int64{2, 1}},
		"two units, finer table":    {timed("k", "s", "", day), timed("k", "ms", "", day*1000+500), "", "500 ms has no count", nil},
		"zones on both sides":       {timed("k", "s", "Europe/Paris", day, day+1, day+60), words("k", zoned...), "", "", []int64{1, 2, 3}},
		"zones of texts alone":      {timed("k", "s", "", day), words("k", zoned...), "", "tz=utc", nil},
		"these as UTC":              {timed("k", "s", "", day, day+1, day+60), words("k", zoned...), " tz=utc", "", []int64{1, 2, 3}},
		"zones of times alone":      {timed("k", "s", "Europe/Paris", day), words("k", iso[:2]...), "", "tz=utc", nil},
		"those as UTC":              {timed("k", "s", "Europe/Paris", day, day+1), words("k", iso[:2]...), " tz=utc", "", []int64{1, 2}},
		"UTC and no zone":           {timed("k", "s", "UTC", day, day+1), words("k", iso[:2]...), "", "", []int64{1, 2}},
		"no time":                   {timed("k", "s", "", day), words("k", "2024-01-01", "yesterday"), "", "row 1, k: \"yesterday\" is not a time", nil},
		"no day":                    {timed("k", "s", "", day), words("k", "2024-02-30"), "", "is not a time", nil},
		"no time in the samples":    {words("k", "x"), timed("k", "s", "", day), "", "\"x\" is not a time", nil},
		"one moment in two texts":   {timed("k", "s", "", day), words("k", "2024-01-01", "2024-01-01T00:00Z"), "", "rows 0 and 1", nil},
		"a span is not a time":      {spanned("k", day), words("k", iso[0]), "", "k is text in the table and numbers in the samples", nil},
		"beyond the count":          {timed("k", "ns", "", 0), words("k", "9999-01-01"), "", "has no count", nil},
		"texts join texts as texts": {words("k", "2024-01-01T00:00Z", "2024-01-01"), words("k", "2024-01-01", "2024-01-01T00:00Z"), "", "", []int64{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			rows := len(c.table.Data) / 8
			if c.table.Levels > 0 {
				rows = len(c.table.Offsets[0]) - 1
			}
			var v []int64
			for i := range rows {
				v = append(v, int64(i)+1)
			}
			table, err := key.NewTable([]shardify.Column{c.table}, []shardify.Column{ints("v", v...)}, rows)
			if err != nil {
				t.Fatal(err)
			}
			mem := transformtest.Arena(t)
			b := &shardify.Batch{Samples: len(c.sample.Data) / 8, Columns: []shardify.Column{aligned(c.sample, mem)}}
			if c.sample.Levels > 0 {
				b.Samples = len(c.sample.Offsets[0]) - 1
			}
			text := "t=table on=k take=v" + c.spec
			spec, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := Parse(spec.Text()); err != nil || again.UTC != spec.UTC {
				t.Errorf("%s: %v", spec.Text(), err)
			}
			j := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, text))
			_, err = j.Schema([]shardify.Field{c.sample.Field})
			var out *shardify.Batch
			if err == nil {
				out, err = j.Apply(b, 0, mem)
			}
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%v, want %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := shardify.View[int64](out.Columns[1].Data); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func spanned(name string, v ...int64) shardify.Column {
	c := timed(name, "s", "", v...)
	c.Attrs["delta"] = "true"
	return c
}

// TestTimesAndANumberJoinTexts: a key of several columns, of which one is times.
func TestTimesAndANumberJoinTexts(t *testing.T) {
	by := []shardify.Column{words("time", "2024-01-01", "2024-01-02", "2024-01-01"), ints("station", 1, 1, 2)}
	table, err := key.NewTable(by, []shardify.Column{ints("v", 10, 20, 30)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	mem := transformtest.Arena(t)
	in := []shardify.Column{timed("time", "D", "", 19723, 19724, 19723), ints("station", 2, 1, 1)}
	j := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "t=table on=time,station take=v"))
	if _, err := j.Schema([]shardify.Field{in[0].Field, in[1].Field}); err != nil {
		t.Fatal(err)
	}
	out, err := j.Apply(&shardify.Batch{Samples: 3, Columns: []shardify.Column{aligned(in[0], mem), aligned(in[1], mem)}}, 0, mem)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(shardify.View[int64](out.Columns[2].Data)); got != "[30 20 10]" {
		t.Error(got)
	}
}
