package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify"
	"golang.org/x/sys/unix"
)

// people writes a table of n samples and returns its name. Samples have a number, a value found
// nowhere else, a class, and a text of some length.
func people(t *testing.T, name string, r *rand.Rand, n int) (values []float64) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,v,cls,text\n")
	for i := range n {
		v := r.Float64() + float64(i)
		values = append(values, v)
		fmt.Fprintf(&b, "%d,%v,%s,%s\n", i, v, []string{"cat", "dog", "owl"}[r.IntN(3)], strings.Repeat("x", 1+r.IntN(9)))
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return values
}

func mustConvert(t *testing.T, s Settings) {
	t.Helper()
	if _, err := Convert(context.Background(), s); err != nil {
		t.Fatal(err)
	}
}

func mustEdit(t *testing.T, e Edit) *Edit {
	t.Helper()
	if err := Change(context.Background(), &e, Hooks{}); err != nil {
		t.Fatal(err)
	}
	return &e
}

// sound makes sure that nothing is wrong with a set.
func sound(t *testing.T, dir string) {
	t.Helper()
	r, err := Verify(context.Background(), []string{dir}, verify.Options{}, Hooks{})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v %v", dir, err, r.Problems)
	}
}

// TestRemoveIsAConversionWithoutTheSamples: random sets without random samples are what a conversion
// makes that leaves these out.
func TestRemoveIsAConversionWithoutTheSamples(t *testing.T) {
	race.Sequential(t)
	ctx := context.Background()
	t.Chdir(t.TempDir())
	rounds := 8
	if os.Getenv("SHARDIFY_LONG") != "" {
		rounds = 100
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		in, set, want := fmt.Sprintf("%d.csv", seed), fmt.Sprintf("set%d", seed), fmt.Sprintf("want%d", seed)
		n := 20 + r.IntN(200)
		people(t, in, r, n)
		s := Settings{Inputs: []string{in}, Output: set, Format: []string{"mmap", "wds"}[seed%2], ShardSamples: 1 + int64(r.IntN(60))}
		if seed%4 < 2 {
			s.Encode = []string{"cls"}
		}
		if seed%8 > 4 {
			s.Split = "train=0.6,val=0.4"
		}
		mustConvert(t, s)
		before, err := ID(ctx, set)
		if err != nil {
			t.Fatal(err)
		}
		lo := r.IntN(n - 1)
		hi := lo + 1 + r.IntN(n-lo-1)
		where := fmt.Sprintf("id >= %d && id < %d || id == %d", lo, hi, r.IntN(n))
		s.Output, s.Where = want, []string{"!(" + where + ")"}
		mustConvert(t, s)
		dry := mustEdit(t, Edit{Dir: set, Op: "remove", Where: where, Dry: true})
		if now, err := ID(ctx, set); err != nil || now != before {
			t.Fatalf("a dry run changed the set: %s, %v", now, err)
		}
		e := mustEdit(t, Edit{Dir: set, Op: "remove", Where: where, Note: "why"})
		if e.Written != dry.Written || e.After.Samples != dry.After.Samples || e.Before.Samples-e.After.Samples < int64(hi-lo) {
			t.Errorf("seed %d: %d shards and %d samples, the dry run said %d and %d", seed, e.Written, e.After.Samples, dry.Written, dry.After.Samples)
		}
		d, err := Diff(ctx, set, want, Comparison{Memory: 1 << 28})
		if err != nil {
			t.Fatal(err)
		}
		if d.Changed+d.Added+d.Removed+d.Moved != 0 || d.Equal != e.After.Samples {
			t.Errorf("seed %d, without %s: %+v", seed, where, d)
		}
		sound(t, set)
		list, err := Versions(set)
		if err != nil || len(list) != 2 || list[0].Change != e.After.Samples-e.Before.Samples || list[0].Note != "why" || list[1].ID != before {
			t.Fatalf("seed %d: %+v, %v", seed, list, err)
		}
		old := set + "-1"
		if os.Mkdir(old, 0o777); seed == 0 {
			os.WriteFile(old+"/notes", nil, 0o666)
			for _, dry := range []bool{true, false} {
				err := Change(ctx, &Edit{Dir: set, Op: "checkout", Version: 1, To: old, Dry: dry}, Hooks{})
				if left, _ := os.ReadDir(old); !errors.Is(err, shardify.ErrExists) || !strings.Contains(err.Error(), "notes") || len(left) != 1 {
					t.Errorf("into a folder of other files, dry %v: %v, %v", dry, err, left)
				}
			}
			os.Remove(old + "/notes")
			for _, inside := range []string{set + "/old", set + "/train/old"} {
				err := Change(ctx, &Edit{Dir: set, Op: "checkout", Version: 1, To: inside}, Hooks{})
				if _, left := os.Stat(inside); !errors.Is(err, shardify.ErrUnsupported) || left == nil {
					t.Errorf("into %s: %v", inside, err)
				}
			}
		}
		mustEdit(t, Edit{Dir: set, Op: "checkout", Version: 1, To: old})
		sound(t, old)
		if id, err := ID(ctx, old); err != nil || id != before {
			t.Errorf("seed %d: version 1 is %s, it was %s (%v)", seed, id, before, err)
		}
		mustEdit(t, Edit{Dir: set, Op: "checkout", Version: 1})
		sound(t, set)
		if list, err = Versions(set); err != nil || len(list) != 3 || list[0].ID != before || list[1].Op != "remove" {
			t.Errorf("seed %d: %+v, %v", seed, list, err)
		}
	}
}

// TestShardsAreWrittenAsAConversionWritesThem: also the names of rows in tars.
func TestShardsAreWrittenAsAConversionWritesThem(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 50)
	people(t, "b.csv", rand.New(rand.NewPCG(2, 1)), 50)
	for _, format := range []string{"mmap", "wds"} {
		s := Settings{Inputs: []string{"a.csv", "b.csv"}, Output: format, Format: format, Shuffle: "global"}
		mustConvert(t, s)
		e := mustEdit(t, Edit{Dir: format, Op: "remove", Where: "id % 7 == 3"})
		s.Output, s.Inputs, s.Shuffle, s.Where = format+"-want", []string{format + "-old"}, "", []string{"id % 7 != 3"}
		mustEdit(t, Edit{Dir: format, Op: "checkout", Version: 1, To: format + "-old"})
		mustConvert(t, s)
		_, want, err := ManifestOf(format + "-want")
		if err != nil {
			t.Fatal(err)
		}
		if len(e.After.Shards) != 1 || len(want.Shards) != 1 || e.After.Shards[0].Digest != want.Shards[0].Digest || e.After.Shards[0].Bytes != want.Shards[0].Bytes {
			t.Errorf("%s: %+v, a conversion gives %+v", format, e.After.Shards, want.Shards)
		}
	}
}

// TestRelabelIsAConversionOfOtherLabels: random sets with other values of random samples are what a conversion of
// a table with these values makes.
func TestRelabelIsAConversionOfOtherLabels(t *testing.T) {
	race.Sequential(t)
	ctx := context.Background()
	t.Chdir(t.TempDir())
	for seed := range 8 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		n := 30 + r.IntN(100)
		in, set, want := fmt.Sprintf("%d.csv", seed), fmt.Sprintf("set%d", seed), fmt.Sprintf("want%d", seed)
		people(t, in, r, n)
		text, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		lines, table, changed := strings.Split(strings.TrimSpace(string(text)), "\n"), "id,v,cls\n", int64(0)
		for i := 1; i <= n; i++ {
			if r.IntN(10) > 0 && i > 2 {
				continue
			}
			cell := strings.Split(lines[i], ",")
			if i != 1 { // the first one stays as it is
				cell[1], cell[2] = fmt.Sprint(r.Float64()), []string{"cat", "dog", "owl"}[r.IntN(3)]
				changed++
			}
			table += strings.Join(cell[:3], ",") + "\n"
			lines[i] = strings.Join(cell, ",")
		}
		os.WriteFile("labels.csv", []byte(table), 0o666)
		s := Settings{Inputs: []string{in}, Output: set, Format: []string{"mmap", "wds"}[seed%2], ShardSamples: 1 + int64(r.IntN(30)), Encode: []string{"cls"}}
		if seed > 5 {
			s.Split = "train=0.5,val=0.5"
		}
		mustConvert(t, s)
		os.WriteFile(in, []byte(strings.Join(lines, "\n")+"\n"), 0o666) // its name decides which split a sample is in
		s.Output = want
		mustConvert(t, s)
		dry := mustEdit(t, Edit{Dir: set, Op: "relabel", Labels: "labels.csv", Dry: true})
		e := mustEdit(t, Edit{Dir: set, Op: "relabel", Labels: "labels.csv"})
		if e.Changed != changed || dry.Changed != changed || e.Written != dry.Written || e.After.Samples != int64(n) {
			t.Errorf("seed %d: %d samples changed, the dry run said %d, the table has %d", seed, e.Changed, dry.Changed, changed)
		}
		sound(t, set)
		d, err := Diff(ctx, set, want, Comparison{Memory: 1 << 28})
		if err != nil || d.Changed+d.Added+d.Removed+d.Moved != 0 {
			t.Errorf("seed %d: %+v, %v", seed, d, err)
		}
		if again := mustEdit(t, Edit{Dir: set, Op: "relabel", Labels: "labels.csv"}); again.After.Digest != e.After.Digest {
			t.Error("the same values made a version")
		}
	}
}

func TestTablesOfLabelsThatAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: "set", Encode: []string{"cls"}, Cast: []string{"id=u8", "v=f32", "big=u64"}, Define: []string{"big=id", "low=v < 3"}})
	before, err := os.ReadFile("set/shardify.json")
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{
		"id,cls\n3,cat\n77,dog\n": `"77"`, "id,cls\n3,lynx\n": "lynx", "id,cls\n3,cat\n3,dog\n": "two values", "id,none\n3,1\n": "no field", "id\n3\n": "want a head", "": "want a head",
		"id,text\n3,x\n": "texts or lists", "v,cls\n3,cat\n": "whole numbers or texts", "id,cls\n3\n": "number of fields", "key,cls\n3,cat\n": "no names", "cls,id\ncat,300\n": "does not fit", "id,v\n3,x\n": "no number",
		"id,cls,cls\n3,cat,dog\n": "once", "id,cls\n\"3,cat\n": "quote", "id;cls\n3;cat\n": "values: ", "\"id": "quote", "id,v\n3,1e39\n": "1e39 does not fit f32", "id,big\n3,-1\n": `"-1" is no u64`, "id,low\n3,yes\n": `"yes" is no bool`,
	} {
		os.WriteFile("l.csv", []byte(table), 0o666)
		err := Change(context.Background(), &Edit{Dir: "set", Op: "relabel", Labels: "l.csv"}, Hooks{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", table, err, want)
		}
	}
	if after, err := os.ReadFile("set/shardify.json"); err != nil || !bytes.Equal(before, after) {
		t.Error("the set changed")
	}
	for table, changed := range map[string]int64{"id,low\n3,TRUE\n1,true\n": 1, "id,low\n1,False\n": 1, "id,v\n3,inf\n": 1, "id,v\n4,1e38\n": 1} {
		os.WriteFile("l.csv", []byte(table), 0o666)
		os.Symlink("l.csv", "link.csv")
		mustEdit(t, Edit{Dir: "set", Op: "checkout", Version: 1})
		if e := mustEdit(t, Edit{Dir: "set", Op: "relabel", Labels: "link.csv"}); e.Changed != changed {
			t.Errorf("%q: %d samples changed, want %d", table, e.Changed, changed)
		}
	}
}

func TestRemoveByName(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	os.Mkdir("in", 0o777)
	for i := range 30 {
		os.WriteFile(fmt.Sprintf("in/%02d.txt", i), []byte(fmt.Sprint("text ", i)), 0o666)
	}
	for _, split := range []string{"", "train=0.5,val=0.5"} {
		set := "set" + split
		mustConvert(t, Settings{Inputs: []string{"in"}, Output: set, Split: split, ShardSamples: 4})
		os.WriteFile("names", []byte("\ufeff07\r\n12\n\n07\n"), 0o666)
		os.Symlink("names", "keys")
		os.WriteFile("wrong", []byte("07\nunknown\n"), 0o666)
		err := Change(ctx, &Edit{Dir: set, Op: "remove", Keys: "wrong"}, Hooks{})
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), `"unknown"`) {
			t.Errorf("a name that no sample has: %v", err)
		}
		sound(t, set)
		if list, err := Versions(set); err != nil || len(list) != 1 {
			t.Errorf("after an error: %+v, %v", list, err)
		}
		e := mustEdit(t, Edit{Dir: set, Op: "remove", Keys: "keys"})
		if e.After.Samples != 28 {
			t.Errorf("%d samples of 30 without 2", e.After.Samples)
		}
		mustConvert(t, Settings{Inputs: []string{"in"}, Output: set + "want", Split: split, Where: []string{`!(lower(key) in ["07", "12"])`}})
		d, err := Diff(ctx, set, set+"want", Comparison{Memory: 1 << 28})
		if err != nil || d.Changed+d.Added+d.Removed+d.Moved != 0 {
			t.Errorf("%+v, %v", d, err)
		}
		sound(t, set)
		again := mustEdit(t, Edit{Dir: set, Op: "remove", Where: `lower(key) == "07"`})
		if again.After.Digest != e.After.Digest {
			t.Error("nothing to remove made a version")
		}
		err = Change(ctx, &Edit{Dir: set, Op: "remove", Where: `lower(key) != "x"`}, Hooks{})
		if !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("all samples: %v", err)
		}
	}
}

// TestRemoveByAField: the lines of the file are values of a field, whole numbers, names of classes or texts.
func TestRemoveByAField(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 60)
	for k, c := range []struct{ by, lines, where, unknown string }{
		{"id", "7\n12\n\n59\n7\n", "id in [7, 12, 59]", "60"},
		{"cls", "owl\ncat\n", `cls in ["owl", "cat"]`, "cow"},
		{"text", "xx\nxxxx\n", `text == "xx" || text == "xxxx"`, "y"},
	} {
		s := Settings{Inputs: []string{"a.csv"}, Output: fmt.Sprint("set", k), ShardSamples: 7, Split: []string{"", "train=0.5,val=0.5"}[k%2]}
		if c.by == "cls" {
			s.Encode = []string{"cls"}
		}
		mustConvert(t, s)
		os.WriteFile("wrong", []byte(c.lines+c.unknown+"\n"), 0o666)
		os.WriteFile("lines", []byte(c.lines), 0o666)
		for _, wrong := range []Edit{{Keys: "wrong", By: c.by}, {Keys: "lines", By: "v"}, {Keys: "lines", By: "none"}, {Keys: "lines"}} {
			wrong.Dir, wrong.Op = s.Output, "remove"
			if err := Change(ctx, &wrong, Hooks{}); !errors.Is(err, shardify.ErrSchema) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		e := mustEdit(t, Edit{Dir: s.Output, Op: "remove", Keys: "lines", By: c.by})
		if c.by == "cls" {
			c.where = strings.NewReplacer("cls", "lower(cls)").Replace(c.where)
		}
		s.Output, s.Where = fmt.Sprint("want", k), []string{"!(" + c.where + ")"}
		mustConvert(t, s)
		d, err := Diff(ctx, e.Dir, s.Output, Comparison{Memory: 1 << 28})
		if err != nil || d.Changed+d.Added+d.Removed+d.Moved != 0 || e.Before.Samples == e.After.Samples {
			t.Errorf("by %s: %+v, %v", c.by, d, err)
		}
		sound(t, e.Dir)
	}
}

// TestRemovedRowsAreInNoWindow compares views of rows with those that follow from the rows alone.
func TestRemovedRowsAreInNoWindow(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := 30 + r.IntN(50)
		os.RemoveAll("set")
		os.RemoveAll("in.csv")
		people(t, "in.csv", r, n)
		window := []string{"2+1", "3", "1+2,step=3", "2+1,stride=4", "1+1,lead=5"}[seed%5]
		mustConvert(t, Settings{Inputs: []string{"in.csv"}, Output: "set", Columns: []string{"id", "v"}, Window: []string{window}, ShardSamples: 11})
		_, old, err := ManifestOf("set")
		if err != nil {
			t.Fatal(err)
		}
		gone := map[int64]bool{int64(r.IntN(n)): true, int64(r.IntN(n)): true, 12: true}
		var cond []string
		for row := range gone {
			cond = append(cond, fmt.Sprint("id == ", row))
		}
		e := mustEdit(t, Edit{Dir: "set", Op: "remove", Where: strings.Join(cond, " || ")})
		was, is := old.Windows["window"], e.After.Windows["window"]
		var want []int64
		for _, row := range was.Rows() {
			lo, hi := was.Span()
			ok, before := true, int64(0)
			for k := row + min(lo, 0); k <= row+max(hi, 0); k++ {
				ok = ok && !gone[k]
			}
			for k := range row {
				if gone[k] {
					before++
				}
			}
			if ok {
				want = append(want, row-before)
			}
		}
		if got := is.Rows(); !slices.Equal(got, want) {
			t.Errorf("seed %d, %s without %v: anchors %v, want %v", seed, window, gone, got, want)
		}
		if n := e.Windows["window"]; n != [2]int64{was.Len(), is.Len()} || !strings.Contains(e.WindowsText(), "view window: ") {
			t.Errorf("seed %d: %v windows are reported, there are %d: %s", seed, n, is.Len(), e.WindowsText())
		}
		sound(t, "set")
	}
}

// TestPurge: after gc --keep 1 the values of removed samples are in no file.
func TestPurge(t *testing.T) {
	race.Sequential(t)
	t.Chdir(t.TempDir())
	rounds := 10
	if os.Getenv("SHARDIFY_LONG") != "" {
		rounds = 100
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		in, set := fmt.Sprintf("%d.csv", seed), fmt.Sprintf("set%d", seed)
		n := 10 + r.IntN(100)
		values := people(t, in, r, n)
		s := Settings{Inputs: []string{in}, Output: set, Format: []string{"mmap", "wds"}[seed%2], ShardSamples: 7, Columns: []string{"id", "v"}}
		if seed%3 == 0 {
			s.Split = "train=0.6,val=0.4"
		}
		mustConvert(t, s)
		a, b := r.IntN(n), r.IntN(n)
		mustEdit(t, Edit{Dir: set, Op: "remove", Where: fmt.Sprintf("id == %d", a)})
		mustEdit(t, Edit{Dir: set, Op: "remove", Where: fmt.Sprintf("id == %d", b)})
		if holds(t, set, values[a]) == 0 || holds(t, set, values[b]) == 0 {
			t.Fatalf("seed %d: the search does not find what is there", seed)
		}
		dry := mustEdit(t, Edit{Dir: set, Op: "gc", Version: 1, Dry: true})
		e := mustEdit(t, Edit{Dir: set, Op: "gc", Version: 1})
		if e.Written == 0 || e.Written != dry.Written || e.Bytes != dry.Bytes {
			t.Errorf("seed %d: %d files of %d bytes, the dry run said %d of %d", seed, e.Written, e.Bytes, dry.Written, dry.Bytes)
		}
		if x, y := holds(t, set, values[a]), holds(t, set, values[b]); x+y > 0 {
			t.Errorf("seed %d: removed values are in %d and %d files", seed, x, y)
		}
		c := (a + 1) % n
		if c == b {
			c = (c + 1) % n
		}
		if c != a && holds(t, set, values[c]) == 0 {
			t.Errorf("seed %d: a value that stays is gone", seed)
		}
		sound(t, set)
		if list, err := Versions(set); err != nil || len(list) != 1 || list[0].Number != e.Before.VersionNumber() {
			t.Errorf("seed %d: %+v, %v", seed, list, err)
		}
		if again := mustEdit(t, Edit{Dir: set, Op: "gc", Version: 1}); again.Written != 0 {
			t.Errorf("seed %d: gc finds %d more files", seed, again.Written)
		}
	}
}

// holds is how many files below a folder have a value.
func holds(t *testing.T, dir string, v float64) (n int) {
	t.Helper()
	var want [8]byte
	for i := range want {
		want[i] = byte(math.Float64bits(v) >> (8 * i))
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, want[:]) || bytes.Contains(b, fmt.Append(nil, v)) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestExtendAfterRemove: also where the last shard is gone, whose number an older version has.
func TestExtendAfterRemove(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	people(t, "b.csv", rand.New(rand.NewPCG(2, 1)), 30)
	for _, format := range []string{"mmap", "wds"} {
		mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: format, Format: format, ShardSamples: 10})
		mustEdit(t, Edit{Dir: format, Op: "remove", Where: "id >= 20 || id == 3"})
		if _, err := Extend(ctx, format, Settings{Inputs: []string{"b.csv"}}, false); err != nil {
			t.Fatal(err)
		}
		sound(t, format)
		mustEdit(t, Edit{Dir: format, Op: "remove", Where: "id == 4"})
		list, err := Versions(format)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range list {
			got = append(got, fmt.Sprint(v.Number, v.Op, v.Change, v.Samples))
		}
		want := []string{"4remove-2 47", "3extend30 49", "2remove-11 19", "1convert30 30"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
		if _, m, _ := ManifestOf(format); len(m.Parts) != 2 || m.Parts[0].Samples != 18 || m.Parts[1].Samples != 29 {
			t.Errorf("parts %+v", m.Parts)
		}
		mustEdit(t, Edit{Dir: format, Op: "gc", Version: 2})
		sound(t, format)
		if list, err := Versions(format); err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		if err := Change(ctx, &Edit{Dir: format, Op: "checkout", Version: 2}, Hooks{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "version 2 is not kept") {
			t.Errorf("a version that is gone: %v", err)
		}
	}
}

// epoch reads a loader to the end of its epoch, and calls middle after some batches.
func epoch(t *testing.T, set string, c gpuload.Config, middle func()) (ids []int64) {
	t.Helper()
	ctx := context.Background()
	d, err := gpuload.Open(ctx, set)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := d.Loader(c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for k := 0; ; k++ {
		b, err := l.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Rows() {
			ids = append(ids, int64(binary.LittleEndian.Uint64(b.Host("id")[8*i:])))
		}
		b.Release()
		if k == 2 && middle != nil {
			middle()
		}
	}
	slices.Sort(ids)
	return ids
}

// TestLoaderGoesOnWithItsVersion: a loader in mid-epoch delivers the samples of the version that it opened,
// while versions are made and older ones are deleted. One that is opened later has the new one, whatever the world.
func TestLoaderGoesOnWithItsVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 100)
	people(t, "b.csv", rand.New(rand.NewPCG(2, 1)), 7)
	for _, format := range []string{"mmap", "wds"} {
		mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: format, Format: format, ShardSamples: 9, Columns: []string{"id", "v"}})
		c := gpuload.Config{Batch: 4, Shuffle: gpuload.Global, Seed: 4, Last: gpuload.Short, Tier: gpuload.TierStream, Depth: 1, Workers: 1, Device: "host"}
		old := epoch(t, format, c, func() {
			mustEdit(t, Edit{Dir: format, Op: "remove", Where: "id % 3 == 1"})
			mustEdit(t, Edit{Dir: format, Op: "remove", Where: "id >= 90"})
			if _, err := Extend(context.Background(), format, Settings{Inputs: []string{"b.csv"}}, false); err != nil {
				t.Fatal(err)
			}
			mustEdit(t, Edit{Dir: format, Op: "gc", Version: 4})
		})
		if len(old) != 100 || old[0] != 0 || old[99] != 99 {
			t.Errorf("%s: an epoch of %d samples over the change of version: %v", format, len(old), old)
		}
		var want []int64
		for i := range int64(100) {
			if i < 7 {
				want = append(want, i)
			}
			if i%3 != 1 && i < 90 {
				want = append(want, i)
			}
		}
		if now := epoch(t, format, c, nil); !slices.Equal(now, want) {
			t.Errorf("%s: the new version has %v, want %v", format, now, want)
		}
		var all []int64
		have := int64(0)
		for rank := range 3 {
			c.Rank, c.World, c.Last = rank, 3, gpuload.Drop
			all = append(all, epoch(t, format, c, nil)...)
		}
		slices.Sort(all)
		for _, id := range want { // as often as there are samples of the number, but those of the last step
			if i, ok := slices.BinarySearch(all, id); ok {
				all = slices.Delete(all, i, i+1)
				have++
			}
		}
		if len(all) > 0 || have != int64(len(want))/12*12 {
			t.Errorf("%s: three ranks have %d samples of %d, and %v", format, have, len(want), all)
		}
	}
}

// TestTwoChangesAtOnce: one that comes while another is at work is refused, and leaves nothing.
func TestTwoChangesAtOnce(t *testing.T) {
	race.Sequential(t)
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 300)
	mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: "set", ShardSamples: 30})
	errs := make([]error, 8)
	var g sync.WaitGroup
	for i := range errs {
		g.Go(func() {
			errs[i] = Change(ctx, &Edit{Dir: "set", Op: "remove", Where: fmt.Sprintf("id %% 8 == %d && id > 8", i)}, Hooks{})
		})
	}
	g.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !strings.Contains(err.Error(), "another process is changing this set") {
			t.Error(err)
		}
	}
	list, err := Versions("set")
	if err != nil || won == 0 || len(list) != won+1 {
		t.Errorf("%d of %d changes were made, %d versions, %v", won, len(errs), len(list), err)
	}
	sound(t, "set")
	mustEdit(t, Edit{Dir: "set", Op: "gc", Version: int64(len(list))})
	sound(t, "set")
	t.Logf("%d of %d were refused", len(errs)-won, len(errs))
}

// TestASplitHasNoVersionsOfItsOwn: its version is named by the manifest of the set.
func TestASplitHasNoVersionsOfItsOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: "set", Split: "train=0.5,val=0.5"})
	if err := os.Symlink(filepath.Join("set", "val"), "link"); err != nil {
		t.Fatal(err)
	}
	refused := func(dir string) {
		t.Helper()
		if err := Change(context.Background(), &Edit{Dir: dir, Op: "remove", Where: "id >= 0"}, Hooks{}); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "it is a split") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	refused("set/train")
	refused("link")
	t.Chdir("set/train")
	refused(".")
	t.Chdir("../..")
	people(t, "b.csv", rand.New(rand.NewPCG(2, 1)), 30)
	if _, err := Extend(context.Background(), "set/train", Settings{Inputs: []string{"b.csv"}}, false); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "it is a split") {
		t.Errorf("extend: %v", err)
	}
	sound(t, "set")
	left := "set/train/shard-000000-0123456789abcdef.safetensors" // by a change that was stopped
	if err := os.WriteFile(left, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	whole, err := filepath.Abs("set")
	r, err2 := Verify(context.Background(), []string{"set/train"}, verify.Options{}, Hooks{})
	if err := cmp.Or(err, err2); err != nil || !strings.HasSuffix(r.Next, "shardify gc "+whole+" --keep 1") {
		t.Errorf("verify of a split: %q, %v", r.Next, err)
	}
}

// TestPlansMakeNoRemovedSampleAgain: the plan of a set that has versions is that of the first one. Nothing is
// made by it, whether the manifest is there or not.
func TestPlansMakeNoRemovedSampleAgain(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	s := Settings{Inputs: []string{"a.csv"}, Output: "set", ShardSamples: 10}
	mustConvert(t, s)
	mustEdit(t, Edit{Dir: "set", Op: "remove", Where: "id == 3"})
	mustEdit(t, Edit{Dir: "set", Op: "gc", Version: 1})
	files := func() []string {
		list, err := filepath.Glob("set/*")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := files()
	check := func(what string, err, want error) {
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "versions") {
			t.Errorf("%s: %v", what, err)
		}
		if now := files(); !slices.Equal(now, before) {
			t.Errorf("%s: %v, before %v", what, now, before)
		}
	}
	for _, gone := range []bool{false, true} {
		if gone {
			os.Remove("set/" + index.ManifestName)
			before = files()
			_, err := Convert(ctx, s)
			check("convert", err, shardify.ErrExists)
		} else if r, err := Convert(ctx, s); err != nil || !r.Already || r.Manifest.Samples != 29 {
			t.Errorf("convert: %+v, %v", r, err)
		}
		_, err := Work(ctx, "set", Task{Tasks: 1}, Settings{})
		check("work", err, shardify.ErrUnsupported)
		_, err = Merge(ctx, "set", Settings{})
		check("merge", err, shardify.ErrUnsupported)
		if hint := strings.Join(shardify.Hints(err), ""); gone == strings.Contains(hint, "shardify log") {
			t.Errorf("merge: %s", hint)
		}
		r, err := Verify(ctx, []string{"set"}, verify.Options{}, Hooks{})
		if err != nil || (r.Err() != nil) != gone || strings.Contains(r.Next, "rm ") || gone && !strings.Contains(r.Next, "from a copy of the set") {
			t.Errorf("verify: %v, %s, %v", r, r.Next, err)
		}
	}
	s.Fresh = true
	mustConvert(t, s)
	sound(t, "set")
	if list, err := Versions("set"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestSplitsAreThoseOfTheManifestOfTheSet: where a kill came between the manifests of the splits, or before
// that of the set, every reader has the old version, of the set and of each split; and the same change makes
// the new one.
func TestSplitsAreThoseOfTheManifestOfTheSet(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 90)
	people(t, "b.csv", rand.New(rand.NewPCG(2, 1)), 90)
	mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: "first", Split: "train=0.6,val=0.4", ShardSamples: 10, Columns: []string{"id", "v"}})
	folders := []string{"", "/train", "/val"}
	ids := func(set string) (list []string) {
		for _, dir := range folders {
			id, err := ID(ctx, set+dir)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, id)
		}
		return list
	}
	changes := []func(set string) error{
		func(set string) error {
			return Change(ctx, &Edit{Dir: set, Op: "remove", Where: "id % 4 == 1"}, Hooks{})
		},
		func(set string) error {
			_, err := Extend(ctx, set, Settings{Inputs: []string{"b.csv"}}, false)
			return err
		},
		func(set string) error {
			return Change(ctx, &Edit{Dir: set, Op: "checkout", Version: 1}, Hooks{})
		},
	}
	before := "first"
	for k, change := range changes {
		after := fmt.Sprint("after", k)
		os.CopyFS(after, os.DirFS(before))
		if err := change(after); err != nil {
			t.Fatal(err)
		}
		for _, published := range []string{"train", "val", "train val"} {
			set := fmt.Sprint(k, published)
			os.CopyFS(set, os.DirFS(after))
			for _, dir := range folders {
				if dir != "" && strings.Contains(published, dir[1:]) {
					continue
				}
				b, err := os.ReadFile(before + dir + "/" + index.ManifestName)
				if err != nil {
					t.Fatal(err)
				}
				os.WriteFile(set+dir+"/"+index.ManifestName, b, 0o666)
			}
			if got, want := ids(set), ids(before); !slices.Equal(got, want) {
				t.Fatalf("change %d, with new manifests of %s: ids %v, want %v", k, published, got, want)
			}
			for _, dir := range append(folders, "/train/"+index.ManifestName) {
				r, err := Verify(ctx, []string{set + dir}, verify.Options{}, Hooks{})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range r.Problems {
					if p.Kind != "extra" && p.File != "inputs.jsonl" {
						t.Errorf("change %d, with new manifests of %s: %s: %+v", k, published, set+dir, p)
					}
				}
			}
			_, m, err := ManifestOf(before + "/train")
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(set + "/train")
			c := gpuload.Config{Batch: 4, Shuffle: gpuload.Global, Last: gpuload.Short, Tier: gpuload.TierStream, Device: "host"}
			if got := epoch(t, ".", c, nil); int64(len(got)) != m.Samples {
				t.Errorf("change %d, with new manifests of %s: the loader has %d samples of train, want %d", k, published, len(got), m.Samples)
			}
			t.Chdir("../..")
			if k == 1 {
				continue // its plan is away: tests/faulttest kills extensions
			}
			if err := change(set); err != nil {
				t.Fatal(err)
			}
			if got, want := ids(set), ids(after); !slices.Equal(got, want) {
				t.Errorf("change %d again: ids %v, want %v", k, got, want)
			}
			sound(t, set)
		}
		before = after
	}
}

func TestVersionsRefuseDamage(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: "set", ShardSamples: 10})
	mustEdit(t, Edit{Dir: "set", Op: "remove", Where: "id == 3"})
	name := filepath.Join("set", filepath.FromSlash(index.KeptName(1, "")))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string][]byte{"a changed manifest": bytes.Replace(b, []byte(`"samples": 30`), []byte(`"samples": 31`), 1), "a short one": b[:len(b)/2], "none": nil} {
		os.WriteFile(name, damaged, 0o666)
		for _, e := range []Edit{{Op: "checkout", Version: 1}, {Op: "checkout", Version: 1, To: "old"}, {Op: "gc", Version: 1}} {
			e.Dir = "set"
			if err := Change(ctx, &e, Hooks{}); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%s: %s: %v", what, e.Op, err)
			}
		}
		if _, err := Versions("set"); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: log: %v", what, err)
		}
	}
	os.WriteFile(name, b, 0o666)
	_, m, err := ManifestOf("set")
	if err != nil {
		t.Fatal(err)
	}
	flip := filepath.Join("set", m.Shards[1].Name)
	if b, err = os.ReadFile(flip); err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	os.WriteFile(flip, b, 0o666)
	if err := Change(ctx, &Edit{Dir: "set", Op: "remove", Where: "id == 12"}, Hooks{}); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a damaged shard is written again: %v", err)
	}
	if list, err := Versions("set"); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestInputsOfVersions: each version has its own list of inputs, also those that a checkout left behind, and the set
// is extended, edited and cleaned behind it.
func TestInputsOfVersions(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	for i, name := range []string{"a.csv", "b.csv", "c.csv", "d.csv"} {
		people(t, name, rand.New(rand.NewPCG(uint64(i), 1)), 20)
	}
	inputs := func(dir, want string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "inputs.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer(`{"file":"`, "", ".csv\"}\n", "").Replace(string(b))
		if got != want {
			t.Errorf("%s is of inputs %s, want %s", dir, got, want)
		}
		sound(t, dir)
	}
	for _, split := range []string{"", "train=0.5,val=0.5"} {
		set, part := "set"+split, ""
		if split != "" {
			part = "/val"
		}
		extend := func(name string) {
			t.Helper()
			if _, err := Extend(ctx, set, Settings{Inputs: []string{name}}, false); err != nil {
				t.Fatal(err)
			}
		}
		checkout := func(version int64, want string) {
			t.Helper()
			to := fmt.Sprint(set, "-", version)
			mustEdit(t, Edit{Dir: set, Op: "checkout", Version: version, To: to})
			inputs(to+part, want)
			os.RemoveAll(to)
			mustEdit(t, Edit{Dir: set, Op: "checkout", Version: version})
			inputs(set+part, want)
		}
		mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: set, Provenance: true, Split: split})
		extend("b.csv")
		extend("c.csv")
		checkout(1, "a")
		mustEdit(t, Edit{Dir: set, Op: "remove", Where: "id == 3"})
		inputs(set+part, "a")
		extend("d.csv") // version 6
		inputs(set+part, "ad")
		checkout(2, "ab")
		checkout(3, "abc")
		checkout(6, "ad")
		mustEdit(t, Edit{Dir: set, Op: "gc", Version: 2})
		checkout(8, "abc")
		mustEdit(t, Edit{Dir: set, Op: "gc", Version: 1})
		if left, err := filepath.Glob(set + "/.shardify/manifests/*.jsonl"); err != nil || len(left) > 0 {
			t.Errorf("gc left %s, %v", left, err)
		}
		inputs(set+part, "abc")
	}
}

// TestShardsAreWrittenSideBySide: as one after the other, some of them without a sample that stays.
func TestShardsAreWrittenSideBySide(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 200)
	var ids []string
	for _, jobs := range []int{1, 8} {
		set := fmt.Sprint("set", jobs)
		mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: set, ShardSamples: 2})
		e := mustEdit(t, Edit{Dir: set, Op: "remove", Where: "id % 2 == 1 || id % 5 == 2", Jobs: jobs})
		id, err := ID(context.Background(), set)
		if ids = append(ids, id); err != nil || e.Written != 80 || e.After.Samples != 80 {
			t.Errorf("%d jobs: %d shards, %d samples, %v", jobs, e.Written, e.After.Samples, err)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("sets %v", ids)
	}
}

// TestRelabelOfFloats: values of each type of numbers, rounded as a cast rounds them; those that are too large are refused.
func TestRelabelOfFloats(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	text, err := os.ReadFile("a.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	cells := strings.Split(lines[4], ",")
	cells[1] = "-7.1003"
	lines[4] = strings.Join(cells, ",")
	os.WriteFile("b.csv", []byte(strings.Join(lines, "\n")), 0o666)
	for kind, large := range map[string]string{"f16": "1e5", "bf16": "1e39", "f32": "1e39", "f64": "1e400"} {
		for _, name := range []string{"a", "b"} {
			mustConvert(t, Settings{Inputs: []string{name + ".csv"}, Output: name + kind, Cast: []string{"v=" + kind}})
		}
		os.WriteFile("l.csv", []byte("id,v\n3,-7.1003\n"), 0o666)
		e := mustEdit(t, Edit{Dir: "a" + kind, Op: "relabel", Labels: "l.csv"})
		_, want, err := ManifestOf("b" + kind)
		if err != nil || e.Changed != 1 || e.After.Shards[0].Digest != want.Shards[0].Digest {
			t.Errorf("%s: %d samples changed, %v", kind, e.Changed, err)
		}
		os.WriteFile("l.csv", []byte("id,v\n3,"+large+"\n"), 0o666)
		if err := Change(context.Background(), &Edit{Dir: "a" + kind, Op: "relabel", Labels: "l.csv"}, Hooks{}); !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%s: %s is taken: %v", kind, large, err)
		}
	}
}

// TestNotesThatAreRefused: before anything is written.
func TestNotesThatAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: "set"})
	for _, note := range []string{strings.Repeat("x", index.MaxNote+1), "a\xff"} {
		err := Change(context.Background(), &Edit{Dir: "set", Op: "remove", Where: "id == 3", Note: note}, Hooks{})
		if !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%.9q: %v", note, err)
		}
		sound(t, "set")
	}
}

// TestVersionsBesideAKilledExtension: an extension ends before or behind its manifest, and goes on when the set has
// had other versions. Its samples are there once.
func TestVersionsBesideAKilledExtension(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	people(t, "a.csv", rand.New(rand.NewPCG(1, 1)), 30)
	people(t, "b.csv", rand.New(rand.NewPCG(2, 1)), 30)
	extend := func(set string) error {
		_, err := Extend(ctx, set, Settings{Inputs: []string{"b.csv"}}, false)
		return err
	}
	const work = "/.shardify/extend/work"
	for _, c := range []struct {
		behind bool
		op     Edit
		want   int64
	}{
		{false, Edit{Op: "remove", Where: "id == 3"}, 59}, {true, Edit{Op: "remove", Where: "id == 3"}, 58}, {true, Edit{Op: "checkout", Version: 1}, 60},
	} {
		set := fmt.Sprint(c.behind, c.op.Op)
		mustConvert(t, Settings{Inputs: []string{"a.csv"}, Output: set})
		_, m, err := ManifestOf(set)
		if err != nil {
			t.Fatal(err)
		}
		os.MkdirAll(set+"/.shardify/extend", 0o777)
		f, err := os.Create(set + "/.shardify/extend/lock")
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := extend(set); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Fatalf("an extension beside another: %v", err)
		}
		f.Close()
		if c.behind {
			if err := os.CopyFS("kept"+set, os.DirFS(set+work)); err != nil {
				t.Fatal(err)
			}
			if err := extend(set); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(set+work, os.DirFS("kept"+set)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(set+work+"/.shardify/extends", []byte(m.Digest), 0o666); err != nil {
			t.Fatal(err)
		}
		c.op.Dir = set
		mustEdit(t, c.op)
		if err := extend(set); err != nil {
			t.Fatal(err)
		}
		if _, m, err := ManifestOf(set); err != nil || m.Samples != c.want {
			t.Errorf("%s: %d samples, want %d (%v)", set, m.Samples, c.want, err)
		}
		sound(t, set)
	}
}
