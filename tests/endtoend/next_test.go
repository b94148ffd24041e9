package endtoend

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/corpus"
)

// hard are inputs whose samples have no values, or values that convert refuses.
var hard = []string{"h5diff_dset_zero_dim_size1.h5", "zerodim.h5", "empty_3d.npy", "v3_keys.zarr", "text_bad_utf8.db", "bad_blosc2_frame.zarr", "bad_blosc_version.zarr"}

// TestEndToEndNextCommands: whatever inspect proposes for a file of the corpora works as typed,
// and so do the commands of its hints. Payloads are not read by inspect: convert may find damage,
// or refuse a value with a command that works. SHARDIFY_LONG has all files, else it is a sixteenth
// of them, and those that are hard.
func TestEndToEndNextCommands(t *testing.T) {
	path, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	every := 16
	if os.Getenv("SHARDIFY_LONG") != "" {
		every = 1
	}
	counts := map[string]int{}
	for i, in := range inspectable(corpus.Dir(t, "")) {
		if i%every == 0 || slices.Contains(hard, filepath.Base(in)) {
			next(t, in, counts)
		}
	}
	t.Logf("%d inputs with commands, %d refused; %d commands done, %d met damage, %d were refused with a command that works", counts["proposed"], counts["refused"], counts["done"], counts["damaged"], counts["cured"])
	if counts["done"] == 0 || counts["cured"] == 0 {
		t.Error("no command was run")
	}
}

// next runs what inspect prints for an input.
func next(t *testing.T, in string, counts map[string]int) {
	t.Helper()
	var rep struct {
		Command  string
		Commands []string
		Hints    []string
	}
	out, code := shell(t, t.TempDir(), "shardify inspect --json '"+in+"'")
	for d := json.NewDecoder(bytes.NewReader(out)); d.Decode(&rep) == nil; {
	}
	lines := rep.Commands
	if rep.Command != "" {
		lines = append(lines, rep.Command)
	}
	for _, h := range rep.Hints {
		if k := strings.Index(h, "shardify "); k >= 0 {
			lines = append(lines, strings.TrimSuffix(h[k:], "\n"))
		}
	}
	switch {
	case code == 0 && lines == nil && !bytes.Contains(out, []byte(`"type":"dataset"`)):
		t.Errorf("%s: inspect has no command:\n%s", in, out)
	case code == 0:
		counts["proposed"]++
	default:
		counts["refused"]++
	}
	for _, line := range lines {
		dir := t.TempDir()
		text, code := shell(t, dir, line)
		cure := hint.FindSubmatch(text)
		switch {
		case code == 0 || code == 3:
			counts["done"]++
		case code == 1 && bytes.Contains(text, []byte("corrupt data")):
			counts["damaged"]++
		case cure == nil:
			t.Errorf("%s: exit code %d\n%s", line, code, text)
		default:
			if text, code := shell(t, dir, string(cure[1])); code != 0 {
				t.Errorf("%s: exit code %d\n%s", cure[1], code, text)
			}
			counts["cured"]++
		}
		os.RemoveAll(dir)
	}
}

// hint is a command that a refusal ends with.
var hint = regexp.MustCompile(`(?m)^hint: .*\b(shardify convert .*)$`)

// shell runs a command in a folder.
func shell(t *testing.T, dir, line string) (out []byte, code int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	var e *exec.ExitError
	if errors.As(err, &e) {
		return out, e.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return out, 0
}

// inspectable are the files below a folder, and the folders that are one input: Zarr stores and
// data sets.
func inspectable(root string) (all []string) {
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return err
		case d.IsDir():
			for _, mark := range []string{"zarr.json", ".zgroup", ".zarray", "shardify.json", "index.json"} {
				if _, err := os.Stat(filepath.Join(path, mark)); err == nil {
					all = append(all, path)
					return fs.SkipDir
				}
			}
		case ext != ".json" && ext != ".md" && ext != ".py" && ext != ".txt":
			all = append(all, path)
		}
		return nil
	})
	return all
}
