// Package archtest holds the rules of who may import whom, as a test.
package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/shardify/shardify"

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	if len(args) == 0 {
		args = []string{module + "/..."}
	}
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Imports,Deps"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// allowed lists, for packages that match a pattern, what of ours they may import
// directly. The first match counts. A package that no pattern names may import
// nothing of ours.
var allowed = []struct {
	pattern string
	may     []string
}{
	{"storage", nil},
	{"storage/local", []string{"", "storage", "storage/local/*", "internal/host"}},
	{"storage/local/*", nil},
	{"storage/*", []string{"", "storage", "storage/*"}},
	{"", []string{"storage"}},
	{"index", []string{""}},
	{"convert/internal/shuffle", []string{"storage", "", "index", "internal/openfiles"}},
	{"convert", []string{"", "storage", "storage/*", "convert/internal/shuffle", "internal/varint", "internal/stall", "index"}},
	{"gpuload/capi", []string{"", "gpuload"}},
	{"gpuload/internal/*", []string{""}},
	{"gpuload/order", nil},
	{"gpuload", []string{"", "gpuload/order", "stage", "internal/half", "index", "dataset", "internal/host"}},
	{"readers", []string{"", "storage", "storage/*", "storage/local/*", "dataset", "readers/*", "internal/walk", "index"}},
	{"readers/wds", []string{"", "storage", "index", "dataset", "internal/inflate", "internal/guard"}},
	{"readers/tar", []string{"", "storage", "storage/*", "internal/varint", "index", "dataset", "internal/inflate", "internal/guard"}},
	{"readers/mmap", []string{"", "storage", "index", "dataset", "internal/guard"}},
	{"readers/readertest", []string{""}},
	{"readers/hdf5/internal/*", []string{"", "internal/inflate", "internal/codec", "internal/guard", "readers/hdf5/internal/*"}},
	{"readers/root/internal/*", []string{"", "internal/half", "internal/inflate", "internal/codec", "internal/guard", "readers/root/internal/*"}},
	{"readers/parquet/internal/*", []string{"", "internal/inflate", "internal/codec", "internal/guard", "readers/parquet/internal/*"}},
	{"readers/hdf5", []string{"", "storage", "storage/*", "storage/local/*", "index", "internal/cf", "internal/columns", "internal/walk", "internal/inflate", "internal/codec", "internal/rows", "internal/guard", "internal/labels", "readers/hdf5/internal/*", "readers/root/internal/*", "readers/parquet/internal/*"}},
	{"readers/*", []string{"", "storage", "storage/*", "storage/local/*", "internal/columns", "internal/walk", "internal/inflate", "internal/codec", "internal/rows", "internal/guard", "internal/labels", "readers/hdf5/internal/*", "readers/root/internal/*", "readers/parquet/internal/*"}},
	{"writers", []string{"", "writers/*"}},
	{"writers/writertest", []string{"", "storage", "storage/*", "index"}},
	{"writers/*", []string{"", "storage", "storage/*", "index"}},
	{"dataset", []string{"", "storage", "storage/*", "index", "internal/columns"}},
	{"internal/walk", []string{"", "storage", "storage/*", "storage/local/*"}},
	{"internal/inflate", nil},
	{"internal/guard", []string{""}},
	{"internal/half", nil},
	{"internal/elementary", nil},
	{"internal/openfiles", nil},
	{"internal/printable", nil},
	{"internal/value", []string{""}},
	{"internal/sets", []string{"", "index", "convert", "dataset", "readers", "verify", "writers", "internal/stall", "storage", "storage/*"}},
	{"pipeline", []string{"", "convert", "index", "dataset", "readers", "verify", "writers", "internal/cluster", "internal/exif", "internal/host", "internal/printable", "internal/sets", "stage", "internal/stall", "internal/suggest", "internal/value", "storage", "storage/*", "transform", "transform/*"}},
	{"internal/suggest", nil},
	{"internal/stall", nil},
	{"internal/varint", nil},
	{"internal/codec", []string{"", "internal/inflate", "internal/guard"}},
	{"internal/columns", []string{"", "internal/suggest"}},
	{"internal/rows", []string{"", "storage", "storage/*", "internal/columns", "internal/openfiles"}},
	{"internal/host", nil},
	{"internal/page", nil},
	{"internal/trainer", []string{"", "gpuload", "internal/page"}},
	{"internal/benchcmd", []string{"", "internal/printable", "internal/value", "storage", "storage/*", "index", "gpuload", "dataset", "internal/cli", "internal/trainer"}},
	{"stage", []string{"", "storage", "storage/*", "index", "dataset", "internal/host", "internal/stall"}},
	{"internal/inspect", []string{"", "storage", "storage/*", "augment", "internal/exif", "readers", "index", "convert", "internal/stats", "internal/page", "internal/half", "internal/printable"}},
	{"internal/exif", []string{""}},
	{"augment", []string{"", "internal/exif", "internal/guard", "internal/half", "internal/elementary"}},
	{"internal/cf", []string{""}},
	{"internal/stats", []string{"", "internal/guard", "internal/half"}},
	{"transform/expr", []string{"", "internal/half", "internal/elementary", "internal/suggest", "internal/guard"}},
	{"transform/transformtest", []string{"", "readers/synth"}},
	{"transform", []string{"", "internal/half", "internal/suggest", "internal/columns", "convert", "augment", "transform/expr"}},
	{"verify", []string{"", "storage", "storage/*", "internal/host", "index", "convert", "readers", "readers/*", "writers", "writers/*"}},
	{"internal/verifycmd", []string{"", "internal/printable", "internal/value", "verify", "internal/cli", "transform"}},
	{"internal/programs", nil},
	{"internal/fakecuda", nil},
	{"internal/crashtest/*", []string{"internal/programs"}},
	{"internal/*", []string{"*"}},
	{"cmd/*", []string{"*"}},
	{"bench", []string{"*"}},
	{"bench/*", []string{"*"}},
}

func match(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	ok, _ := filepath.Match(pattern, name)
	return ok
}

func TestImportsFollowTheDesign(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		i := slices.IndexFunc(allowed, func(a struct {
			pattern string
			may     []string
		}) bool {
			return match(a.pattern, name)
		})
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			short := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
			if i < 0 || !slices.ContainsFunc(allowed[i].may, func(m string) bool { return match(m, short) }) {
				t.Errorf("%s imports %s", p.ImportPath, imp)
			}
		}
		if name == "" {
			for _, d := range p.Deps {
				if first, _, _ := strings.Cut(d, "/"); strings.Contains(first, ".") && d != module+"/storage" {
					t.Errorf("the vocabulary depends on %s; it imports only the standard library", d)
				}
			}
		}
		if strings.HasPrefix(name, "cmd/") && name != "cmd/shardify-gpu" && slices.ContainsFunc(p.Deps, func(d string) bool { return strings.Contains(d, "purego") }) {
			t.Errorf("%s reaches purego: it would no longer be static", name)
		}
	}
}

// TestOnlyTheGPUProgramOpensTheDriver: shardify and verify are static, and the
// program that is not does reach the driver in the build that is meant for it.
func TestOnlyTheGPUProgramOpensTheDriver(t *testing.T) {
	reaches := func(p pkg) bool {
		return slices.ContainsFunc(p.Deps, func(d string) bool { return strings.Contains(d, "purego") })
	}
	programs := []string{module + "/cmd/shardify", module + "/cmd/verify"}
	for _, p := range list(t, programs...) {
		if reaches(p) {
			t.Errorf("%s reaches purego: it would no longer be static", p.ImportPath)
		}
	}
	for _, p := range list(t, "-tags=cuda", module+"/cmd/shardify-gpu", module+"/cmd/verify") {
		if gpu := strings.HasSuffix(p.ImportPath, "shardify-gpu"); gpu != reaches(p) {
			t.Errorf("%s with the tag cuda: reaches purego is %v", p.ImportPath, !gpu)
		}
	}
}

// TestOnlyCommandsPrintAndExit finds uses of the terminal and of the process in
// packages below cmd/.
func TestOnlyCommandsPrintAndExit(t *testing.T) {
	banned := map[string][]string{
		"os":  {"Stdout", "Stderr", "Stdin", "Exit", "Args"},
		"fmt": {"Print", "Println", "Printf"},
		"log": {"Print", "Println", "Printf", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf"},
	}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "cmd") || name == "internal/cli" || strings.HasPrefix(name, "internal/crashtest/") || strings.HasPrefix(name, "bench") {
			continue
		}
		for _, f := range p.GoFiles {
			path := filepath.Join(p.Dir, f)
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(banned[x.Name], sel.Sel.Name) {
					t.Errorf("%s uses %s.%s", fset.Position(n.Pos()), x.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// TestUnsafeStaysInItsFiles keeps unsafe where it can be reviewed.
func TestUnsafeStaysInItsFiles(t *testing.T) {
	ok := []string{"view.go", "storage/local/dirfd/*.go", "internal/inflate/unsafe.go", "index/*.go", "gpuload/*.go", "gpuload/internal/cuda/*.go", "gpuload/capi/*.go"}
	for _, p := range list(t) {
		for _, f := range p.GoFiles {
			path := filepath.Join(p.Dir, f)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module)+"/"+f, "/"))
			for _, imp := range file.Imports {
				if imp.Path.Value == `"unsafe"` && !slices.ContainsFunc(ok, func(g string) bool { return match(g, rel) }) {
					t.Errorf("%s imports unsafe", rel)
				}
			}
		}
	}
}
