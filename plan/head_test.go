package plan

import (
	"encoding/binary"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan/splits"
)

// full has a value in every field.
func full() *Plan {
	return &Plan{
		Version: 3,
		In:      Inputs{Format: "hdf5", Columns: []string{"a", "<b>"}, Options: format.Options{"axis": "0"}, LeftOut: []format.Leftover{{Name: "x", Reason: "no samples"}}, Skipped: []index.Skip{{Lo: 1, Hi: 2}}, Unread: []shardify.Count{Dropped("outside of limit 3", 4)}, Listed: &index.Inputs{Format: "hdf5", Count: 2, Bytes: 3, Digest: "x"}, First: "first", Table: &format.Table{Roots: []string{"/in"}}, State: []byte("state")},
		Out:     Output{Format: "wds", Ext: ".tar", Options: format.Options{"level": "3"}}, Recipe: map[string]string{"where": "a<1&&b>2"}, OnError: OnErrorSkip,
		Sample: Sample{Schema: someFields, Keyed: true, Coords: map[string]format.Coord{"lat": {DType: format.CoordF64, Floats: []float64{1.5, -2}}}, Source: someFields, Documents: someFields, Copies: 2},
		Asked: Asked{Static: &Static{Static: index.Static{Schema: someFields}, File: shardify.File{Name: "static", Bytes: 7}}, Grouping: &Grouping{Name: "n", Keys: []string{"k"},
			Order: OrderAuto, From: &From{Table: "t", Digest: "d", Columns: []string{"c"}}}, Windowing: &Windowing{"4"}, Provenance: true},
		Pack: Packing{Samples: 11, DecodedBytes: 12, OutputBytes: 13}, Seed: 1<<63 + 1,
		Steps:  Steps{Ops: []Op{{"where", "a<1"}}, Helpers: []string{"h"}, Findings: []Finding{{1, "mean", "3" + shardify.SurveyDetail + "more\x01\u2028"}}},
		Splits: Splits{Rule: &splits.Rule{Parts: []splits.Part{{Name: "train", Share: 0.1}, {Name: "val", Rest: true}}}, Cuts: []splits.Cuts{{Class: "c", Below: []uint64{1, splits.Unbounded}, Order: []int{0, 1}}}, Unsplit: 5},
		Order:  Order{Shuffle: ShuffleGlobal, Gathers: 3, Buckets: 4, PerShard: 5}, Base: "base",
		Local: Local{LeftOut: []format.Leftover{{Name: "y", Reason: "other"}}, Tables: []string{"/t.csv"}, Scratch: "/scratch", MaxSample: 9},
	}
}

// TestTheHeadKeepsItsBytes compares with what version 3 has always written, and reads it back.
func TestTheHeadKeepsItsBytes(t *testing.T) {
	want, err := os.ReadFile("testdata/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(want), "\n")
	p := &Plan{In: Inputs{Table: &format.Table{}}}
	content, sched := append(binary.AppendUvarint(nil, uint64(len(lines[0]))), lines[0]...), append(binary.AppendUvarint(nil, uint64(len(lines[1]))), lines[1]...)
	if err := parseHead(p, &varint.Reader{B: append(content, 0, 1)}, &varint.Reader{B: sched}); err != nil {
		t.Fatal(err)
	}
	for what, p := range map[string]*Plan{"made": full(), "read": p} {
		head, err := marshalHead(p)
		if err != nil {
			t.Fatal(err)
		}
		where, err := placesOf(p)
		if got := string(head) + "\n" + string(where) + "\n"; err != nil || got != string(want) {
			t.Errorf("%s: %v\n%swant\n%s", what, err, got, want)
		}
	}
	groups := reflect.ValueOf(headOf(full())).Elem()
	for i := range groups.NumField() {
		g := groups.Field(i).Elem()
		for k := range g.NumField() {
			if f := g.Type().Field(k); f.Tag.Get("json") != "-" && f.IsExported() && g.Field(k).IsZero() {
				t.Errorf("the test has no %s.%s", g.Type().Name(), f.Name)
			}
		}
	}
}
