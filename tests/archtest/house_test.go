package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// figure is one measure of the source. The ceiling only falls: who lowers a figure lowers it.
type figure struct {
	name         string
	value, bound int // bound < 0: not bounded
}

// libraries are useful outside of this project. All that they export has its use there.
var libraries = []string{"shardify", "format", "pipeline", "gpuload", "dataset", "index", "storage", "readers", "writers", "augment", "transform", "verify", "plan", "stage", "codecs", "images", "tokenize", "numbers", "questions"}

// TestHouse measures the source as a whole. `make house` prints the table.
func TestHouse(t *testing.T) {
	h := survey(t)
	m := measure(t, exportData(t), "pipeline")
	figures := []figure{
		{"lines of Go without tests", h.lines, -1},
		{"tests, lines in 100 of those", 100 * h.tests / h.lines, -1},
		{"lines below internal/ without suites", h.internal, 4400},
		{"rooms of more than 4,000 lines", len(h.large), 0},
		{"functions of more than 100 lines", h.long, 1},
		{"functions of a complexity over 30", len(h.complex), 0},
		{"exported names outside of libraries", h.exported, 1840},
		{"exported names without a comment", len(h.bare), 0},
		{"packages without a doc", h.noDoc, 0},
		{"panics", h.panics, 32},
		{"TODO", h.todo, 0},
		{"pipeline: calls between files", len(m.calls), -1},
		{"pipeline: calls up", m.back(), 2},
		{"files that name pipeline.Settings", h.settings, 30},
		{"riddling words (see words_test.go)", riddles(t, nil), 35},
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, f := range figures {
		bound := "-"
		if f.bound >= 0 {
			bound = fmt.Sprint(f.bound)
		}
		fmt.Fprintf(w, "%d\tat most %s\t  %s\n", f.value, bound, f.name)
		if f.bound >= 0 && f.value > f.bound {
			t.Errorf("%s: %d, at most %d", f.name, f.value, f.bound)
		}
	}
	_ = w.Flush()
	t.Logf("\n%slarge rooms: %s\ncomplex functions: %s\nwithout a comment: %s", out.String(), strings.Join(h.large, ", "), strings.Join(h.complex, ", "), strings.Join(h.bare, ", "))
}

type house struct {
	lines, tests, internal, long, exported, noDoc, panics, todo, settings int
	large, complex, bare                                                  []string
}

// survey reads all Go files of the project but data, benches and examples.
func survey(t *testing.T) *house {
	t.Helper()
	h := &house{}
	rooms, documented := map[string]int{}, map[string]bool{}
	settings := regexp.MustCompile(`\bpipeline\.Settings\b`)
	for path, text := range sources(t, ".go") {
		if strings.HasPrefix(path, "bench/") || strings.HasPrefix(path, "examples/") {
			continue
		}
		n := strings.Count(text, "\n")
		if strings.HasSuffix(path, "_test.go") {
			h.tests += n
			continue
		}
		dir := filepath.Dir(path)
		suite := strings.HasPrefix(dir, "tests/") || strings.HasSuffix(dir, "test") || strings.Contains(dir, "test/")
		h.lines += n
		rooms[dir] += n
		if strings.HasPrefix(dir, "internal/") && !suite {
			h.internal += n
		}
		if settings.MatchString(text) || dir == "pipeline" && strings.Contains(text, "Settings") {
			h.settings++
		}
		h.todo += strings.Count(text, "TODO")
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !suite {
			documented[dir] = documented[dir] || f.Doc != nil
		}
		top, _, _ := strings.Cut(dir, "/")
		library := !strings.Contains("/"+dir+"/", "/internal/") && (dir == "." || slices.Contains(libraries, top))
		for _, d := range f.Decls {
			h.declaration(fset, d, dir, library || suite)
		}
	}
	for dir, n := range rooms {
		if n > 4000 {
			h.large = append(h.large, fmt.Sprintf("%s %d", dir, n))
		}
	}
	for _, has := range documented {
		if !has {
			h.noDoc++
		}
	}
	slices.Sort(h.large)
	slices.Sort(h.complex)
	return h
}

func (h *house) declaration(fset *token.FileSet, d ast.Decl, dir string, library bool) {
	name := func(id *ast.Ident, doc bool) {
		if id.IsExported() {
			if !library {
				h.exported++
			}
			if !doc {
				h.bare = append(h.bare, dir+"."+id.Name)
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if exportedReceiver(d) {
			name(d.Name, d.Doc != nil || d.Recv != nil)
		}
		if d.Body == nil {
			return
		}
		if fset.Position(d.End()).Line-fset.Position(d.Pos()).Line >= 100 {
			h.long++
		}
		branches := 1
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
				branches++
			case *ast.CaseClause:
				if n.List != nil {
					branches++
				}
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					branches++
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "panic" {
					h.panics++
				}
			}
			return true
		})
		if branches > 30 {
			h.complex = append(h.complex, fmt.Sprintf("%s.%s %d", dir, d.Name.Name, branches))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				name(s.Name, d.Doc != nil || s.Doc != nil || s.Comment != nil)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					name(id, d.Doc != nil || s.Doc != nil || s.Comment != nil)
				}
			}
		}
	}
}

// sources are the files of the project with one of the endings, and their text.
func sources(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "build" || name == "bin" || name == "node_modules" || name == "venv") {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(endings, filepath.Ext(name)) {
			return nil
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
