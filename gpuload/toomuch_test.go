package gpuload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/index"
)

var toomuch = setOptions{format: index.FormatMmap, schema: "x:f32[3],y:i64", samples: 50, shard: 50}

// TestTooMuchIsASentence: numbers that no machine has room for are errors, and soon. They were no
// batch and no error, or the end of the process.
func TestTooMuchIsASentence(t *testing.T) {
	d := mustOpen(t, makeSet(t, toomuch))
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Batch: 4, Depth: 1e9}, "depth 1000000000: want at most 65536 batches ahead"},
		{Config{Batch: 4, Workers: 1e9}, "workers 1000000000: want at most 4096 threads"},
		{Config{Batch: 1<<31 - 1, Depth: 100}, "a batch of 2,147,483,647 samples takes"},
		{Config{Batch: 1<<31 - 1, Last: Pad, Depth: 100}, "an epoch has"},
		{Config{Batch: 1 << 40}, "want 1 to 2^31-1 samples"},
	} {
		c.config.Device = "host"
		l, err := d.Loader(c.config)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("batch %d, depth %d, workers %d: %v, want %q", c.config.Batch, c.config.Depth, c.config.Workers, err, c.want)
		}
	}
}

// TestFoldersThatAreNotThere: an option that names one is not a data set that is absent.
func TestFoldersThatAreNotThere(t *testing.T) {
	d := mustOpen(t, makeSet(t, toomuch))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{
		{Tier: TierStaged, Stage: filepath.Join(t.TempDir(), "absent", "x")},
		{Tier: TierStaged, Stage: file},
		{Cache: filepath.Join(file, "cache")},
	} {
		c.Batch, c.Device = 4, "host"
		l, err := d.Loader(c)
		if err == nil {
			l.Close()
		}
		if want := c.Stage + c.Cache + ": there is no such folder: make it first"; !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
