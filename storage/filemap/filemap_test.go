//go:build linux

package filemap

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func open1(t *testing.T, n int64) (*os.File, *File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	m, err := Open(f, n)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the temporary folder is not on a local file system")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return f, m
}

// TestAFaultIsAnError: the file is cut while it is mapped.
func TestAFaultIsAnError(t *testing.T) {
	if !Safe() {
		t.Fatal("the signal handler of SIGBUS is not that of Go's runtime")
	}
	f, m := open1(t, 1<<20)
	into := make([]byte, 1<<20)
	read := func() error { return Guard(func() error { copy(into, m.Bytes); return nil }) }
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(5000); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := read(); !errors.Is(err, errFault) {
			t.Fatalf("error is %v", err)
		}
	}
	want := errors.New("its own")
	if err := Guard(func() error { return want }); err != want {
		t.Errorf("error is %v", err)
	}
}

// TestOtherPanicsPass: a bug is not taken for a fault.
func TestOtherPanicsPass(t *testing.T) {
	defer func() {
		if r := recover(); r != "bug" {
			t.Errorf("recovered %v", r)
		}
	}()
	_ = Guard(func() error { panic("bug") })
}

// TestASmallFileIsRefused: a mapping would have pages behind its end.
func TestASmallFileIsRefused(t *testing.T) {
	f, _ := open1(t, 5000)
	if _, err := Open(f, 10_000); err == nil {
		t.Error("a file of 5000 bytes is mapped as one of 10000")
	}
}

// TestAnotherHandlerIsSeen: faults are not safe then.
func TestAnotherHandlerIsSeen(t *testing.T) {
	was := own
	defer func() { own = was }()
	for _, own = range []uintptr{0, 1, was + 8} {
		if Safe() {
			t.Errorf("safe with handler %#x in place of %#x", was, own)
		}
	}
}

func TestResidentPages(t *testing.T) {
	_, m := open1(t, 3<<20+100)
	size := int64(len(m.Bytes))
	m.WillNeed(0, size)
	_ = Guard(func() error { copy(make([]byte, size), m.Bytes); return nil })
	for _, r := range [][2]int64{{0, size}, {0, 0}, {4095, 4097}, {size - 1, size}, {100, 2 << 20}} {
		if !m.Resident(r[0], r[1]) {
			t.Errorf("bytes %d to %d were just read", r[0], r[1])
		}
	}
}
