package sets

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/shardify/shardify"
)

// TestKeysAreFoundInSeveralBatchesAtOnce: parts of a set are read side by side, and the names in the file are looked
// up in all of them while some are found.
func TestKeysAreFoundInSeveralBatchesAtOnce(t *testing.T) {
	const readers, each, names = 4, 20, 3000
	file := filepath.Join(t.TempDir(), "keys")
	var lines []byte
	keys := &shardify.Column{Offsets: [][]int64{{0}}}
	for i := range names {
		name := fmt.Sprintf("%06d", i)
		if i%2 == 0 {
			lines = append(lines, name+"\n"...)
		}
		keys.Data = append(keys.Data, name...)
		keys.Offsets[0] = append(keys.Offsets[0], int64(len(keys.Data)))
	}
	if err := os.WriteFile(file, lines, 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := (&editor{Edit: &Edit{Keys: file}}).chooser()
	if err != nil || c.missed() == nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range readers {
		wait.Go(func() {
			marks := make([]byte, names)
			for range each {
				if err := c.byName(&shardify.Batch{Samples: names, Keys: keys}, marks); err != nil {
					t.Error(err)
				}
				for i, m := range marks {
					if m != byte(1-i%2) {
						t.Errorf("sample %d: %d", i, m)
					}
				}
			}
		})
	}
	wait.Wait()
	if err := c.missed(); err != nil {
		t.Error(err)
	}
}
