package archtest

import (
	"go/ast"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublicPackagesNameNoInternalTypes: a caller of a function of a public package can write down
// the types of its parameters and results. An alias makes an internal type public.
func TestPublicPackagesNameNoInternalTypes(t *testing.T) {
	for _, p := range list(t) {
		name := short(p.ImportPath)
		if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "bench/") || strings.Contains("/"+name+"/", "/internal/") || strings.HasSuffix(name, "test") {
			continue
		}
		for _, f := range p.GoFiles {
			fset, file := parse(t, filepath.Join(p.Dir, f))
			internal := map[string]bool{}
			for _, imp := range file.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if strings.Contains(path, "/internal/") {
					base := path[strings.LastIndexByte(path, '/')+1:]
					if imp.Name != nil {
						base = imp.Name.Name
					}
					internal[base] = true
				}
			}
			check := func(what string, n ast.Node) {
				ast.Inspect(n, func(n ast.Node) bool {
					if sel, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := sel.X.(*ast.Ident); ok && internal[x.Name] {
							t.Errorf("%s: %s names %s.%s", fset.Position(sel.Pos()), what, x.Name, sel.Sel.Name)
						}
					}
					return true
				})
			}
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && exportedReceiver(d) {
						check(d.Name.Name, d.Type)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						s, ok := s.(*ast.TypeSpec)
						if !ok || !s.Name.IsExported() {
							continue
						}
						if fields, ok := s.Type.(*ast.StructType); ok {
							for _, field := range fields.Fields.List {
								for _, name := range field.Names {
									if name.IsExported() {
										check(s.Name.Name+"."+name.Name, field.Type)
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if s, ok := typ.(*ast.StarExpr); ok {
		typ = s.X
	}
	if x, ok := typ.(*ast.IndexExpr); ok {
		typ = x.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
