package stage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestThePlaceOfANode is the first that has room, and stays so for those who come while
// the copy is made there.
func TestThePlaceOfANode(t *testing.T) {
	src := mmapSet(t)
	p, err := load(src)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mount := func(name, size string) Place {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("shardify-test", at, "tmpfs", 0, "size="+size); err != nil {
			t.Skip("mount needs rights that are not there: ", err)
		}
		t.Cleanup(func() { unix.Unmount(at, 0) })
		return Place{at, "$" + name}
	}
	small, large := mount("SLURM_TMPDIR", "4k"), mount("TMPDIR", "64m")
	gone := Place{filepath.Join(dir, "none"), "$NONE"}
	system := Place{"/", "$TMPDIR"}
	choose := func(want Place, memory int64, places ...Place) {
		t.Helper()
		dest, why, err := Choose(src, places, memory)
		if err != nil || dest != filepath.Join(want.Dir, filepath.Base(src)) || !strings.HasPrefix(why, want.From) {
			t.Errorf("%s (%s), %v; want %s", dest, why, err, want.Dir)
		}
	}
	choose(large, 0, gone, small, system, large)
	choose(large, 4*p.bytes, large)
	_, _, err = Choose(src, []Place{gone, small, system, large}, p.bytes)
	for _, w := range []string{"is not a folder", "4 KiB free", "own disk", "more than half of the"} {
		if !errors.Is(err, ErrSpace) || !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in %v", w, err)
		}
	}
	// Another process has started, and takes the free space.
	at, err := placeOf(filepath.Join(small.Dir, filepath.Base(src)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at.staging, 0o777); err != nil {
		t.Fatal(err)
	}
	choose(small, 0, small, large)
}

func TestPlacesAreThoseOfTheEnvironment(t *testing.T) {
	env := map[string]string{"SLURM_TMPDIR": "/a", "TMPDIR": "/b"}
	got := Places(func(k string) string { return env[k] })
	if len(got) != 3 || got[0].Dir != "/a" || got[1].Dir != "/b" || got[2].Dir != "/dev/shm" {
		t.Errorf("%+v", got)
	}
	if got := Places(func(string) string { return "" }); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
