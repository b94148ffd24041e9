package archtest

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// opens are the functions that open files or look at them by name.
var opens = map[string][]string{
	"os":                    {"Open", "OpenFile", "OpenRoot", "Create", "CreateTemp", "Stat", "Lstat", "ReadFile", "WriteFile", "ReadDir", "DirFS"},
	"path/filepath":         {"Glob", "Walk", "WalkDir", "EvalSymlinks"},
	"golang.org/x/sys/unix": {"Open", "Openat", "Openat2", "Stat", "Lstat", "Fstatat"},
	"syscall":               {"Open", "Stat", "Lstat"},
}

// mayOpen are the files outside of storage/ that open files, and what they are.
var mayOpen = []struct{ file, why string }{
	{"cmd/*/man.go", "writes pages of man"},
	{"cmd/internal/cli/commands.go", "whether a word of the command line is a file"},
	{"cmd/internal/cli/missing.go", "the names in the folder of a path that does not exist"},
	{"cmd/internal/benchcmd/compare.go", "figures that --json of an earlier run wrote"},
	{"cmd/internal/cli/outfile.go", "what a user redirects output to; /proc"},
	{"internal/host/*.go", "/proc, /sys and disks"},
	{"cmd/internal/trainer/usage.go", "/proc"},
	{"pipeline/cluster/owner.go", "/proc"},
	{"pipeline/cluster/*.go", "records of runs, which many processes write in place beside a data set"},
	{"gpuload/capi/config.go", "the trace of a loader"},
	{"gpuload/internal/load/system_linux.go", "/sys"},
	{"pipeline/submit.go", "the prologue of a script"},
	{"pipeline/submitkeys.go", "the settings of a user"},
	{"stage/*.go", "folders of this node, with locks: a copy is a folder or it is nothing"},
	{"pipeline/internal/sets/extend.go", "folders of this machine: what an extension left"},
	{"pipeline/internal/sets/merge.go", "folders of this machine: what a merge left"},
	{"pipeline/internal/sets/publish.go", "a lock"},
	{"verify/lint.go", "files of others, on this machine"},
	{"tests/programs/*.go", "builds programs for tests"},
	{"tests/corpus/*.go", "tests"},
	{"tests/fakecuda/*.go", "tests"},
	{"*/*test/*.go", "tests"},
	{"readers/internal/arrayfile/arrayfiletest/*.go", "tests"},
	{"index/megatron/megatrontest/*.go", "tests"},
	{"testdata/demo/*.go", "an example"},
	{"bench/floor/*.go", "reads and writes without a storage, on purpose"},
	{"bench/licences/*.go", "licences of modules"},
}

// TestOnlyStorageOpensFiles: whatever else opens inputs or shards goes past faults, past
// other storages and past the rules for what may be opened.
func TestOnlyStorageOpensFiles(t *testing.T) {
	used := map[string]bool{}
	places := 0
	for _, p := range list(t) {
		name := short(p.ImportPath)
		if strings.HasPrefix(name, "storage/") {
			continue
		}
		for _, f := range p.GoFiles {
			_, file := parse(t, filepath.Join(p.Dir, f))
			names := map[string][]string{} // functions by the name of their package here
			for _, imp := range file.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if imp.Name != nil {
					names[imp.Name.Name] = opens[path]
				} else {
					names[path[strings.LastIndexByte(path, '/')+1:]] = opens[path]
				}
			}
			rel := name + "/" + f
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok || x.Obj != nil || !slices.Contains(names[x.Name], sel.Sel.Name) {
					return true
				}
				places++
				i := slices.IndexFunc(mayOpen, func(m struct{ file, why string }) bool { return match(m.file, rel) })
				if i < 0 {
					t.Errorf("%s calls %s.%s: what is read or written goes through storage/", rel, x.Name, sel.Sel.Name)
					return true
				}
				used[mayOpen[i].file] = true
				return true
			})
		}
	}
	for _, m := range mayOpen {
		if !used[m.file] && m.why != "tests" && !strings.HasPrefix(m.file, "testdata") {
			t.Errorf("%s opens nothing any more: the line can go", m.file)
		}
	}
	t.Logf("%d places outside of storage/", places)
}

// TestWrappersKeepAbilities: a type that embeds a storage, or a file of one, has a method that
// returns what it wraps.
func TestWrappersKeepAbilities(t *testing.T) {
	bases := []string{"Store", "FS", "File", "Blob", "Pending"}
	for _, p := range list(t) {
		wraps, unwraps := map[string]string{}, map[string]bool{}
		for _, f := range p.GoFiles {
			fset, file := parse(t, filepath.Join(p.Dir, f))
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv != nil && n.Name.Name == "Unwrap" {
						typ := n.Recv.List[0].Type
						if s, ok := typ.(*ast.StarExpr); ok {
							typ = s.X
						}
						if id, ok := typ.(*ast.Ident); ok {
							unwraps[id.Name] = true
						}
					}
				case *ast.TypeSpec:
					s, ok := n.Type.(*ast.StructType)
					if !ok {
						return true
					}
					for _, field := range s.Fields.List {
						sel, ok := field.Type.(*ast.SelectorExpr)
						if x, is := ast.Expr(nil), false; ok && len(field.Names) == 0 {
							if x = sel.X; x != nil {
								id, isIdent := x.(*ast.Ident)
								is = isIdent && id.Name == "storage" && slices.Contains(bases, sel.Sel.Name)
							}
							if is {
								wraps[n.Name.Name] = fset.Position(n.Pos()).String()
							}
						}
					}
				}
				return true
			})
		}
		for name, at := range wraps {
			if !unwraps[name] {
				t.Errorf("%s: %s wraps a storage and has no Unwrap: abilities would be lost", at, name)
			}
		}
	}
}
