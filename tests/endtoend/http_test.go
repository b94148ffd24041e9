package endtoend

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/servertest"
)

// TestEndToEndInputsOfAWebServer: the conversions of the goldens make the same shards from
// addresses as from files.
func TestEndToEndInputsOfAWebServer(t *testing.T) {
	dir := workFolder(t)
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PROPFIND" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	conversions(t, dir, server.URL)
	setsAt(t, dir, server.URL, func(string) {})
}

// TestEndToEndInputsOfAnObjectStore: and from those of S3, where data sets are read, too.
func TestEndToEndInputsOfAnObjectStore(t *testing.T) {
	servertest.S3(t, "versitygw")
	dir := workFolder(t)
	servertest.Upload(t, dir, "in")
	conversions(t, dir, "s3://data/in")
	setsAt(t, dir, "s3://data/in", func(set string) { servertest.Upload(t, filepath.Join(dir, set), "in/"+set) })
}

// conversions makes those of the goldens from files, and from where these can be read, too.
func conversions(t *testing.T, dir, address string) {
	t.Helper()
	n := 0
	for _, g := range goldens {
		line := g.lines[0]
		if len(g.lines) > 1 || strings.Contains(line, "--from synth") || strings.Contains(line, "--provenance") {
			continue
		}
		n++
		for _, where := range []string{"local", "web"} {
			args := strings.Fields(strings.ReplaceAll(line, "OUT", where+"-"+g.name))
			for i := 1; where == "web" && args[i] != "-o"; i++ {
				args[i] = address + "/" + args[i]
			}
			cmd := exec.Command(bin+"shardify", append(args, "-q")...)
			cmd.Dir = dir
			if n%2 == 0 { // of conversions with the same inputs, too
				cmd.Env = append(os.Environ(), "SHARDIFY_CACHE="+filepath.Join(dir, "cache"))
			}
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %v\n%s", g.name, args, err, b)
			}
		}
		local, web := published(t, filepath.Join(dir, "local-"+g.name)), published(t, filepath.Join(dir, "web-"+g.name))
		if len(local) != len(web) || len(local) < 2 {
			t.Errorf("%s: %d files, and %d", g.name, len(local), len(web))
		}
		for name, digest := range local {
			// The manifest names the inputs.
			if filepath.Base(name) != "shardify.json" && web[name] != digest {
				t.Errorf("%s: %s has other bytes", g.name, name)
			}
		}
	}
	t.Logf("%d conversions", n)
}

// setsAt reads and checks data sets that conversions made, there. publish brings them.
func setsAt(t *testing.T, dir, where string, publish func(set string)) {
	t.Helper()
	for _, set := range []string{"local-files-wds", "local-npz-mmap"} {
		address := where + "/" + set
		publish(set)
		run(t, "shardify", "verify", address)
		run(t, "shardify", "inspect", address)
		run(t, "shardify", "bench", address, "--batch", "3", "--seconds", "1")
		run(t, "shardify", "stage", address, filepath.Join(dir, "staged-"+set))
		run(t, "shardify", "convert", address, "-o", filepath.Join(dir, "again-"+set))
		run(t, "verify", filepath.Join(dir, "staged-"+set))
		name := filepath.Join(dir, set, "shard-000000"+map[bool]string{true: ".tar", false: ".safetensors"}[set == "local-files-wds"])
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2]++
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		publish(set)
		if out, err := exec.Command(bin+"shardify", "verify", address).CombinedOutput(); err == nil {
			t.Errorf("a flipped bit in %s is not found:\n%s", name, out)
		}
	}
}

// TestEndToEndCacheOnDisk: a second process fetches next to nothing, damage of the cache is found
// and nothing of a secret is in it.
func TestEndToEndCacheOnDisk(t *testing.T) {
	dir := t.TempDir()
	run(t, "shardify", "convert", "--from", "synth", "--samples", "20000", "--schema", "x:f32[64],y:i32", "--shard-size", "1MiB", "-o", filepath.Join(dir, "set"))
	old := time.Now().Add(-time.Hour) // what was written just now may be written again within the second
	for name := range published(t, filepath.Join(dir, "set")) {
		if err := os.Chtimes(filepath.Join(dir, "set", name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	var sent atomic.Int64
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PROPFIND" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		files.ServeHTTP(&countingWriter{w, &sent}, r)
	}))
	defer server.Close()
	address, cache := server.URL+"/set", filepath.Join(dir, "cache")
	verify := func() int64 {
		t.Helper()
		before := sent.Load()
		run(t, "shardify", "verify", address, "--cache", cache, "--cache-size", "64MiB")
		return sent.Load() - before
	}
	first := verify()
	if again := verify(); again*4 > first {
		t.Errorf("%d bytes, and then %d again", first, again)
	}
	blocks, err := filepath.Glob(filepath.Join(cache, "shardify-cache-1/blocks/*/*"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(blocks, err)
	}
	for _, name := range blocks {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 4
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if healed := verify(); healed*4 < first {
		t.Errorf("damaged blocks are not fetched again: %d bytes", healed)
	}
	if again := verify(); again*4 > first {
		t.Errorf("%d bytes after the damage was repaired", again)
	}
	run(t, "shardify", "bench", address, "--cache", cache, "--batch", "3", "--seconds", "1", "--shuffle", "global")
	run(t, "shardify", "stage", address, filepath.Join(dir, "staged"), "--cache", cache)
	run(t, "shardify", "inspect", address, "--cache", cache)
	run(t, "shardify", "convert", address, "-o", filepath.Join(dir, "again"), "--cache", cache)
	run(t, "shardify", "cache", "status", cache)
	run(t, "shardify", "cache", "clear", cache)
	if blocks, _ = filepath.Glob(filepath.Join(cache, "shardify-cache-1/blocks/*/*")); len(blocks) > 0 {
		t.Error(blocks)
	}
	for _, args := range [][]string{{"verify", address, "--cache-size", "1GiB"}, {"verify", address, "--cache", cache, "--cache-size", "1"}, {"cache", "status"}} {
		cmd := exec.Command(bin+"shardify", args...)
		if cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%v: %v", args, cmd.ProcessState)
		}
	}
}

type countingWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.n.Add(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

// TestEndToEndColumnsOfHDF5: of a file on a web server little more is fetched than the columns
// that are wanted, by few requests.
func TestEndToEndColumnsOfHDF5(t *testing.T) {
	dir := t.TempDir()
	packed, err := os.Open("../../readers/hdf5/testdata/wide.h5.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "wide.h5"), b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var sent, requests atomic.Int64
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(&countingWriter{w, &sent}, r)
	}))
	defer server.Close()
	for _, columns := range []string{"c1,c3", "c0,c4", "c2,c5"} { // chunked, contiguous, both
		sent.Store(0)
		requests.Store(0)
		local, web := filepath.Join(dir, "local-"+columns), filepath.Join(dir, "web-"+columns)
		run(t, "shardify", "convert", filepath.Join(dir, "wide.h5"), "-o", local, "--columns", columns)
		run(t, "shardify", "convert", server.URL+"/wide.h5", "-o", web, "--columns", columns)
		a, b := published(t, local), published(t, web)
		for name, digest := range a {
			if filepath.Base(name) != "shardify.json" && b[name] != digest {
				t.Errorf("%s: %s has other bytes", columns, name)
			}
		}
		const wanted = 2 * 4_000_000
		if n, r := sent.Load(), requests.Load(); n > wanted*12/10 || r > 40 {
			t.Errorf("%s: %d bytes by %d requests for %d", columns, n, r, wanted)
		} else {
			t.Logf("%s: %.3f of the columns' bytes, %d requests", columns, float64(n)/wanted, r)
		}
	}
}
