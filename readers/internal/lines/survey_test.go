package lines

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify/storage"
	_ "github.com/shardify/shardify/tests/race"
)

// awayFile is a file of another machine, which counts how many of its kind are read from.
type awayFile struct {
	io.ReaderAt
	size      int64
	now, most *atomic.Int64
	least     int64 // files that are read at a time, sooner or later: the first ones wait for the others
	begun     sync.Once
}

func (f *awayFile) Size() int64            { return f.size }
func (f *awayFile) Stamp() storage.Stamp   { return storage.Stamp{Size: f.size} }
func (f *awayFile) Close() error           { return nil }
func (f *awayFile) Forget(r storage.Range) {}

func (f *awayFile) ReadAt(b []byte, off int64) (int, error) {
	f.begun.Do(func() {
		n := f.now.Add(1)
		for m := f.most.Load(); n > m && !f.most.CompareAndSwap(m, n); m = f.most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		for end := time.Now().Add(time.Minute); f.most.Load() < f.least && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	})
	return f.ReaderAt.ReadAt(b, off)
}

// TestFewLargeFilesOfOtherMachinesAreSurveyedTogether: each takes several pieces of memory; small
// ones are not held up.
func TestFewLargeFilesOfOtherMachinesAreSurveyedTogether(t *testing.T) {
	text := bytes.Repeat([]byte("1234567\n"), 5*pieceBytes/8/4)
	for lines, c := range map[int64]struct{ least, most int64 }{int64(len(text)) / 8: {1, int64(cap(away))}, 100: {10, 40}} {
		var now, seen atomic.Int64
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				f := &awayFile{ReaderAt: bytes.NewReader(text[:8*lines]), size: 8 * lines, now: &now, most: &seen, least: c.least}
				x, err := Survey{Workers: 1, Work: func(_ int, p *Piece) (int64, error) { return int64(len(p.Data)) / 8, nil }}.Run(context.Background(), f)
				now.Add(-1)
				if err != nil || x.Rows() != lines {
					t.Error(x, err)
				}
			})
		}
		wg.Wait()
		if n := seen.Load(); n > c.most || n < c.least {
			t.Errorf("%d files of %d lines at once, want %d to %d", n, lines, c.least, c.most)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range cap(away) {
		away <- struct{}{}
	}
	if _, err := (Survey{Workers: 1}).Run(ctx, &awayFile{size: pieceBytes + 1}); err != context.Canceled {
		t.Error(err)
	}
	for range cap(away) {
		<-away
	}
}

// TestLineAt counts lines for places in any order.
func TestLineAt(t *testing.T) {
	p := Piece{Data: []byte("a\n\nbb\nccc\n\n\nd\n"), Line: 7}
	for _, at := range []int{3, 9, 0, 14, 14, 2, 99, 5} {
		if got, want := p.LineAt(at), 8+int64(bytes.Count(p.Data[:min(at, len(p.Data))], []byte("\n"))); got != want {
			t.Errorf("at %d: line %d, want %d", at, got, want)
		}
	}
}
