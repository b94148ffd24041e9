package pipeline

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify"
)

// collision is a row of the tables of these tests. event is unique.
type collision struct {
	event, run, at int64 // at: seconds since 1970
	fold           string
}

var folds = []string{"train", "val", "test"}

// collisions invents rows: a run has several, and its time.
func collisions(r *rand.Rand, from, n int) (rows []collision) {
	start := time.Date(2018, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	for i := range n {
		run := int64(i / (1 + n/9))
		rows = append(rows, collision{int64(from + i), 354996 + run, start + run*43200, folds[r.IntN(3)]})
	}
	return rows
}

// npzOf writes rows as an .npz file, with times of type datetime64[s].
func npzOf(t *testing.T, path string, rows []collision) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, c := range []struct {
		name, descr string
		of          func(r *collision) any
	}{
		{"event", "<i8", func(r *collision) any { return r.event }}, {"run", "<i8", func(r *collision) any { return r.run }}, {"time", "<M8[s]", func(r *collision) any { return r.at }},
		{"fold", "<U7", func(r *collision) any {
			var text [7]uint32
			for i, c := range r.fold {
				text[i] = uint32(c)
			}
			return text
		}},
	} {
		head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", c.descr, len(rows))
		head += strings.Repeat(" ", 117-len(head)) + "\n"
		data := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
		data = append(data, head...)
		for i := range rows {
			data, _ = binary.Append(data, binary.LittleEndian, c.of(&rows[i]))
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: c.name + ".npy"})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventsOf are the events of each split of a set, in its order.
func eventsOf(t *testing.T, dir string) map[string][]int64 {
	t.Helper()
	m, _ := manifestOf(t, dir)
	out := map[string][]int64{}
	in, _ := readers.Lookup("mmap")
	for name, split := range m.Splits {
		out[name] = []int64{}
		if split.Samples == 0 {
			continue
		}
		o, err := readers.Open(t.Context(), in, readers.Request{Inputs: []string{filepath.Join(dir, name)}, Columns: []string{"event"}})
		if err != nil {
			t.Fatal(err)
		}
		err = key.ReadEach(t.Context(), o.Source, 1<<20, shardify.NewPool(1<<30), func(b *shardify.Batch) error {
			out[name] = append(out[name], shardify.View[int64](b.Columns[0].Data)...)
			return nil
		})
		o.Source.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// rule is a condition and what it means.
type rule struct {
	text string
	of   func(r *collision) bool
}

var rules = []rule{
	{"event % 5 == 0", func(r *collision) bool { return r.event%5 == 0 }},
	{"run >= 355000", func(r *collision) bool { return r.run >= 355000 }},
	{`time < "2019-01-01"`, func(r *collision) bool { return r.at < time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC).Unix() }},
	{`"2019-01-01T12:00Z" <= time && run != 355002`, func(r *collision) bool {
		return r.at >= time.Date(2019, 1, 1, 12, 0, 0, 0, time.UTC).Unix() && r.run != 355002
	}},
	{`fold == "val; a=1" || fold == "val"`, func(r *collision) bool { return r.fold == "val" }},
	{"event % 7 in [1, 2] or event<20", func(r *collision) bool { return r.event%7 == 1 || r.event%7 == 2 || r.event < 20 }},
	{"z > 6", func(r *collision) bool { return r.event%10 > 6 }}, // of --define
	{"k == 3", func(r *collision) bool { return true }},          // of --set
}

// TestSplitsByValueAreThoseOfAReference: 300 random settings, with one job and with three.
func TestSplitsByValueAreThoseOfAReference(t *testing.T) {
	race.Sequential(t)
	r := rand.New(rand.NewPCG(8, 1))
	for n := range 300 {
		dir := t.TempDir()
		var rows []collision
		s := Settings{Format: "mmap", Sync: "none", Set: []string{"k=3"}, Define: []string{"z:i64=event % 10"}}
		for i := range 1 + r.IntN(3) {
			more := collisions(r, len(rows), 20+r.IntN(60))
			s.Inputs = append(s.Inputs, npzOf(t, filepath.Join(dir, fmt.Sprintf("%d.npz", i)), more))
			rows = append(rows, more...)
		}
		names, conds, rest := []string{"a", "b", "c", "d"}[:1+r.IntN(4)], map[string]rule{}, ""
		column := r.IntN(4) == 0
		if column {
			s.SplitFrom = "column=fold"
		} else {
			var text []string
			for _, x := range names {
				if rest == "" && r.IntN(3) == 0 && len(names) > 1 {
					rest = x
					text = append(text, x+"=rest")
					continue
				}
				conds[x] = rules[r.IntN(len(rules))]
				text = append(text, x+" = "+conds[x].text)
			}
			s.Split = strings.Join(text, ";")
		}
		if r.IntN(3) == 0 {
			s.Where = []string{"event % 3 != 1"}
			rows = slices.DeleteFunc(rows, func(x collision) bool { return x.event%3 == 1 })
		}
		if r.IntN(3) == 0 {
			s.Columns = []string{"event"}
		}
		s.Shuffle = []string{"none", "block", "global"}[r.IntN(3)]
		s.ShardSamples = int64(1 + r.IntN(50))
		want := map[string][]int64{}
		for i := range rows {
			x := rows[i].fold
			if !column {
				x = rest
				for _, name := range names {
					if c, ok := conds[name]; ok && c.of(&rows[i]) {
						x = name
						break
					}
				}
			}
			want[x] = append(want[x], rows[i].event)
		}
		dropped := int64(len(want[""]))
		delete(want, "")
		one := s
		one.Output, one.Jobs, one.Memory = filepath.Join(dir, "one"), 1, 16<<20
		res, err := Convert(t.Context(), one)
		if len(want) == 0 {
			if err == nil || !strings.Contains(err.Error(), "no sample is in any split") {
				t.Fatalf("%d: --split '%s' takes no sample: %v", n, s.Split, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d: --split '%s': %v", n, s.Split, err)
		}
		got := eventsOf(t, one.Output)
		for name, list := range got {
			if s.Shuffle != "none" {
				slices.Sort(list)
			}
			if !slices.Equal(list, want[name]) {
				t.Fatalf("%d: --split '%s' %s, %s: %d, want %d", n, s.Split, s.SplitFrom, name, list, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Fatalf("%d: --split '%s' %s: no splits %v", n, s.Split, s.SplitFrom, slices.Collect(maps.Keys(want)))
		}
		counted := int64(0)
		for _, c := range res.Manifest.Counts {
			if strings.HasPrefix(c.Name, "in no split of") {
				counted = c.N
			}
		}
		if counted != dropped {
			t.Fatalf("%d: --split '%s': %d in no split are counted, want %d", n, s.Split, counted, dropped)
		}
		three := s
		three.Output, three.Jobs = filepath.Join(dir, "three"), 3
		if _, err := Convert(t.Context(), three); err != nil {
			t.Fatal(err)
		}
		if contents(t, one.Output) != contents(t, three.Output) {
			t.Fatalf("%d: --split '%s' %s: three jobs make other bytes", n, s.Split, s.SplitFrom)
		}
	}
}

// TestSplitsByValueDoNotDependOnWhoMakesThem: jobs, memory, tasks, runs that are stopped, and they are equal to their inputs.
func TestSplitsByValueDoNotDependOnWhoMakesThem(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	dir := t.TempDir()
	var inputs []string
	for i := range 4 {
		inputs = append(inputs, npzOf(t, filepath.Join(dir, fmt.Sprintf("%d.npz", i)), collisions(r, i*300, 300)))
	}
	for name, change := range map[string]func(*Settings){
		"conditions": func(s *Settings) { s.Split = "val=event % 5 == 0; test=run >= 355000; train=rest" },
		"time": func(s *Settings) {
			s.Split, s.Columns = `train=time < "2019-01-01"; val=time >= "2019-01-02"`, []string{"event"}
		},
		"gap":     func(s *Settings) { s.Split = `val=time >= "2019-01-01"; train=rest; gap=12h` },
		"column":  func(s *Settings) { s.SplitFrom = "column=fold" },
		"groups":  func(s *Settings) { s.Split, s.GroupBy = "val=run % 2 == 0; train=rest", "run" },
		"shuffle": func(s *Settings) { s.Split, s.Shuffle = "val=event % 5 == 0; train=rest", "global" },
		"survey":  func(s *Settings) { s.Split, s.Augment = "val=event % 5 == 0; train=rest", []string{"normalise=run"} },
		"rows":    func(s *Settings) { s.Split, s.GroupRows = "val=len(event) > 33; train=run % 3 == 0", "run" },
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "conditions" && name != "column" {
				t.Skip("long")
			}
			settings := func(out string) Settings {
				s := Settings{Inputs: inputs, Output: filepath.Join(t.TempDir(), out), Format: "mmap", ShardSamples: 70, Jobs: 2, Memory: 256 << 20, Sync: "none"}
				if change(&s); s.GroupRows != "" {
					s.ShardSamples = 3
				}
				return s
			}
			one := settings("one")
			if _, err := Convert(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if v, err := Verify(t.Context(), []string{one.Output}, verify.Options{Against: true, Seed: 1}, Hooks{}); err != nil || v.Err() != nil || v.Uncompared != "" {
				t.Errorf("compared with its inputs: %v %+v", err, v)
			}
			alike(t, contents(t, one.Output), contents, settings)
		})
	}
}

// TestSplitsByLabel: codes with names, as --encode makes them.
func TestSplitsByLabel(t *testing.T) {
	dir := t.TempDir()
	rows := collisions(rand.New(rand.NewPCG(8, 3)), 0, 90)
	in := npzOf(t, filepath.Join(dir, "in.npz"), rows)
	coded := Settings{Inputs: []string{in}, Output: filepath.Join(dir, "coded"), Encode: []string{"fold"}, Sync: "none"}
	if _, err := Convert(t.Context(), coded); err != nil {
		t.Fatal(err)
	}
	s := Settings{Inputs: []string{coded.Output}, Output: filepath.Join(dir, "out"), SplitFrom: "column=fold", Format: "mmap", Sync: "none"}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	got := eventsOf(t, s.Output)
	for _, x := range rows {
		if !slices.Contains(got[x.fold], x.event) {
			t.Fatalf("event %d is not in %s", x.event, x.fold)
		}
	}
}

// TestExtendedSplitsByValue: further samples go where the first ones went; inputs may lack a split, but have no other one.
func TestExtendedSplitsByValue(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 4))
	for _, column := range []bool{false, true} {
		dir := t.TempDir()
		first, second := collisions(r, 0, 90), collisions(r, 1000, 40)
		for i := range second {
			second[i].fold, second[i].event = "train", second[i].event*5+1
		}
		a, b := npzOf(t, filepath.Join(dir, "a.npz"), first), npzOf(t, filepath.Join(dir, "b.npz"), second)
		s := Settings{Inputs: []string{a}, Output: filepath.Join(dir, "set"), Format: "mmap", Split: "val=event % 5 == 0; test=event % 5 == 2; train=rest", ShardSamples: 30, Sync: "none"}
		if column {
			s.Split, s.SplitFrom = "", "column=fold"
		}
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		before := eventsOf(t, s.Output)
		if _, err := Extend(t.Context(), s.Output, Settings{Inputs: []string{b}, Sync: "none"}, false); err != nil {
			t.Fatal(err)
		}
		after := eventsOf(t, s.Output)
		for _, x := range second {
			before["train"] = append(before["train"], x.event)
		}
		for name := range before {
			if !slices.Equal(before[name], after[name]) {
				t.Errorf("column %v, %s: %d, want %d", column, name, after[name], before[name])
			}
		}
		if v, err := Verify(t.Context(), []string{s.Output}, verify.Options{}, Hooks{}); err != nil || v.Err() != nil {
			t.Error(err, v)
		}
		second[3].fold, second[4].event = "holdout", 12345
		c := npzOf(t, filepath.Join(dir, "c.npz"), second)
		if _, err := Extend(t.Context(), s.Output, Settings{Inputs: []string{c}, Sync: "none"}, false); column && (err == nil || !strings.Contains(err.Error(), "the set has no split holdout")) {
			t.Errorf("a new split: %v", err)
		}
	}
	dir := t.TempDir()
	s := Settings{Inputs: []string{npzOf(t, filepath.Join(dir, "a.npz"), collisions(r, 0, 90))}, Output: filepath.Join(dir, "set"), Split: "val=run == 355000; train=rest", GroupBy: "run", Sync: "none"}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := Extend(t.Context(), s.Output, Settings{Inputs: []string{npzOf(t, filepath.Join(dir, "b.npz"), collisions(r, 90, 9))}}, false); err == nil || !strings.Contains(err.Error(), "may be in other splits") {
		t.Errorf("groups of an extension: %v", err)
	}
}

// TestNoWindowCrossesASplitByTime: windows are of the rows of one split.
func TestNoWindowCrossesASplitByTime(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "set")
	hours(t, in, "a.csv", sixHourly(40))
	s := Settings{Inputs: []string{filepath.Join(in, "a.csv")}, Output: out, Format: "mmap", ShardSamples: 7, Window: []string{"time=2+1"}, Split: "train=time < 90; val=time >= 114", Sync: "none", Jobs: 2}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for split, rows := range map[string]int64{"train": 15, "val": 21} {
		m, _ := manifestOf(t, filepath.Join(out, split))
		if got := anchors(m.Windows["window"]); m.Samples != rows || len(got) != int(rows)-2 || got[0] != 1 || got[len(got)-1] != rows-2 {
			t.Errorf("%s: %d rows, windows at %v", split, m.Samples, got)
		}
	}
	s.Output, s.Format = out+"-2", "wds"
	_, err := Convert(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "only --split-from by input gives the split of a row before it is read") || !strings.Contains(strings.Join(shardify.Hints(err), ""), "in two steps") {
		t.Errorf("copied windows: %v", err)
	}
	s.Format, s.Window = "mmap", []string{"2+1"}
	if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), "change the numbers of others") {
		t.Errorf("windows by number: %v", err)
	}
}

// TestSplitByAColumnOfAJoin: a condition may name a column that comes from another table.
func TestSplitByAColumnOfAJoin(t *testing.T) {
	dir := t.TempDir()
	rows, sites := "event,x\n", "event,site\n"
	want := map[string][]int64{"val": {}, "train": {}}
	for i := range int64(50) {
		rows += fmt.Sprintf("%d,%d\n", i, i*i)
		sites += fmt.Sprintf("%d,%d\n", 49-i, (49-i)%7)
		name := "train"
		if i%7 == 3 {
			name = "val"
		}
		want[name] = append(want[name], i)
	}
	in, table := filepath.Join(dir, "in.csv"), filepath.Join(dir, "sites.csv")
	for path, text := range map[string]string{in: rows, table: sites} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := Settings{Inputs: []string{in}, Output: filepath.Join(dir, "set"), Format: "mmap", Split: "val=site == 3; train=rest", Join: []string{table + " on=event"}, Sync: "none"}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := eventsOf(t, s.Output); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWrongSplitsByValue(t *testing.T) {
	dir := t.TempDir()
	rows := collisions(rand.New(rand.NewPCG(8, 5)), 0, 90)
	in := npzOf(t, filepath.Join(dir, "in.npz"), rows)
	table := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	many := "event,fold\n"
	for i := range 65 {
		many += fmt.Sprintf("%d,s%d\n", i, i)
	}
	for want, s := range map[string]Settings{
		"no field evnt; did you mean event?":                            {Split: "val=evnt % 5 == 0; train=rest"},
		"no field folt; did you mean fold?":                             {SplitFrom: "column=folt"},
		"run is an integer, not a condition":                            {Split: "val=run; train=rest"},
		"the field has numbers, not names":                              {SplitFrom: "column=run"},
		"no sample is in any split: a=run > 400000; b=event < 0":        {Split: "a=run > 400000; b=event < 0"},
		`split name "a/b"`:                                              {Split: "a/b=run > 3; c=rest"},
		"splits are shares or numbers of samples, as":                   {Split: "a=0.5; b=run > 3"},
		"or conditions, as":                                             {Split: "a=0.5,b=run > 3"},
		"a semicolon is between conditions":                             {Split: "a=run > 3, b=rest"},
		"is named twice":                                                {Split: "a=run > 3; A=rest; a=run > 4"},
		"--split b: 'run >'":                                            {Split: "a=run > 3; b=run >"},
		`split "run >= 3": want NAME=CONDITION`:                         {Split: "a=run < 3; run >= 3"},
		"only one split can have the rest":                              {Split: "a=run > 3; b=rest; c=rest"},
		"--identity and --stratify are for shares":                      {Split: "a=run > 3; b=rest", Stratify: "fold"},
		"--seed 5 has no effect":                                        {Split: "a=run > 3; b=rest", Seed: 5},
		"samples with run 354996 are in split":                          {Split: "a=event % 2 == 0; b=rest", GroupBy: "run", Where: []string{"run == 354996"}},
		"samples with run 354996 are in split a and in no split":        {Split: "a=event < 5", GroupBy: "run"},
		`"2019-13-01" is not a time`:                                    {Split: `a=time < "2019-13-01"; b=rest`},
		"more than 64 names: sample 64 of " + dir:                       {Inputs: []string{table("many.csv", many)}, SplitFrom: "column=fold"},
		"has no split: its fold is missing":                             {Inputs: []string{table("missing.csv", "event,fold\n1,train\n2,\n3,val\n")}, SplitFrom: "column=fold"},
		`sample 1 of ` + dir + `/bad.csv: split name "../x": want`:      {Inputs: []string{table("bad.csv", "event,fold\n1,train\n2,../x\n")}, SplitFrom: "column=fold"},
		"split train is named twice":                                    {Inputs: []string{table("case.csv", "event,fold\n1,Train\n2,train\n")}, SplitFrom: "column=fold"},
		"--split and --split-from":                                      {Split: "a=run > 3; b=rest", SplitFrom: "column=fold"},
		"--split-from column=fold: want one text or label for each sam": {SplitFrom: "column=fold", GroupRows: "run"},
	} {
		if s.Inputs == nil {
			s.Inputs = []string{in}
		}
		s.Output, s.Sync = filepath.Join(t.TempDir(), "out"), "none"
		_, err := Convert(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s.Split+s.SplitFrom, err, want)
		}
		if _, err := os.Stat(filepath.Join(s.Output, index.ManifestName)); err == nil {
			t.Errorf("%s: a set is published", want)
		}
	}
	s := Settings{Inputs: []string{filepath.Join(dir, "missing.csv")}, SplitFrom: "column=fold", OnError: "skip", Format: "mmap", Output: filepath.Join(dir, "out"), Sync: "none"}
	res, _ := Convert(t.Context(), s)
	if res == nil || len(res.Manifest.Skipped) != 1 || res.Manifest.Skipped[0].Lo != 1 || res.Manifest.Samples != 2 {
		t.Errorf("a missing name with --on-error skip: %+v", res)
	}
}
