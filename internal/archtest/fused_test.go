package archtest

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayFuse is what may compute x*y + z in one step: it draws and reports, and no byte of a
// data set follows from it. elementary asks for it, as math.FMA, which is alike everywhere.
var mayFuse = []string{"internal/page", "internal/inspect", "internal/trainer", "gpuload", "internal/elementary"}

var (
	fusedCall = regexp.MustCompile(`\tFN?M(ADD|SUB)[DS] `)
	packageOf = regexp.MustCompile(`^TEXT ` + module + `/?((?:[^/. ]+/)*[^/. ]*)\.`)
)

// TestNoProductIsFused: compilers for arm64 and others compute x*y + z with one rounding,
// that for amd64 with two, so that the same plan would give other bytes there. What has to
// be alike everywhere rounds products: float64(x*y) + z.
func TestNoProductIsFused(t *testing.T) {
	program := filepath.Join(t.TempDir(), "shardify")
	build := exec.Command("go", "build", "-o", program, "./cmd/shardify")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := exec.Command("go", "tool", "objdump", "-s", "^"+module+"[./]", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkg string
	seen, fused := map[string]bool{}, 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if m := packageOf.FindStringSubmatch(line); m != nil {
			pkg = m[1]
			seen[pkg] = true
		}
		if !fusedCall.MatchString(line) {
			continue
		}
		fused++
		if place := strings.Fields(line)[0]; !slices.Contains(mayFuse, pkg) {
			t.Errorf("%s: %s adds a product that is not rounded", pkg, place)
		}
	}
	for _, want := range []string{"", "augment", "convert", "internal/shape/expr", "readers/hdf5/internal/h5", "writers/mmap"} {
		if !seen[want] {
			t.Errorf("no code of %q was looked at", want)
		}
	}
	if fused == 0 { // those that may draw do
		t.Error("not one fused product was found in the whole program: are the instructions called otherwise?")
	}
}
