package local

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFullDiskSaysOfWhat: bytes or inodes, in a file system of memory that has few of
// either.
func TestAFullDiskSaysOfWhat(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{"size=64k", "no space left on device: 0 B free"},
		{"size=1m,nr_inodes=6", "no inodes are left"},
	} {
		dir := t.TempDir()
		if err := syscall.Mount("shardify-test", dir, "tmpfs", 0, c.options); err != nil {
			t.Skip("mount needs rights that are not there: ", err)
		}
		t.Cleanup(func() { syscall.Unmount(dir, 0) })
		d := NewDir(filepath.Join(dir, "out"), SyncShard)
		var err error
		for i := 0; err == nil && i < 100; i++ {
			err = commit(d, "f"+strings.Repeat("x", i), strings.Repeat("y", 8<<10))
		}
		var f *Failure
		if !errors.As(err, &f) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Fatalf("%s: %v", c.options, err)
		}
		if f.NoInodes() != strings.Contains(c.options, "inodes") || f.Written != d.Written() || f.Written < 8<<10 {
			t.Errorf("%s: %+v", c.options, f)
		}
		if len(temps(t, d)) > 0 {
			t.Errorf("left %v", temps(t, d))
		}
	}
}
