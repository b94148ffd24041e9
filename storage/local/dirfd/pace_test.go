//go:build linux && !portable

package dirfd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPaceKeepsOnlyWhereFilesAreQuick: never at first, never on other file
// systems, and no more after files that took long.
func TestPaceKeepsOnlyWhereFilesAreQuick(t *testing.T) {
	run := func(p *Pace, d Dir, each time.Duration) (keeps int) {
		p.Begin()
		for range 3 * paceFiles {
			if p.Next(d) {
				keeps++
			}
			p.since = p.since.Add(-each) // as if each file took so long
		}
		return keeps
	}
	var p Pace
	p.Begin()
	if p.Next(Dir{local: true}) {
		t.Error("kept before anything was known")
	}
	if n := run(&p, Dir{local: true}, 0); n == 0 {
		t.Error("quick files do not keep")
	}
	if n := run(&p, Dir{local: true}, time.Millisecond); n > paceFiles {
		t.Errorf("%d slow files kept", n)
	}
	if n := run(&p, Dir{}, 0); n > 0 {
		t.Errorf("%d files of another machine kept", n)
	}
}

// TestOutputWritesAll: the same file whether it keeps its processor or not; an
// error is that of the call.
func TestOutputWritesAll(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	o := NewOutput(f.Fd())
	o.local = true
	var want []byte
	for i := range 40 {
		b := bytes.Repeat([]byte{byte(i)}, i*1000)
		want = append(want, b...)
		if n, err := o.Write(b); n != len(b) || err != nil {
			t.Fatal(n, err)
		}
		o.keep = i%2 == 0
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
	}
	f.Close()
	r, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, keep := range []bool{false, true} {
		o := NewOutput(r.Fd())
		o.keep = keep
		if _, err := o.Write([]byte("x")); !errors.Is(err, syscall.EBADF) {
			t.Errorf("write to a file for reading: %v", err)
		}
	}
}
