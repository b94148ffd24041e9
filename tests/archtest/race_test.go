package archtest

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const racePackage = module + "/tests/race"

// notRaced are packages that start goroutines, and that make test does not test with -race.
var notRaced = []struct{ pattern, why string }{
	{"cmd/*", "scripts of commands: what goroutines share there is tested below pipeline"},
	{"cmd/internal/*", "scripts of commands: what goroutines share there is tested below pipeline"},
	{"tokenize", "what goroutines share there is tested in transform"},
	{"tests/faulttest", "starts programs, which are built without -race"},
}

// conformance are suites that start goroutines for the tests that call them.
var conformance = []string{module + "/readers/readertest", module + "/transform/transformtest"}

// TestWhatStartsGoroutinesIsRaced: the tests of a package that starts goroutines, itself or in
// its tests, import tests/race, which is how make test finds it.
func TestWhatStartsGoroutinesIsRaced(t *testing.T) {
	exempt := map[string]bool{}
	raced := 0
	for _, p := range list(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var starts, declares, tested bool
		for _, f := range files {
			_, file := parse(t, f)
			inTest := strings.HasSuffix(f, "_test.go")
			tested = tested || inTest
			starts = starts || startsGoroutines(file)
			for _, imp := range file.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				starts = starts || slices.Contains(conformance, path)
				declares = declares || inTest && path == racePackage
			}
		}
		name := short(p.ImportPath)
		i := slices.IndexFunc(notRaced, func(n struct{ pattern, why string }) bool { return match(n.pattern, name) })
		switch {
		case declares && i >= 0:
			t.Errorf("%s imports tests/race: make test runs it with -race, and the list says that it does not (%s)", name, notRaced[i].why)
		case declares:
			raced++
		case i >= 0:
			exempt[notRaced[i].pattern] = exempt[notRaced[i].pattern] || starts
		case starts && tested:
			t.Errorf("%s starts goroutines, and no test of it imports tests/race: make test does not run it with -race", name)
		}
	}
	for _, n := range notRaced {
		if !exempt[n.pattern] {
			t.Errorf("%s starts no goroutines: the line can go", n.pattern)
		}
	}
	t.Logf("%d packages are tested with -race", raced)
}

// startsGoroutines reports whether a file has a go statement, or calls the method Go of a group.
func startsGoroutines(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
