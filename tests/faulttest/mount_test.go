//go:build linux && amd64

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is a file system of its own.
type Disk struct {
	Dir   string // where it is mounted
	image string
	kind  string
}

// Tmpfs mounts memory with the given options ("size=64k,nr_inodes=20"); the test is
// skipped where that is not permitted.
func Tmpfs(t testing.TB, options string) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), kind: "tmpfs"}
	if err := unix.Mount("none", d.Dir, "tmpfs", 0, options); err != nil {
		t.Skipf("skipped: no tmpfs may be mounted here: %v", err)
	}
	t.Cleanup(d.Close)
	return d
}

// Resize changes a tmpfs.
func (d *Disk) Resize(t testing.TB, options string) {
	t.Helper()
	if err := unix.Mount("none", d.Dir, "tmpfs", unix.MS_REMOUNT, options); err != nil {
		t.Fatalf("remount: %v", err)
	}
}

// Loop mounts a new file system of a kind (ext4, xfs) from a sparse file in dir; the test is
// skipped where that cannot be done.
func Loop(t testing.TB, kind, dir string, bytes int64) *Disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root may mount")
	}
	mkfs, err := exec.LookPath("mkfs." + kind)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	d := &Disk{Dir: t.TempDir(), kind: kind, image: filepath.Join(dir, kind+".img")}
	f, err := os.Create(d.image)
	if err == nil {
		err = f.Truncate(bytes)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, "-q", d.image).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", mkfs, err, out)
	}
	if err := d.mount(); err != nil {
		t.Skipf("skipped: no loop device may be mounted here: %v", err)
	}
	t.Cleanup(d.Close)
	return d
}

func (d *Disk) mount() error {
	if out, err := exec.Command("mount", "-t", d.kind, "-o", "loop", d.image, d.Dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Close unmounts.
func (d *Disk) Close() {
	_ = exec.Command("umount", d.Dir).Run()
}

// Cut ends the file system as a power cut would: without the data that was not
// synced, and without the tail of the journal too if hard is set.
func (d *Disk) Cut(t testing.TB, hard bool) {
	t.Helper()
	fd, err := unix.Open(d.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	flag := 1
	if hard {
		flag = 2
	}
	if err := unix.IoctlSetPointerInt(fd, 0x8004587d, flag); err != nil { // FS_IOC_SHUTDOWN
		t.Fatalf("shutdown: %v", err)
	}
}

// Unmount forgets what is not on the disk.
func (d *Disk) Unmount(t testing.TB) {
	t.Helper()
	if out, err := exec.Command("umount", d.Dir).CombinedOutput(); err != nil {
		t.Fatalf("umount: %v: %s", err, out)
	}
}

// Mount brings the file system back.
func (d *Disk) Mount(t testing.TB) {
	t.Helper()
	if err := d.mount(); err != nil {
		t.Fatal(err)
	}
}

// Again brings the file system back after a cut.
func (d *Disk) Again(t testing.TB) {
	t.Helper()
	d.Unmount(t)
	d.Mount(t)
}

// Fast is a folder in memory where that is possible, for suites in which nothing
// depends on the disk.
func Fast(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if unix.Mount("none", dir, "tmpfs", 0, "size=1g") == nil {
		t.Cleanup((&Disk{Dir: dir}).Close)
	}
	return dir
}
