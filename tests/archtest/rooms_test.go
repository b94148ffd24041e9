package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// room bounds what a package may become. A call is from a function of one file to a
// function or method of another, however often; a back call goes against the order of
// the files, which is the one that leaves the fewest. A reach is a function that uses a field
// without a capital of a type that another file declares, and that is no method of a type there.
type room struct {
	name             string
	lines, back      int
	methodsOf        string // a type that collects methods
	methods, inFiles int
	closed           bool // no reach is allowed
}

var rooms = []room{
	{name: "transform", lines: 900, back: 1, methodsOf: "Settings", methods: 10, inFiles: 2},
	{name: "transform/op", lines: 1500, back: 0, methodsOf: "Env", methods: 2, inFiles: 1},
	{name: "transform/cast", lines: 1500, back: 0, methodsOf: "castFields", methods: 5, inFiles: 1},
	{name: "transform/codes", lines: 1500, back: 0, methodsOf: "encodeField", methods: 12, inFiles: 1},
	{name: "transform/fields", lines: 1500, back: 2, methodsOf: "setField", methods: 7, inFiles: 1},
	{name: "transform/lists", lines: 1500, back: 0, methodsOf: "sortLists", methods: 7, inFiles: 1},
	{name: "transform/samples", lines: 1500, back: 1, methodsOf: "dropDuplicates", methods: 7, inFiles: 1},
	{name: "transform/sequence", lines: 1500, back: 0, methodsOf: "Packing", methods: 18, inFiles: 1},
	{name: "transform/tables", lines: 1500, back: 0, methodsOf: "tableJoin", methods: 11, inFiles: 1},
	{name: "convert", lines: 3709, back: 5, methodsOf: "Job", methods: 46, inFiles: 15},
	{name: "plan", lines: 3020, back: 1, methodsOf: "Plan", methods: 9, inFiles: 4},
	{name: "plan/splits", lines: 705, back: 0, methodsOf: "Rule", methods: 20, inFiles: 2},
	{name: "convert/flow", lines: 1515, back: 0, methodsOf: "Flow", methods: 22, inFiles: 3},
	{name: "convert/shuffle", lines: 1366, back: 0, methodsOf: "Shuffle", methods: 6, inFiles: 3},
	{name: "readers/hdf5", lines: 2110, back: 9, methodsOf: "spanRead", methods: 13, inFiles: 4},
	{name: "readers/hdf5/internal/look", lines: 2716, back: 9, methodsOf: "factory", methods: 19, inFiles: 3},
	{name: "readers/hdf5/internal/tree", lines: 1980, back: 0, methodsOf: "Tree", methods: 14, inFiles: 8},
	{name: "readers/hdf5/internal/column", lines: 1092, back: 0, methodsOf: "Dataset", methods: 9, inFiles: 3},
	{name: "readers/hdf5/internal/element", lines: 880, back: 0, methodsOf: "Leaf", methods: 11, inFiles: 2},
	{name: "readers/hdf5/internal/h5", lines: 1590, back: 2, methodsOf: "File", methods: 21, inFiles: 8},
	{name: "readers/hdf5/internal/dataset", lines: 1505, back: 4, methodsOf: "Dataset", methods: 15, inFiles: 6},
	{name: "readers/hdf5/internal/heap", lines: 915, back: 2, methodsOf: "fractal", methods: 15, inFiles: 3},
	{name: "readers/root/internal/ttree", lines: 1750, back: 7, methodsOf: "parser", methods: 22, inFiles: 4},
	{name: "readers/root/internal/entries", lines: 2370, back: 8, methodsOf: "builder", methods: 22, inFiles: 2},
	{name: "codecs/npy", lines: 1500, back: 0, methodsOf: "literal", methods: 11, inFiles: 1},
	{name: "readers/npz", lines: 3090, back: 7, methodsOf: "group", methods: 10, inFiles: 5},
	{name: "readers/internal/rows/survey", lines: 2120, back: 5, methodsOf: "merger", methods: 10, inFiles: 6},
	{name: "readers/internal/rows/set", lines: 1770, back: 0, methodsOf: "Set", methods: 17, inFiles: 5},
	{name: "readers/hdf5/internal/array", lines: 2215, back: 13, methodsOf: "Array", methods: 33, inFiles: 8},
	{name: "gpuload", lines: 3975, back: 2, methodsOf: "Loader", methods: 25, inFiles: 4, closed: true},
}

// TestRoomsStaySmall measures packages that were one knot once. A figure may fall: lower
// the bound then. -v prints what there is.
func TestRoomsStaySmall(t *testing.T) {
	exports := exportData(t)
	for _, r := range rooms {
		m := measure(t, exports, r.name)
		files, n := m.methodsOf(r.methodsOf)
		t.Logf("%-26s %5d lines, %2d files, %3d calls between them, %3d back; %s has %d methods in %d files", r.name, m.lines, len(m.files), len(m.calls), m.back(), r.methodsOf, n, files)
		if r.closed {
			for _, reach := range m.reaches {
				t.Errorf("%s: %s", r.name, reach)
			}
		}
		if m.lines > r.lines || m.back() > r.back || n > r.methods || files > r.inFiles {
			t.Errorf("%s: bounds are %d lines, %d back calls, %d methods in %d files", r.name, r.lines, r.back, r.methods, r.inFiles)
		}
	}
}

// exportData is where the compiler has left the types of each package.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export", module + "/pipeline"}
	for _, r := range rooms {
		args = append(args, module+"/"+r.name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
}

// measured is what the source of a package says about it.
type measured struct {
	lines   int
	files   []string
	methods map[string][]string // files, by type of the receiver
	calls   [][2]int            // from file to file
	reaches []string
}

func measure(t *testing.T, exports map[string]string, name string) *measured {
	t.Helper()
	fset := token.NewFileSet()
	m := &measured{methods: map[string][]string{}}
	paths, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	number := map[string]int{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		number[path] = len(files)
		files, m.files = append(files, f), append(m.files, filepath.Base(path))
		m.lines += strings.Count(string(text), "\n")
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	p, err := conf.Check(module+"/"+name, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	fileOf := func(n token.Pos) int { return number[fset.Position(n).Filename] }
	for i, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if fn.Recv != nil {
				of := receiver(fn.Recv.List[0].Type)
				m.methods[of] = append(m.methods[of], m.files[i])
			}
			m.reaches = append(m.reaches, reaches(fset, info, p, fn)...)
			seen := map[types.Object]bool{}
			ast.Inspect(fn, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				callee, ok := info.Uses[id].(*types.Func)
				if !ok || callee.Pkg() != p || seen[callee] || isInterface(callee) {
					return true
				}
				seen[callee] = true
				if to := fileOf(callee.Origin().Pos()); to != i {
					m.calls = append(m.calls, [2]int{i, to})
				}
				return true
			})
		}
	}
	return m
}

// reaches are the fields without a capital that a function uses of types in other files.
func reaches(fset *token.FileSet, info *types.Info, p *types.Package, fn *ast.FuncDecl) (list []string) {
	file := func(n token.Pos) string { return fset.Position(n).Filename }
	own := map[string]bool{file(fn.Pos()): true}
	if fn.Recv != nil {
		t := info.Defs[fn.Name].(*types.Func).Signature().Recv().Type()
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		own[file(t.(*types.Named).Obj().Pos())] = true
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		s := info.Selections[sel]
		if s == nil || s.Kind() != types.FieldVal || s.Obj().Pkg() != p || s.Obj().Exported() || own[file(s.Obj().Pos())] {
			return true
		}
		list = append(list, fmt.Sprintf("%s reaches into %s, of %s", fset.Position(sel.Pos()), s.Obj().Name(), filepath.Base(file(s.Obj().Pos()))))
		return true
	})
	return list
}

func isInterface(f *types.Func) bool {
	r := f.Signature().Recv()
	return r != nil && types.IsInterface(r.Type())
}

func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		}
	}
}

func (m *measured) methodsOf(name string) (files, methods int) {
	list := slices.Clone(m.methods[name])
	methods = len(list)
	slices.Sort(list)
	return len(slices.Compact(list)), methods
}

// back counts the calls that go up in the best order of the files that is found by
// moving one file at a time, callers first.
func (m *measured) back() int {
	n := len(m.files)
	weight := make([][]int, n)
	for i := range weight {
		weight[i] = make([]int, n)
	}
	for _, c := range m.calls {
		weight[c[0]][c[1]]++
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for better := true; better; {
		better = false
		for from := range order {
			file := order[from]
			gain, best, to := 0, 0, from
			for k := from - 1; k >= 0; k-- { // in front of k: it calls k forward now
				if gain += weight[file][order[k]] - weight[order[k]][file]; gain > best {
					best, to = gain, k
				}
			}
			gain = 0
			for k := from + 1; k < n; k++ {
				if gain += weight[order[k]][file] - weight[file][order[k]]; gain > best {
					best, to = gain, k
				}
			}
			if best > 0 {
				order = slices.Insert(slices.Delete(order, from, from+1), to, file)
				better = true
			}
		}
	}
	up := 0
	for i, a := range order {
		for _, b := range order[:i] {
			up += weight[a][b]
		}
	}
	return up
}
