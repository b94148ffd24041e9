package local

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestScratchIsRemovedWhileOthersUseIt: of several processes at one conversion the first
// that is through removes the scratch folder, in which the others still make files.
func TestScratchIsRemovedWhileOthersUseIt(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "scratch")
	inner := filepath.Join(folder, "tmp")
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			os.MkdirAll(inner, 0o777)
			if f, err := os.Create(filepath.Join(inner, strconv.Itoa(i))); err == nil {
				f.Close()
			}
		}
	}()
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		if err := RemoveAll(folder); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	<-ended
	if err := RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Fatal("the folder is still there")
	}
}
