package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mostLines is what a program that does everything once may take.
const mostLines = 30

// TestProgramOutsideTheModule runs the program of docs/reference/go.md in a module of its own, which
// can import what is public only.
func TestProgramOutsideTheModule(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program := ""
	for _, b := range blocks(t, filepath.Join(root, "docs/reference/go.md")) {
		if b.lang == "go" {
			program = b.text
		}
	}
	if n := strings.Count(program, "\n"); n == 0 || n > mostLines {
		t.Errorf("%d lines, want at most %d", n, mostLines)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, needs, _ := strings.Cut(string(mod), "\n")
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	digits, err := os.ReadFile(filepath.Join(root, "testdata/demo/digits.npz"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": program, "go.sum": string(sum), "digits.npz": string(digits),
		"go.mod": "module example\n" + needs + "\nrequire github.com/shardify/shardify v0.0.0\nreplace github.com/shardify/shardify => " + root + "\n",
		// In a workspace the packages are compiled as they are in the module: once.
		"go.work": "go " + version(t, needs) + "\nuse .\nuse " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-trimpath", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var told strings.Builder // of what is fetched, too
	cmd.Stderr = &told
	out, err := cmd.Output()
	if want := "901 samples, 0 problems, 4096 bytes of x in a batch\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s\n%s", err, out, want, told.String())
	}
}

// version is that of Go in a go.mod.
func version(t *testing.T, mod string) string {
	t.Helper()
	for line := range strings.Lines(mod) {
		if v, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatal("go.mod names no version of Go")
	return ""
}
