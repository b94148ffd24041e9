package rows

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify/storage/local"
)

// TestWatchedRemembersWhatTheSystemRefused, and nothing else: that a file ends early is
// for the format to judge.
func TestWatchedRemembersWhatTheSystemRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := local.Files.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	w := Watch(f)
	b := make([]byte, 10)
	if n, _ := w.ReadAt(b, 0); n != 3 || w.Failed() != nil {
		t.Fatalf("%d bytes, then %v", n, w.Failed())
	}
	f.Close()
	_, first := w.ReadAt(b, 0)
	if _, err := w.ReadAt(b, -1); err == nil || first == nil {
		t.Fatal("reads of a closed file succeed")
	}
	if !errors.Is(w.Failed(), os.ErrClosed) {
		t.Errorf("remembered: %v", w.Failed())
	}
}
