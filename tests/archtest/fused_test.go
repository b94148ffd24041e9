package archtest

import (
	"bufio"
	"bytes"
	"go/ast"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/programs"
)

// mayFuse is what may compute x*y + z in one step, and with functions whose last bits depend
// on the machine: it draws and reports, and no byte of a data set follows from it.
var mayFuse = []string{"pipeline/inspect/page", "pipeline/inspect", "cmd/internal/trainer", "gpuload"}

var (
	fusedCall = regexp.MustCompile(`\tFN?M(ADD|SUB)[DS] `)
	packageOf = regexp.MustCompile(`^TEXT ` + module + `/?((?:[^/. ]+/)*[^/. ]*)\.`)
)

// TestNoProductIsFused: compilers for arm64 and others compute x*y + z with one rounding,
// that for amd64 with two, so that the same plan would give other bytes there. What has to
// be alike everywhere rounds products: float64(x*y) + z.
func TestNoProductIsFused(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "shardify")
	if err := programs.Build("../..", dir, []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0"}, "./cmd/shardify"); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("go", "tool", "objdump", "-s", "^"+module+"[./]", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkg string
	seen, fused := map[string]bool{}, 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Bytes()
		if bytes.HasPrefix(line, []byte("TEXT ")) {
			if m := packageOf.FindSubmatch(line); m != nil {
				pkg = string(m[1])
				seen[pkg] = true
			}
		}
		if !fusedCall.Match(line) {
			continue
		}
		fused++
		if place := strings.Fields(lines.Text())[0]; !slices.Contains(mayFuse, pkg) {
			t.Errorf("%s: %s adds a product that is not rounded", pkg, place)
		}
	}
	for _, want := range []string{"", "augment", "convert", "convert/flow", "plan", "numbers/elementary", "transform/expr", "readers/hdf5/internal/h5", "writers/mmap"} {
		if !seen[want] {
			t.Errorf("no code of %q was looked at", want)
		}
	}
	if fused == 0 { // those that may draw do
		t.Error("not one fused product was found in the whole program: are the instructions called otherwise?")
	}
}

// inexact are the functions of package math that are assembly on some machines, or made of
// products that compilers fuse. numbers/elementary has those that a data set needs.
var inexact = []string{"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cbrt", "Cos", "Cosh", "Erf", "Erfc", "Erfcinv", "Erfinv", "Exp", "Exp2", "Expm1", "Gamma", "Hypot",
	"J0", "J1", "Jn", "Lgamma", "Log", "Log10", "Log1p", "Log2", "Pow", "Sin", "Sincos", "Sinh", "Tan", "Tanh", "Y0", "Y1", "Yn"}

// TestNoLastBitDependsOnTheMachine finds uses of them, and of the library's random numbers
// that are made by them.
func TestNoLastBitDependsOnTheMachine(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if slices.Contains(mayFuse, name) {
			continue
		}
		for _, f := range p.GoFiles {
			fset, file := parse(t, filepath.Join(p.Dir, f))
			for _, imp := range file.Imports {
				if imp.Path.Value == `"math/cmplx"` {
					t.Errorf("%s imports math/cmplx", fset.Position(imp.Pos()))
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if ok && x.Obj == nil && x.Name == "math" && slices.Contains(inexact, sel.Sel.Name) || slices.Contains([]string{"NormFloat64", "ExpFloat64"}, sel.Sel.Name) {
					t.Errorf("%s: the last bits of %s depend on the machine", fset.Position(n.Pos()), sel.Sel.Name)
				}
				return true
			})
		}
	}
}
