//go:build linux

package cuda

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify"
)

// TestOnTheGPU repeats on a real GPU what the fake driver simulates in C.
func TestOnTheGPU(t *testing.T) {
	if os.Getenv("SHARDIFY_GPU") == "" {
		t.Skip("SHARDIFY_GPU is not set: no GPU is meant to be used")
	}
	d, err := Open(Options{})
	if errors.Is(err, ErrNoDriver) || errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	check(t, err)
	t.Logf("%+v", d.Info())
	t.Logf("%+v", d.Speed())
	for _, row := range []int64{1, 64 << 10, 1 << 40} {
		d.speed.EngineRow = row // by kernel, by copy engine, by either
		t.Run("gather", func(t *testing.T) { gatherExactly(t, d) })
	}
	t.Run("cast", func(t *testing.T) { castExactly(t, d) })
	t.Run("pixels", func(t *testing.T) { pixelsExactly(t, d) })
	t.Run("dense", func(t *testing.T) { denseExactly(t, d) })
	t.Run("windows", func(t *testing.T) { reloadExactly(t, d, 5000, 4096) })
	t.Run("journey", func(t *testing.T) { check(t, journey(t.Context(), "")) })
	t.Run("pinning", func(t *testing.T) { pinMatrix(t, d) })
	check(t, d.Close())
}

// pinMatrix prints which memory this driver pins.
func pinMatrix(t *testing.T, d *Device) {
	for _, n := range []int64{1 << 20, gpuBytes(1 << 30), gpuBytes(4 << 30)} {
		b, err := d.Alloc(n, 0)
		t.Logf("pool of %s: %v", shardify.FormatSize(n), err)
		check(t, d.Free(b))
	}
	for _, c := range []struct {
		name     string
		dir      string
		readOnly bool
	}{
		{"tmpfs, writable", "/dev/shm", false}, {"tmpfs, read-only", "/dev/shm", true},
		{"disk, writable", os.TempDir(), false}, {"disk, read-only", os.TempDir(), true},
	} {
		m, err := mapFile(c.dir, 1<<20, c.readOnly)
		if err != nil {
			t.Logf("%s: %v", c.name, err)
			continue
		}
		err = d.register(m, c.readOnly)
		t.Logf("%s: %v", c.name, err)
		if err == nil {
			check(t, d.Free(m))
		}
		check(t, unix.Munmap(m))
	}
}

// mapFile maps a new file of n bytes in a folder, shared.
func mapFile(dir string, n int, readOnly bool) ([]byte, error) {
	f, err := os.CreateTemp(dir, "pin")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if _, err := f.Write(make([]byte, n)); err != nil {
		return nil, err
	}
	prot := unix.PROT_READ
	if !readOnly {
		prot |= unix.PROT_WRITE
	}
	return unix.Mmap(int(f.Fd()), 0, n, prot, unix.MAP_SHARED)
}
