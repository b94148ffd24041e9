// Package storagetest is the suite for storages that wrap others.
package storagetest

import (
	"context"
	"io"
	"iter"
	"os"
	"testing"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
)

// Stores are the abilities of a Store by name, and whether x has them.
var Stores = map[string]func(x any) bool{
	"Flusher":   has[storage.Flusher],
	"Namer":     has[storage.Namer],
	"Sizer":     has[storage.Sizer],
	"Mover":     has[storage.Mover],
	"Replacer":  has[storage.Replacer],
	"Placer":    has[storage.Placer],
	"Swapper":   has[storage.Swapper],
	"Scratcher": has[storage.Scratcher],
	"Maker":     has[storage.Maker],
	"Foldered":  has[storage.Foldered],
	"Temper":    has[storage.Temper],
}

// RemoteStores are those of a Store on another machine.
var RemoteStores = map[string]func(x any) bool{
	"Ender":  has[storage.Ender],
	"Keeper": has[storage.Keeper],
}

// Pendings are those of a Pending.
var Pendings = map[string]func(x any) bool{
	"RangeCopier": has[storage.RangeCopier],
}

// FSs are those of an FS.
var FSs = map[string]func(x any) bool{
	"Native":   has[storage.Native],
	"Numberer": has[storage.Numberer],
	"Linker":   has[storage.Linker],
}

// Files are those of a File.
var Files = map[string]func(x any) bool{
	"OSFiler": has[storage.OSFiler],
	"Noter":   has[storage.Noter],
}

// RemoteFiles are those of a File on another machine.
var RemoteFiles = map[string]func(x any) bool{
	"Announcer": has[storage.Announcer],
	"Forgetter": has[storage.Forgetter],
}

func has[T any](x any) bool { _, ok := storage.As[T](x); return ok }

// Wrapper checks that a store which wraps another has all of its abilities.
func Wrapper(t *testing.T, wrap func(storage.Store) storage.Store) {
	t.Helper()
	s := wrap(able{memory.New()})
	for _, table := range []map[string]func(any) bool{Stores, RemoteStores} {
		for name, has := range table {
			if !has(s) {
				t.Errorf("%T loses %s", s, name)
			}
		}
	}
	p, err := s.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	if q, ok := storage.As[storage.RangeCopier](p); !ok {
		t.Errorf("a file of %T loses RangeCopier", s)
	} else if n, err := q.CopyRange(0, nil, 0, 7); n != 7 || err != nil {
		t.Errorf("%T: CopyRange of a file does not reach the store below: %d, %v", s, n, err)
	}
}

// FSWrapper checks that an FS which wraps the files of this machine has all of their
// abilities, and so have its files.
func FSWrapper(t *testing.T, f storage.FS, name string) {
	t.Helper()
	for name, has := range FSs {
		if !has(f) {
			t.Errorf("%T loses %s", f, name)
		}
	}
	x, err := f.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for name, has := range Files {
		if !has(x) {
			t.Errorf("a file of %T loses %s", f, name)
		}
	}
}

// able has every ability.
type able struct{ *memory.Store }

func (able) Flush(context.Context) error { return nil }

func (able) Names(string) iter.Seq2[string, error] { return func(func(string, error) bool) {} }

func (able) Size(string) (int64, error) { return 0, nil }

func (able) Moves() int64 { return 0 }

func (able) SetJob(string, string) {}

func (able) SetScratch(string) error { return nil }

func (able) DropScratch() {}

func (able) Clean() error { return nil }

func (able) RemoveFolder(string) {}

func (able) Place(context.Context, string, []byte) error { return nil }

func (able) Temps() ([]storage.Temp, error) { return nil, nil }

func (able) RemoveTemp(string) error { return nil }

func (able) Until(context.Context) {}

func (able) SetMemory(int64) {}

func (able) Scratch() (*os.File, error) { return nil, io.ErrNoProgress }

func (able) Failed(_ *os.File, err error) error { return err }

func (a able) Create(name string) (storage.Pending, error) {
	p, err := a.Store.Create(name)
	return pending{p}, err
}

type pending struct{ storage.Pending }

// Unwrap is the file below.
func (p pending) Unwrap() any { return p.Pending }

func (pending) CopyRange(_ int64, _ *os.File, _, n int64) (int64, error) { return n, nil }
