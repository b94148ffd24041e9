package programs

import (
	"os"
	"testing"
)

// LostStreams are two standard outputs that lose what is written to them: of a full disk, and of a
// pipe without a reader. A test is skipped where there is no such disk.
func LostStreams(t testing.TB) (full, broken *os.File) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { full.Close() })
	r, broken, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { broken.Close() })
	return full, broken
}
