package set_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/rowstest"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// TestErrorsOfOpeningNameTheFile: whatever refuses it, and the file is closed then.
func TestErrorsOfOpeningNameTheFile(t *testing.T) {
	table := &format.Table{Roots: []string{t.TempDir()}}
	path := filepath.Join(table.Roots[0], "0")
	if err := os.WriteFile(path, []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	table.Append(0, "0", 3, 0)
	all, err := survey.Open(context.Background(), format.OpenArgs{Table: table}, survey.Format{Name: "made", Look: func(context.Context, string, *columns.Wanted) (*survey.Facts, error) {
		return &survey.Facts{Samples: 1, Size: 3, Fields: []survey.Field{rowstest.Field("x", shardify.F32)}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	in := slices.Collect(all.Inputs())[0]
	var refused storage.File
	handles := set.NewHandles(func(_ context.Context, f storage.File, _ *set.Input) (io.Closer, error) {
		refused = f
		return nil, shardify.Corrupt(7, "broken")
	})
	defer handles.Close()
	_, err = handles.Acquire(context.Background(), &in)
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.HasPrefix(err.Error(), "open 0 at byte 7: broken") {
		t.Errorf("error %v", err)
	}
	if err := refused.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file stays open: %v", err)
	}
	if err := os.WriteFile(path, []byte("abcd"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := handles.Acquire(context.Background(), &in); !errors.Is(err, shardify.ErrChanged) || !strings.HasPrefix(err.Error(), "open 0: ") {
		t.Errorf("of another size: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := handles.Acquire(context.Background(), &in); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "open 0: ") {
		t.Errorf("gone: %v", err)
	}
}
