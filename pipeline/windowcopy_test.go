package pipeline

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/verify"
)

// shardsOf are the files of a set's shards, by name.
func shardsOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && (strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".mds")) {
			rel, _ := filepath.Rel(dir, path)
			out[rel], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// members are the names and contents of the tars of a set, in order.
func members(t *testing.T, dir string) (names, values []string) {
	t.Helper()
	shards := shardsOf(t, dir)
	var files []string
	for name := range shards {
		files = append(files, name)
	}
	slices.Sort(files)
	for _, name := range files {
		r := tar.NewReader(bytes.NewReader(shards[name]))
		for {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			_, field, _ := strings.Cut(h.Name, ".")
			names, values = append(names, h.Name), append(values, field+"\n"+string(b))
		}
	}
	return names, values
}

// inTwoSteps converts into a set with a view, and copies that.
func inTwoSteps(t *testing.T, s Settings, sets ...string) string {
	t.Helper()
	out := t.TempDir()
	rows, windows := s, Settings{Format: s.Format, ShardSamples: s.ShardSamples, Options: map[string]string{"view": "window"}, Sync: "none", Jobs: 2}
	rows.Format, rows.ShardSize, rows.ShardSamples, rows.Output = "mmap", 0, 11, filepath.Join(out, "rows")
	if _, err := Convert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		windows.Inputs, windows.Output = []string{filepath.Join(rows.Output, set)}, filepath.Join(out, "windows", set)
		if _, err := Convert(t.Context(), windows); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(out, "windows")
}

// TestWindowsAreCopiedInOneStep: the shards are those of a set with a view that is copied, whether
// one process or several tasks make them.
func TestWindowsAreCopiedInOneStep(t *testing.T) {
	in := t.TempDir()
	hours(t, in, "a.csv", sixHourly(90, 10, 11, 40))
	store := filepath.Join(corpus.Dir(t, "zarr"), "cf")
	for _, c := range []Settings{
		{Inputs: []string{filepath.Join(in, "a.csv")}, Format: "wds", Window: []string{"time=2+1,lead=4"}, Cast: []string{"v=f32"}},
		{Inputs: []string{filepath.Join(in, "a.csv")}, Format: "mds", Window: []string{"time=1+2,stride=3"}, Rename: []string{"x=v"}},
		{Inputs: []string{filepath.Join(in, "a.csv")}, Format: "wds", Window: []string{"time=1+1,lead=30"}}, // far ahead
		{Inputs: []string{filepath.Join(in, "a.csv")}, Format: "wds", Window: []string{"4"}},
		{Inputs: []string{filepath.Join(store, "era5_wb2_v3.zarr")}, Format: "wds", Window: []string{"time=2+1,lead=1d"}, Columns: []string{"2m_temperature", "time"}},
	} {
		if _, err := os.Stat(c.Inputs[0]); err != nil {
			t.Log(err)
			continue
		}
		c.ShardSamples, c.Sync = 9, "none"
		want := shardsOf(t, inTwoSteps(t, c, ""))
		if len(want) == 0 {
			t.Fatalf("%v: no shards", c.Window)
		}
		for _, jobs := range []int{1, 4} {
			c.Output, c.Jobs, c.Memory = filepath.Join(t.TempDir(), "set"), jobs, int64(256/jobs)<<20
			if _, err := Convert(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			same(t, c, shardsOf(t, c.Output), want)
		}
		c.Output = filepath.Join(t.TempDir(), "set")
		p, err := Plan(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		for k := range 3 {
			if _, err := Work(t.Context(), c.Output, Task{Task: k, Tasks: 3}, c); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Merge(t.Context(), c.Output, c); err != nil {
			t.Fatal(err)
		}
		same(t, c, shardsOf(t, c.Output), want)
	}
}

func same(t *testing.T, c Settings, got, want map[string][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s of %s: %d shards, want %d", c.Window, c.Inputs, len(got), len(want))
	}
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s of %s: %s has other bytes (%d, want %d)", c.Window, c.Inputs, name, len(got[name]), len(want[name]))
		}
	}
}

// TestCopiedWindowsOfSplits are those of the splits of a set of rows: no window has rows of two
// splits, though the inputs of a split are not adjacent.
func TestCopiedWindowsOfSplits(t *testing.T) {
	in := t.TempDir()
	all := sixHourly(120, 50)
	hours(t, in, "train-1.csv", all[:41])
	hours(t, in, "train-2.csv", all[41:60])
	hours(t, in, "val.csv", all[60:90])
	hours(t, in, "train-3.csv", all[90:])
	c := Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "set"), Format: "wds", ShardSamples: 9, Window: []string{"time=2+2"}, SplitFrom: "train=train*,val=val*", Sync: "none", Jobs: 2}
	want := inTwoSteps(t, c, "train", "val")
	if _, err := Convert(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	used := map[string]map[string]bool{}
	for _, split := range []string{"train", "val"} {
		_, a := members(t, filepath.Join(c.Output, split))
		_, b := members(t, filepath.Join(want, split))
		if len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%s: %d members, want %d, or other values", split, len(a), len(b))
		}
		used[split] = map[string]bool{}
		for _, x := range a {
			if _, data, ok := strings.Cut(x, "\n"); ok && strings.HasPrefix(x, "time") {
				for n := len(data) - 16; n < len(data); n += 8 { // two rows behind the header
					used[split][data[n:n+8]] = true
				}
			}
		}
	}
	for row := range used["val"] {
		if used["train"][row] {
			t.Errorf("%x is in both", row)
		}
	}
}

// TestCopiedWindowsThatCannotBe are refused with what helps instead.
func TestCopiedWindowsThatCannotBe(t *testing.T) {
	in := t.TempDir()
	hours(t, in, "a.csv", sixHourly(30))
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Window: []string{"time=1+1"}, Where: []string{"v > 3"}}, "--where"},
		{Settings{Window: []string{"time=1+1"}, DropDuplicates: []string{"v"}}, "--drop-duplicates"},
		{Settings{Window: []string{"time=1+1"}, Split: "train=0.5,val=0.5", GroupBy: "v"}, "--split-from"},
		{Settings{Window: []string{"time=1+1", "time=2+1,name=b"}}, "one --window"},
		{Settings{Window: []string{"time=1+1"}, Set: []string{"time=v*2"}}, "time"},
		{Settings{Window: []string{"time=1+1"}, Cast: []string{"time=f32"}}, "operations change field time"},
		{Settings{Window: []string{"hour=1+1"}, Define: []string{"hour=time/6"}}, "no field hour"},
		{Settings{Window: []string{"t=1+1"}}, "no field t"},
	} {
		s := c.s
		s.Inputs, s.Output, s.Format, s.Sync, s.Jobs = []string{filepath.Join(in, "a.csv")}, filepath.Join(t.TempDir(), "set"), "wds", "none", 1
		if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
}

// TestCopiedWindowsOfChangedInputs: windows are of the rows that the plan has seen.
func TestCopiedWindowsOfChangedInputs(t *testing.T) {
	in := t.TempDir()
	hours(t, in, "a.csv", sixHourly(30))
	s := Settings{Inputs: []string{filepath.Join(in, "a.csv")}, Output: filepath.Join(t.TempDir(), "set"), Format: "wds", Window: []string{"time=1+1"}, Sync: "none", Jobs: 1, IgnoreTimes: true}
	p, err := Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	b, err := os.ReadFile(s.Inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Inputs[0], bytes.Replace(b, []byte("\n24,"), []byte("\n25,"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Work(context.Background(), s.Output, Task{Tasks: 1}, s); !errors.Is(err, shardify.ErrChanged) {
		t.Error(fmt.Sprint(err))
	}
}

// TestCountsOfCopiedWindows: what operations count is counted once a row, and not once a window.
func TestCountsOfCopiedWindows(t *testing.T) {
	in := filepath.Join(t.TempDir(), "a.csv")
	text := "time,v\n"
	for i := range 200 {
		v := fmt.Sprint(float64(i) / 4)
		if i%7 == 0 {
			v = "nan"
		}
		text += fmt.Sprintf("%d,%s\n", 6*i, v)
	}
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s := Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "rows"), Format: "mmap", Window: []string{"time=3+2"}, NaN: []string{"v=fill=0"}, Sync: "none", Jobs: 1}
	rows, err := Convert(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{1, 3, 50} {
		s.Output, s.Format, s.ShardSamples, s.Jobs = filepath.Join(t.TempDir(), "set"), "wds", n, 3
		got, err := Convert(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := rows.Manifest.Counts, got.Manifest.Counts; len(a) == 0 || !reflect.DeepEqual(a, b) {
			t.Errorf("%d a shard: %+v, want %+v", n, b, a)
		}
	}
}

// TestCopiedWindowsOfStreams: deflated arrays are read in order, and a row is in windows of several
// spans.
func TestCopiedWindowsOfStreams(t *testing.T) {
	in := t.TempDir()
	for k := range 3 {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		const rows, wide = 400, 800
		for name, size := range map[string]int{"time": 1, "x": wide} {
			f, err := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate})
			if err != nil {
				t.Fatal(err)
			}
			values, dims := make([]float32, rows*size), []int64{rows}
			for i := range values {
				values[i] = float32((k*rows + i/size) * (1 + 5*(i%size)))
			}
			if size > 1 {
				dims = append(dims, wide)
			}
			if _, err := f.Write(append(npy.AppendHeader(nil, shardify.F32, dims), shardify.Bytes(values)...)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("%d.npz", k)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "set"), Format: "wds", ShardSize: 3 << 20, Window: []string{"time=3+1,stride=2"}, Sync: "none", Jobs: 2, Memory: 64 << 20}
	want := inTwoSteps(t, c, "")
	if _, err := Convert(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, a := members(t, c.Output)
	_, b := members(t, want)
	if len(a) != 4*599 || !slices.Equal(a, b) {
		t.Errorf("%d members, want %d, or other values", len(a), len(b))
	}
}

// TestWindowsOfPatches: a window has one patch of each of its rows. As a view and copied they are
// the same, and those that a Loader finds.
func TestWindowsOfPatches(t *testing.T) {
	in := t.TempDir()
	a := maskedStore(t, filepath.Join(in, "a.zarr"), 0, 12, make([]float32, 6))
	b := maskedStore(t, filepath.Join(in, "b.zarr"), 15, 9, make([]float32, 6))
	for _, text := range []string{"time=2+1,lead=2", "time=1+2,stride=3", "3+1"} {
		c := Settings{Inputs: []string{a, b}, Output: filepath.Join(t.TempDir(), "set"), Format: "mmap", ShardSamples: 7, Window: []string{text}, Patch: []string{"latitude=1,longitude=2,overlap=1"}, Columns: []string{"x", "time"}, Sync: "none", Jobs: 2}
		if _, err := Convert(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(t.Context(), []string{c.Output}, verify.Options{}, Hooks{}); err != nil || len(r.Problems) > 0 {
			t.Errorf("%s: %v, %+v", text, err, r.Problems)
		}
		m, _ := manifestOf(t, c.Output)
		v := m.Windows["window"]
		const each = 4 // patches of a row: two latitudes, two pairs of longitudes
		// What a value of x says: ten times the time, and the place.
		var want []string
		n, at := int64(0), []int{0, 12, 15, 24}
		spec := struct{ in, out []int64 }{[]int64{-each, 0}, []int64{2 * each}}
		switch text {
		case "time=1+2,stride=3":
			spec = struct{ in, out []int64 }{[]int64{0}, []int64{each, 2 * each}}
		case "3+1":
			spec = struct{ in, out []int64 }{[]int64{-2 * each, -each, 0}, []int64{each}}
		}
		if !slices.Equal(v.In, spec.in) || !slices.Equal(v.Out, spec.out) {
			t.Fatalf("%s: rows %v and %v", text, v.In, v.Out)
		}
		all := append(slices.Clone(v.In), v.Out...)
		for k := 0; k < len(at); k += 2 {
			first := at[k] - int(all[0])/each
			for h := first; h+int(all[len(all)-1])/each < at[k+1]; h++ {
				if text == "time=1+2,stride=3" && h%3 != 0 {
					continue
				}
				for _, corner := range []int{0, 1, 3, 4} {
					rows := ""
					for _, o := range all {
						rows += fmt.Sprint(10*(h+int(o)/each)+corner, " ")
					}
					want = append(want, rows)
					n++
				}
			}
		}
		if v.Len() != n {
			t.Errorf("%s: %d windows, want %d", text, v.Len(), n)
		}
		check := func(what, dir, window string) {
			x, y, k := samplesOf(t, dir, "x", window, 1)
			var got []string
			for _, id := range slices.Sorted(maps.Keys(x.rows)) {
				rows := ""
				for _, side := range [][]byte{x.rows[id], y.rows[id]} {
					for i := 0; i < len(side); i += 8 { // the first of two numbers of a patch
						rows += fmt.Sprint(shardify.View[float32](side[i : i+4])[0], " ")
					}
				}
				got = append(got, rows)
			}
			if k != int(n) || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %d windows %q, want %q", text, what, k, got, want)
			}
		}
		check("view", c.Output, "window")
		if text != "3+1" { // which ends where inputs do, and they are not in the set
			check("found by the loader", c.Output, text)
		}
		c.Format, c.Output = "wds", filepath.Join(t.TempDir(), "copied")
		if _, err := Convert(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		check("copied", c.Output, "")
	}
}
