package storagetest

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/storage/storages"
	_ "github.com/shardify/shardify/tests/race"
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
	base := []string{"FS", "File"}
	for _, name := range []string{"../ability.go", "../fs.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			_, ok = s.Type.(*ast.InterfaceType)
			if name := s.Name.Name; ok && !slices.Contains(base, name) && Stores[name] == nil && RemoteStores[name] == nil && Pendings[name] == nil && FSs[name] == nil && Files[name] == nil && RemoteFiles[name] == nil {
				t.Errorf("no table of the suite has %s", name)
			}
			return true
		})
	}
}

// TestRemoteFilesKeepTheirAbilities behind wrappers.
func TestRemoteFilesKeepTheirAbilities(t *testing.T) {
	for _, f := range []storage.FS{fault.NewFiles(remoteFS{}), storage.NewBound(remoteFS{}), storage.NewBound(fault.NewFiles(remoteFS{}))} {
		x, err := f.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		for name, has := range RemoteFiles {
			if !has(x) {
				t.Errorf("a file of %T loses %s", f, name)
			}
		}
	}
}

type remoteFS struct{ storage.FS }

func (remoteFS) Open(context.Context, string) (storage.File, error) { return remoteFile{}, nil }

type remoteFile struct{ storage.File }

func (remoteFile) Announce([]storage.Range) {}

func (remoteFile) Forget(storage.Range) {}

func (remoteFile) Stamp() storage.Stamp { return storage.Stamp{} }

// TestAFolderHasTheAbilities that the program counts on.
func TestAFolderHasTheAbilities(t *testing.T) {
	d := local.NewDir(t.TempDir(), local.SyncNone)
	for name, has := range Stores {
		if !has(d) {
			t.Errorf("%T has no %s", d, name)
		}
	}
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
	for _, f := range []storage.FS{local.Files, fault.NewFiles(local.Files), storages.Files, storage.NewBound(storages.Files)} {
		FSWrapper(t, f, "storagetest.go")
	}
}

func TestLaws(t *testing.T) {
	for _, mode := range []local.Sync{local.SyncShard, local.SyncEnd, local.SyncNone} {
		t.Run("folder "+string(mode), func(t *testing.T) {
			Laws(t, func(t *testing.T) (s, other storage.Store) {
				dir := filepath.Join(t.TempDir(), "out")
				return local.NewDir(dir, mode), local.NewDir(dir, mode)
			})
		})
	}
	t.Run("memory", func(t *testing.T) {
		Laws(t, func(t *testing.T) (s, other storage.Store) {
			m := memory.New()
			return m, m
		})
	})
}
