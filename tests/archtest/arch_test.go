// Package archtest tests which package may import which.
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
	Doc        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	if len(args) == 0 {
		args = []string{module + "/..."}
	}
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Doc,GoFiles,Imports,Deps"}, args...)...)
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

func match(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	ok, _ := filepath.Match(pattern, name)
	return ok
}

// TestImportsOfTheVocabulary: it imports only the standard library and our packages.
func TestImportsOfTheVocabulary(t *testing.T) {
	for _, p := range list(t, module) {
		for _, d := range p.Deps {
			if first, _, _ := strings.Cut(d, "/"); strings.Contains(first, ".") && short(d) == "" {
				t.Errorf("the vocabulary depends on %s", d)
			}
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
		if strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "cmd") || name == "cmd/internal/cli" || strings.HasPrefix(name, "bench") {
			continue
		}
		for _, f := range p.GoFiles {
			path := filepath.Join(p.Dir, f)
			fset, file := parse(t, path)
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

// TestUnsafeStaysInItsFiles keeps unsafe where it can be reviewed. storage/filemap asks the system
// which pages are in memory and who handles SIGBUS: golang.org/x/sys/unix has neither call.
func TestUnsafeStaysInItsFiles(t *testing.T) {
	ok := []string{"view.go", "storage/local/dirfd/*.go", "codecs/inflate/unsafe.go", "index/*.go", "storage/filemap/filemap_linux.go", "gpuload/internal/load/*.go", "gpuload/internal/cuda/*.go", "gpuload/capi/*.go"}
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

// TestStartCompilesNoPattern: a pattern of a package is compiled when it is first needed, by sync.OnceValue. As variables, 20 of ours took
// a tenth of the time of shardify --help.
func TestStartCompilesNoPattern(t *testing.T) {
	for _, p := range list(t, "-deps", module+"/cmd/shardify", module+"/gpuload/capi") {
		if !strings.HasPrefix(p.ImportPath, module) {
			continue
		}
		for _, f := range p.GoFiles {
			fset, file := parse(t, filepath.Join(p.Dir, f))
			for _, d := range file.Decls {
				if _, isVar := d.(*ast.GenDecl); !isVar {
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "MustCompile" {
						t.Errorf("%s: compiled at the start of every program", fset.Position(n.Pos()))
					}
					_, later := n.(*ast.FuncLit)
					return !later
				})
			}
		}
	}
}

// TestQuestionsAreKnownToTheirTableAlone: what goes on in a conversion does not depend on which questions there are.
func TestQuestionsAreKnownToTheirTableAlone(t *testing.T) {
	const below = module + "/questions/"
	for _, p := range list(t) {
		for _, path := range p.Imports {
			name, ok := strings.CutPrefix(path, below)
			if !ok || name == "ask" || p.ImportPath == module+"/questions" {
				continue
			}
			question, _, _ := strings.Cut(name, "/")
			if question != "internal" && !strings.HasPrefix(p.ImportPath, below+question) && p.ImportPath != below+"internal/table" {
				t.Errorf("%s imports %s: a question is reached through questions.Table", p.ImportPath, path)
			}
		}
	}
}

// parse reads a Go file; the set has its positions.
func parse(t *testing.T, path string) (*token.FileSet, *ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fset, file
}
