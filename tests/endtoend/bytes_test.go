package endtoend

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/programs"
	"github.com/zeebo/xxh3"
)

var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "endtoend-")
	if err != nil {
		panic(err)
	}
	bin = dir + string(filepath.Separator)
	if err := programs.Build("../..", dir, []string{"CGO_ENABLED=0"}, "./cmd/shardify", "./cmd/verify"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(bin+args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// published is the digest of every file outside the private folder.
func published(t *testing.T, dir string) map[string]xxh3.Uint128 {
	t.Helper()
	files := map[string]xxh3.Uint128{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if strings.HasPrefix(rel, ".shardify") {
			return nil
		}
		b, err := os.ReadFile(p)
		files[rel] = xxh3.Hash128(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// copies makes a folder with some copies of a file of the demo.
func copies(t *testing.T, dir, file string, names ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testdata/demo", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inputs makes the handwritten digits as PNGs, and as several NPZ files.
func inputs(t *testing.T, dir string) (images, arrays string) {
	t.Helper()
	images, arrays = filepath.Join(dir, "digits"), filepath.Join(dir, "arrays")
	cmd := exec.Command("go", "run", "./testdata/demo", "testdata/demo/digits.npz", images)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	copies(t, arrays, "digits.npz", "a.npz", "b.npz", "c.npz")
	return images, arrays
}

func TestEndToEndSameBytesWhateverJobsTasksMemoryAndPlace(t *testing.T) {
	dir := t.TempDir()
	images, arrays := inputs(t, dir)
	hdf5 := copies(t, filepath.Join(dir, "hdf5"), "digits.h5", "a.h5", "b.h5")
	trees := copies(t, filepath.Join(dir, "trees"), "HZZ.root", "a.root", "b.root")
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, in := range []string{images, arrays, hdf5, trees} {
		for _, format := range []string{"wds", "mmap"} {
			name := filepath.Base(in) + "-" + format
			var want map[string]xxh3.Uint128
			same := func(what, out string) {
				t.Helper()
				got := published(t, out)
				if want == nil {
					want = got
				} else if !maps.Equal(want, got) {
					for _, n := range slices.Sorted(maps.Keys(want)) {
						if want[n] != got[n] {
							t.Errorf("%s: %s: %s differs", name, what, n)
						}
					}
					t.Fatalf("%s: %s: %d files, want %d", name, what, len(got), len(want))
				}
				compared++
				os.RemoveAll(out)
			}
			flags := []string{"--format", format, "--shard-samples", "150", "--quiet", "--sync", "none"}
			for _, jobs := range []string{"1", "2", "7"} {
				for _, memory := range []string{"64MiB", "4GiB"} {
					out := filepath.Join(t.TempDir(), "out")
					run(t, append([]string{"shardify", "convert", in, "-o", out, "--jobs", jobs, "--memory", memory}, flags...)...)
					same("jobs "+jobs+" memory "+memory, out)
				}
			}
			many := 20
			if os.Getenv("SHARDIFY_LONG") != "" {
				many = 100
			}
			for _, tasks := range []int{1, 3, many} {
				out := filepath.Join(t.TempDir(), "out")
				run(t, append([]string{"shardify", "plan", in, "-o", out}, flags[:4]...)...)
				for i := tasks - 1; i >= 0; i-- {
					run(t, "shardify", "work", out, "--task", fmt.Sprint(i), "--tasks", fmt.Sprint(tasks), "--quiet")
				}
				run(t, "shardify", "merge", out)
				same(fmt.Sprintf("%d tasks", tasks), out)
			}
			out := filepath.Join(t.TempDir(), "out")
			run(t, append([]string{"shardify", "convert", filepath.Join(moved, filepath.Base(in)), "-o", out}, flags...)...)
			run(t, "verify", out, "--against", in)
			same("inputs copied elsewhere", out)
		}
	}
	t.Logf("%d conversions, equal bytes within each of 8 kinds", compared)
}

// TestEndToEndThereAndBack: wds -> mmap -> wds gives the first shards again.
// Rows are named by input and number, so their names come back only when there is
// one input.
func TestEndToEndThereAndBack(t *testing.T) {
	dir := t.TempDir()
	images, arrays := inputs(t, dir)
	for _, in := range []string{images, filepath.Join(arrays, "a.npz")} {
		for _, formats := range [][2]string{{"wds", "mmap"}, {"mmap", "wds"}} {
			base := filepath.Join(t.TempDir(), "set")
			from := in
			for i, f := range []string{formats[0], formats[1], formats[0]} {
				to := fmt.Sprintf("%s%d", base, i)
				run(t, "shardify", "convert", from, "-o", to, "--format", f, "--shard-samples", "400", "--quiet", "--sync", "none")
				run(t, "verify", to)
				from = to
			}
			first, last := published(t, base+"0"), published(t, base+"2")
			for n := range first {
				if strings.Contains(n, "shard-") && first[n] != last[n] {
					t.Errorf("%s: %s -> %s -> %s: %s differs", filepath.Base(in), formats[0], formats[1], formats[0], n)
				}
			}
		}
	}
}

// TestEndToEndBothProgramsAreStatic reads the ELF header's needs by name.
func TestEndToEndBothProgramsAreStatic(t *testing.T) {
	for _, p := range []string{"shardify", "verify"} {
		b, err := os.ReadFile(bin + p)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("/ld-linux")) || bytes.Contains(b, []byte("libc.so.6\x00")) {
			t.Errorf("%s asks for a dynamic loader", p)
		}
	}
}
