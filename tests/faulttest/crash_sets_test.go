//go:build linux && amd64

package faulttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCrashAtEveryCallOfMergeAndExtend: kill merge-sets and extend right after, and
// right before, their n-th state-changing system call, and let each of them fail. A set
// that is extended stays one at every moment: all that its manifest names is there,
// unchanged. The same command again gives the bytes of an unbroken run and leaves no
// temporary file.
func TestCrashAtEveryCallOfMergeAndExtend(t *testing.T) {
	NeedsTrace(t)
	step := 61
	if Long() {
		step = 1
	}
	points := 0
	for _, c := range []struct {
		format string
		flags  []string
	}{
		{"mmap", []string{"--provenance"}}, {"wds", nil}, {"wds", []string{"--split", "train=0.6,val=0.4"}},
	} {
		t.Run(c.format, func(t *testing.T) {
			dir := Fast(t)
			_, one := input(t)
			_, two := input(t)
			a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			for out, in := range map[string]string{a: one, b: two} {
				args := append([]string{"shardify", "convert", in, "-o", out, "--format", c.format, "--shard-samples", "5", "--quiet"}, c.flags...)
				if code, text := Run(t, args...); code != 0 {
					t.Fatalf("exit %d\n%s", code, text)
				}
			}
			points += setsSweep(t, dir, step, "", func(out string) []string { return []string{"merge-sets", a, b, "-o", out, "--jobs", "1", "--quiet"} })
			points += setsSweep(t, dir, step, "", func(out string) []string {
				return []string{"merge-sets", a, b, "-o", out, "--jobs", "1", "--quiet", "--link", "--unchecked"}
			})
			points += setsSweep(t, dir, step, a, func(out string) []string { return []string{"extend", out, two, "--jobs", "1", "--quiet"} })
		})
	}
	t.Logf("%d points, no set torn, all completed to equal bytes", points)
}

// TestCrashAtEveryCallOfVersions: the same for what makes and deletes versions. The set is the old version or
// the new one at every moment.
func TestCrashAtEveryCallOfVersions(t *testing.T) {
	NeedsTrace(t)
	step := 61
	if Long() {
		step = 1
	}
	points := 0
	for _, c := range []struct {
		format string
		flags  []string
	}{{"mmap", []string{"--provenance"}}, {"wds", nil}, {"wds", []string{"--split", "train=0.6,val=0.4"}}} {
		t.Run(c.format, func(t *testing.T) {
			dir := Fast(t)
			text := "x,y\n"
			for i := range 23 {
				text += fmt.Sprintf("%d,%d.5\n", i, i*i)
			}
			in := filepath.Join(dir, "in.csv")
			if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
			Must(t, append([]string{"shardify", "convert", in, "-o", one, "--format", c.format, "--shard-samples", "5", "--quiet"}, c.flags...)...)
			remove := func(out string) []string {
				return []string{"remove", out, "--where", "x % 5 == 2", "--jobs", "1", "--quiet"}
			}
			points += setsSweep(t, dir, step, one, remove)
			labels := filepath.Join(dir, "labels.csv")
			if err := os.WriteFile(labels, []byte("x,y\n3,7\n17,0.25\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			points += setsSweep(t, dir, step, one, func(out string) []string {
				return []string{"relabel", out, "--labels", labels, "--jobs", "1", "--quiet"}
			})
			copyTree(t, one, two)
			Must(t, append([]string{"shardify"}, remove(two)...)...)
			points += setsSweep(t, dir, step, two, func(out string) []string { return []string{"checkout", out, "1", "--jobs", "1", "--quiet"} })
			points += setsSweep(t, dir, step, two, func(out string) []string { return []string{"gc", out, "--keep", "1", "--yes", "--quiet"} })
		})
	}
	t.Logf("%d points, no set torn, all completed to equal bytes", points)
}

// TestCrashThenAnotherExtension: an extension is killed at each of its calls, and given
// up for one by other inputs. Nothing of it is in the way, and the set is that of the
// others, unless its manifest had come so far that it is part of the set.
func TestCrashThenAnotherExtension(t *testing.T) {
	NeedsTrace(t)
	step := 31
	if Long() {
		step = 1
	}
	dir := Fast(t)
	base := filepath.Join(dir, "base")
	_, one := input(t)
	_, two := input(t)
	_, three := input(t)
	b, err := os.ReadFile(three)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1 // other samples
	if err := os.WriteFile(three, b, 0o666); err != nil {
		t.Fatal(err)
	}
	Must(t, "shardify", "convert", one, "-o", base, "--format", "wds", "--shard-samples", "5", "--quiet", "--split", "train=0.6,val=0.4")
	extend := func(out, in string, more ...string) []string {
		return append([]string{"extend", out, in, "--jobs", "1", "--quiet"}, more...)
	}
	made := func(name string, inputs ...string) Files {
		out := filepath.Join(dir, name)
		copyTree(t, base, out)
		for _, in := range inputs {
			Must(t, append([]string{"shardify"}, extend(out, in)...)...)
		}
		files, _ := Tree(t, out)
		return files
	}
	alone, both := made("alone", three), made("both", two, three)
	points, part := 0, 0
	for n := 1; ; n += step {
		out := filepath.Join(dir, fmt.Sprint(n))
		copyTree(t, base, out)
		r := Trace(t, []string{"-n", fmt.Sprint(n)}, "shardify", extend(out, two)...)
		if code, text := Run(t, append([]string{"shardify"}, extend(out, three, "--fresh")...)...); code != 0 {
			t.Fatalf("point %d: the other extension exits %d\n%s", n, code, text)
		}
		switch got, temps := Tree(t, out); {
		case len(temps) > 0:
			t.Errorf("point %d: left %v", n, temps)
		case maps.Equal(got, both):
			part++
		case !maps.Equal(got, alone):
			t.Errorf("point %d: %v, want %v", n, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(alone)))
		}
		os.RemoveAll(out)
		if !r.Hit {
			break
		}
		points++
	}
	if part == 0 || part > points {
		t.Errorf("at %d of %d points the first extension is part of the set", part, points)
	}
	t.Logf("%d points, all gave way to another extension, or were part of the set already (%d)", points, part)
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if text, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// setsSweep runs a command that changes out, which begins as a copy of base.
func setsSweep(t *testing.T, dir string, step int, base string, command func(out string) []string) (points int) {
	t.Helper()
	fresh := func(out string) {
		if base == "" {
			return
		}
		copyTree(t, base, out)
	}
	clean := filepath.Join(dir, "clean")
	os.RemoveAll(clean)
	fresh(clean)
	if code, text := Run(t, append([]string{"shardify"}, command(clean)...)...); code != 0 {
		t.Fatalf("exit %d\n%s", code, text)
	}
	want, _ := Tree(t, clean)
	var ids []string
	if base != "" {
		ids = []string{idsOf(t, base), idsOf(t, clean)}
	}
	for _, what := range []string{"kill", "before", "EIO"} {
		for n := 1 + points%step; ; n += step {
			out := filepath.Join(dir, fmt.Sprintf("%s-%d", what, n))
			fresh(out)
			_, text := Run(t, append([]string{"crashat", "-n", fmt.Sprint(n), "-what", what, Program("shardify")}, command(out)...)...)
			hit := !strings.Contains(text, " nohit ")
			if what == "EIO" && strings.Contains(text, "corrupt data") {
				t.Fatalf("point %d (%s) of %v: an error of the disk passes for damage\n%s", n, what, command(out), text)
			}
			whole(t, out, base != "", n)
			if base != "" {
				if got := idsOf(t, out); !slices.Contains(ids, got) {
					t.Fatalf("point %d (%s) of %v: the set is %s, neither the old nor the new one: %v", n, what, command(out), got, ids)
				}
			}
			if code, text := Run(t, append([]string{"shardify"}, command(out)...)...); code != 0 {
				t.Fatalf("point %d (%s) of %v: the next run exits %d\n%s", n, what, command(out), code, text)
			}
			got, temps := Tree(t, out)
			if !maps.Equal(want, got) {
				t.Fatalf("point %d (%s) of %v: other bytes after the next run: %v, want %v", n, what, command(out), slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
			if _, err := os.Stat(filepath.Join(out, ".shardify/extend/work")); err == nil || len(temps) > 0 {
				t.Errorf("point %d (%s): left %v", n, what, temps)
			}
			os.RemoveAll(out)
			if !hit {
				break
			}
			points++
		}
	}
	return points
}

// idsOf are the ids of a set and of its splits.
func idsOf(t *testing.T, dir string) (ids string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*/shardify.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(all, filepath.Join(dir, "shardify.json")) {
		ids += strings.TrimSpace(Must(t, "shardify", "id", filepath.Dir(name))) + " "
	}
	return ids
}

// whole checks that a set is one, if it must be or says so: shards of the sizes that the
// manifest has.
func whole(t *testing.T, out string, must bool, n int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, "shardify.json"))
	if err != nil {
		if must {
			t.Fatalf("point %d: %v", n, err)
		}
		return
	}
	var m struct {
		Shards []struct {
			Name  string
			Bytes int64
			Files []struct {
				Name  string
				Bytes int64
			}
		}
		Splits map[string]any
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("point %d: %v", n, err)
	}
	size := func(name string, want int64) {
		if st, err := os.Stat(filepath.Join(out, name)); err != nil || st.Size() != want {
			t.Fatalf("point %d: %s: %v, want %d bytes", n, name, err, want)
		}
	}
	for _, s := range m.Shards {
		size(s.Name, s.Bytes)
		for _, f := range s.Files {
			size(f.Name, f.Bytes)
		}
	}
	for split := range m.Splits {
		whole(t, filepath.Join(out, split), true, n)
	}
	if len(m.Splits) == 0 {
		return
	}
	if code, text := Run(t, "verify", out, "--json"); code != 0 && code != 3 {
		t.Fatalf("point %d: verify exits %d\n%s", n, code, text)
	}
}
