package endtoend

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
				args[i] = server.URL + "/" + args[i]
			}
			cmd := exec.Command(bin+"shardify", append(args, "-q")...)
			cmd.Dir = dir
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
	for _, set := range []string{"local-files-wds", "local-npz-mmap"} {
		address := server.URL + "/" + set
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
		if out, err := exec.Command(bin+"shardify", "verify", address).CombinedOutput(); err == nil {
			t.Errorf("a flipped bit in %s is not found:\n%s", name, out)
		}
	}
}
