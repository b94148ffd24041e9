package storage_test

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	_ "github.com/shardify/shardify/tests/race"
)

// late is an FS whose next read waits until it may answer.
type late struct {
	storage.FS
	is                  atomic.Bool
	asked, answer, over chan struct{}
}

func (l *late) Open(ctx context.Context, name string) (storage.File, error) {
	f, err := l.FS.Open(ctx, name)
	return &lateFile{f, l}, err
}

type lateFile struct {
	storage.File
	of *late
}

func (f *lateFile) ReadAt(b []byte, off int64) (int, error) {
	if f.of.is.Load() {
		close(f.of.asked)
		<-f.of.answer
		defer close(f.of.over)
	}
	return f.File.ReadAt(b, off)
}

// TestReadsEndWithTheRun: a storage that does not answer holds no run that is cancelled,
// and what it answers later does not reach the caller's memory.
func TestReadsEndWithTheRun(t *testing.T) {
	m := memory.New()
	m.Set("f", []byte("0123456789"))
	slow := &late{FS: memory.Files{Store: m, Prefix: "mem://"}, asked: make(chan struct{}), answer: make(chan struct{}, 2), over: make(chan struct{})}
	b := storage.NewBound(slow)
	f, err := b.Open(context.Background(), "mem://f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 4)
	if n, err := f.ReadAt(buf, 3); n != 4 || err != nil || string(buf) != "3456" {
		t.Fatalf("%d, %v, %q", n, err, buf)
	}
	ctx, cancel := context.WithCancel(context.Background())
	storage.Until(ctx, b)
	if n, err := f.ReadAt(buf, 8); n != 2 || err == nil || string(buf[:2]) != "89" {
		t.Fatalf("at the end: %d, %v, %q", n, err, buf)
	}
	slow.is.Store(true)
	clear(buf)
	go func() {
		<-slow.asked
		cancel()
	}()
	hang := time.AfterFunc(time.Minute, func() { slow.answer <- struct{}{} })
	_, err = f.ReadAt(buf, 0)
	hang.Stop()
	var p *fs.PathError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &p) || p.Path != "mem://f" {
		t.Errorf("cancelled: %v", err)
	}
	slow.answer <- struct{}{}
	<-slow.over
	if string(buf) != "\x00\x00\x00\x00" {
		t.Errorf("the read went on into memory of the caller: %q", buf)
	}
	storage.Until(context.Background(), b)
	slow.is.Store(false)
	if n, err := f.ReadAt(buf, 0); n != 4 || err != nil {
		t.Errorf("bound to another context: %d, %v", n, err)
	}
}

// TestAFileIsWhatItWasWhenItWasOpenedFirst: what was read then is believed, and must not be
// joined with another version that was opened later.
func TestAFileIsWhatItWasWhenItWasOpenedFirst(t *testing.T) {
	m := memory.New()
	b := storage.NewBound(memory.Files{Store: m, Prefix: "mem://"})
	open := func() storage.Stamp {
		f, err := b.Open(context.Background(), "mem://f")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Stamp()
	}
	m.Set("f", []byte("one"))
	first := open()
	m.Set("f", []byte("three"))
	if open() == first {
		t.Fatal("both versions have one stamp")
	}
	if s, ok := storage.Opened(b, "mem://f"); !ok || s != first {
		t.Errorf("%+v, want %+v", s, first)
	}
	m.Set("a/x", []byte("one"))
	m.Set("b/x", []byte("three"))
	for _, folder := range []string{"mem://a", "mem://b"} { // files of one name in two folders are two
		f, err := storage.OpenBelow(context.Background(), b, folder, "x")
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := storage.Opened(b, folder+"/x"); !ok || s != f.Stamp() {
			t.Errorf("%s/x: %+v, want %+v", folder, s, f.Stamp())
		}
		f.Close()
	}
}
