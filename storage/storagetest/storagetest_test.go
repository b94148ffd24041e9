package storagetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/local"
)

func TestNoWrapperLosesAnAbility(t *testing.T) {
	for name, wrap := range map[string]func(storage.Store) storage.Store{
		"below": func(s storage.Store) storage.Store { return storage.Below(s, "a") },
		"fault": func(s storage.Store) storage.Store { return fault.New(s, 0, false) },
		"both":  func(s storage.Store) storage.Store { return storage.Below(fault.New(s, 0, false), "a/b") },
	} {
		t.Run(name, func(t *testing.T) { Wrapper(t, wrap) })
	}
}

// TestEveryAbilityIsTested: those of the package are those of the tables.
func TestEveryAbilityIsTested(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../ability.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() && Stores[s.Name.Name] == nil && Pendings[s.Name.Name] == nil {
			t.Errorf("no table of the suite has %s", s.Name.Name)
		}
		return true
	})
}

// TestAFolderHasTheAbilities that the program counts on.
func TestAFolderHasTheAbilities(t *testing.T) {
	d := local.NewDir(t.TempDir(), local.SyncNone)
	for _, s := range []storage.Store{d, local.Replacer{Dir: d}} {
		for name, has := range Stores {
			if !has(s) {
				t.Errorf("%T has no %s", s, name)
			}
		}
		p, err := s.Create("f")
		if err != nil {
			t.Fatal(err)
		}
		for name, has := range Pendings {
			if !has(p) {
				t.Errorf("a file of %T has no %s", s, name)
			}
		}
		p.Abort()
	}
}
