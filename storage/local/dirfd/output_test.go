//go:build linux && !portable

package dirfd

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReservedRoomIsNotPartOfTheFile: what Output reserves never shows in the file's
// size or bytes, and nothing of it is left after Trim.
func TestReservedRoomIsNotPartOfTheFile(t *testing.T) {
	data := make([]byte, 3<<20+4321)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	for _, size := range []int{0, 1000, reserveFrom, len(data)} {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o := NewOutput(f.Fd())
		o.reserves = true
		half := size / 2 &^ 4095
		for at := 0; at < half; at += 64 << 10 {
			if _, err := o.Write(data[at:min(at+64<<10, half)]); err != nil {
				t.Fatal(err)
			}
		}
		for at := size; at > half; { // from the end, as columns of unknown order come
			lo := max(at-100_000, half)
			if n, err := o.WriteAt(data[lo:at], int64(lo)); err != nil || n != at-lo {
				t.Fatal(n, err)
			}
			at, o.keep = lo, !o.keep
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(o.fd), &st); err != nil || st.Size != int64(size) {
			t.Fatalf("size %d, want %d: %v", st.Size, size, err)
		}
		if size > reserveFrom && o.reserves && o.reserved <= int64(size) {
			t.Errorf("%d bytes reserved of %d", o.reserved, size)
		}
		if err := o.Trim(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fstat(int(o.fd), &st); err != nil || st.Size != int64(size) || st.Blocks*512 > int64(size)+1<<20 {
			t.Errorf("%d bytes on %d blocks, want %d: %v", st.Size, st.Blocks, size, err)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil || !bytes.Equal(got, data[:size]) {
			t.Errorf("other bytes than were written: %v", err)
		}
	}
}

// TestOutputWritesWhereNothingCanBeReserved: a refusal is not an error, and is the
// last try.
func TestOutputWritesWhereNothingCanBeReserved(t *testing.T) {
	r, w, err := os.Pipe() // which fallocate refuses
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := NewOutput(w.Fd())
	o.reserves, o.pos = true, reserveFrom
	if n, err := o.Write([]byte("abc")); n != 3 || err != nil || o.reserves || o.reserved != 0 {
		t.Errorf("%d bytes, %v; reserves %v, %d", n, err, o.reserves, o.reserved)
	}
	if err := o.Trim(); err != nil {
		t.Error(err)
	}
}

// TestInputReadsAsTheFileDoes: the same bytes, counts and ends, whether it keeps its
// processor or not.
func TestInputReadsAsTheFileDoes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	data := bytes.Repeat([]byte("0123456789"), 1000)
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	in := NewInput(f).(*input)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		in.keep = i%2 == 0
		off := r.Int64N(int64(len(data)) + 100)
		a, b := make([]byte, r.IntN(len(data))), make([]byte, len(data))
		b = b[:len(a)]
		n, err := in.ReadAt(a, off)
		m, want := f.ReadAt(b, off)
		if n != m || err != want || !bytes.Equal(a, b) {
			t.Fatalf("%d bytes at %d: %d, %v; want %d, %v", len(a), off, n, err, m, want)
		}
	}
	f.Close()
	if _, err := in.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EBADF) || errors.Is(err, io.EOF) {
		t.Errorf("read of a closed file: %v", err)
	}
}
