package endtoend

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/tests/servertest"
)

// TestEndToEndObjectStores: the conversions of the goldens make the same files in an object
// store as in a folder, from files and from objects, and verify finds nothing wrong.
func TestEndToEndObjectStores(t *testing.T) {
	dir := workFolder(t)
	servertest.Alone(t)
	srv := s3test.Start(t)
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		srv.Set("/data/in/"+rel, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n, compared := 0, 0
	for i, g := range goldens {
		// What needs folders is refused, by a test of its own.
		if text := strings.Join(g.lines, " "); strings.Contains(text, "merge-sets") || strings.Contains(text, "extend") {
			continue
		}
		if testing.Short() && i%6 > 0 {
			continue
		}
		for _, where := range []string{"local", "to", "from"} {
			// Those that name their inputs in shards have other names there.
			if where == "from" && (len(g.lines) > 1 || strings.Contains(g.lines[0], "--provenance") || strings.Contains(g.lines[0], "--from synth")) {
				continue
			}
			out := map[string]string{"local": "local-" + g.name, "to": "s3://data/to-" + g.name, "from": "s3://data/from-" + g.name}[where]
			for _, line := range g.lines {
				args := strings.Fields(strings.ReplaceAll(line, "OUT", out))
				for i := 1; where == "from" && args[i] != "-o"; i++ {
					args[i] = "s3://data/in/" + args[i]
				}
				cmd := exec.Command(bin+"shardify", append(args, "-q")...)
				cmd.Dir = dir
				if b, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %v\n%s", g.name, args, err, b)
				}
			}
			if where == "local" {
				continue
			}
			n++
			want, got := contents(t, filepath.Join(dir, "local-"+g.name)), srv.Objects(strings.TrimPrefix(out, "s3:/")+"/")
			for name := range got {
				if _, ok := want[name]; !ok && !private(name) {
					t.Errorf("%s, %s: %s is there", g.name, where, name)
				}
			}
			for name, b := range want {
				// The manifest names the inputs.
				if inputs := where == "from" || len(g.lines) > 1; got[name] != b && !(inputs && filepath.Base(name) == "shardify.json") {
					t.Errorf("%s, %s: %s has other bytes", g.name, where, name)
				}
				compared++
			}
			set := out
			if _, ok := got["shardify.json"]; !ok {
				set += "/b"
			}
			cmd := exec.Command(bin+"shardify", "verify", set)
			cmd.Dir = dir
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: verify %s: %v\n%s", g.name, set, err, b)
			}
		}
	}
	if left := srv.Uploads(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	t.Logf("%d conversions, %d files", n, compared)
}

func private(name string) bool {
	return strings.HasPrefix(name, ".shardify/") || strings.Contains(name, "/.shardify/")
}

// contents are the files of a data set, or of several.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range published(t, dir) {
		if private(name) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

// TestEndToEndNoSockets: without addresses the program opens no connection.
func TestEndToEndNoSockets(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("skipped: no strace")
	}
	dir := workFolder(t)
	log := filepath.Join(dir, "log")
	trace := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(strace, append([]string{"-f", "--seccomp-bpf", "-qq", "-e", "trace=socket,connect,bind", "-o", log, bin + "shardify"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		b, e := os.ReadFile(log)
		if e != nil || strings.Contains(string(out), "strace:") {
			t.Skipf("skipped: strace may not trace: %v\n%s", err, out)
		}
		if err != nil && !strings.HasPrefix(args[len(args)-1], "http") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(b)
	}
	for _, args := range [][]string{{"convert", "digits.npz", "-o", "out", "--shuffle", "global"}, {"inspect", "out"}, {"verify", "out"}, {"status", "out"}, {"gc", "out"}} {
		if calls := trace(args...); strings.Contains(calls, "socket(") {
			t.Errorf("%v opens a socket:\n%s", args, calls)
		}
	}
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	if calls := trace("inspect", nothing.URL+"/x.npz"); !strings.Contains(calls, "socket(") {
		t.Errorf("control: no socket is seen:\n%s", calls)
	}
}
