package shuffle

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
)

// counting counts the files that are open.
type counting struct {
	*memory.Store
	now, most, opens atomic.Int64
}

type countedBlob struct {
	storage.Blob
	c *counting
}

func (c *counting) Open(name string) (storage.Blob, error) {
	b, err := c.Store.Open(name)
	if err != nil {
		return nil, err
	}
	c.opens.Add(1)
	for n := c.now.Add(1); ; {
		m := c.most.Load()
		if n <= m || c.most.CompareAndSwap(m, n) {
			return countedBlob{b, c}, nil
		}
	}
}

func (b countedBlob) Close() error { b.c.now.Add(-1); return b.Blob.Close() }

// TestOpenFilesStayFew: however many are read, by however many goroutines, and all are
// closed in the end.
func TestOpenFilesStayFew(t *testing.T) {
	c := &counting{Store: memory.New()}
	const files, most, workers = 100, 8, 4
	for i := range files {
		p, _ := c.Create(fmt.Sprint("f", i))
		fmt.Fprintf(p, "%08d", i)
		if err := p.Commit(bg); err != nil {
			t.Fatal(err)
		}
	}
	l := newFiles(c, most)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for k := range 20 * files {
				i := (k*7 + w*13) % files
				if k%3 == 0 {
					i = w // one that is read often
				}
				b, err := l.Open(fmt.Sprint("f", i))
				if err != nil {
					t.Error(err)
					return
				}
				var got [8]byte
				if n, _ := b.ReadAt(got[:], 0); n != 8 || string(got[:]) != fmt.Sprintf("%08d", i) {
					t.Errorf("file %d has %q", i, got[:n])
				}
				b.Close()
			}
		})
	}
	wg.Wait()
	if n := c.most.Load(); n > most+2*workers {
		t.Errorf("%d files were open, want no more than %d and those in use", n, most)
	}
	if err := l.close(); err != nil || c.now.Load() != 0 {
		t.Errorf("%d files are open, %v", c.now.Load(), err)
	}
	if _, err := l.Open("none"); err == nil {
		t.Error("opened a file that is not there")
	}
}

type failing struct{ storage.Blob }

func (failing) ReadAt([]byte, int64) (int, error) { return 0, syscall.EIO }

// TestAnErrorOfTheStorageIsNoDamage: only a damaged fragment is removed and rebuilt; after an error
// of the storage that would be wasted work.
func TestAnErrorOfTheStorageIsNoDamage(t *testing.T) {
	if err := readFull(failing{}, make([]byte, 3), 0); !errors.Is(err, syscall.EIO) || errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
}
