package storagetest

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/storage/storages"
)

// Scheme adds a storage in memory to the table until the test ends: as a new storage is
// added, with a line.
func Scheme(t testing.TB, scheme string) *memory.Store {
	t.Helper()
	m := memory.New()
	files := memory.Files{Store: m, Prefix: scheme + "://"}
	before := storages.Table
	storages.Table = append(slices.Clone(before), storages.Storage{Scheme: scheme, Files: files, Store: files.Below})
	t.Cleanup(func() { storages.Table = before })
	return m
}
