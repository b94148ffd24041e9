//go:build linux && amd64

package faulttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// space: the disk is full, of bytes or of inodes, wherever in a conversion that may
// be. It fails with a message that says so, and after there is room again the same
// commands give the bytes of an unbroken run.
func space(t *testing.T) {
	all := Cases(t)
	names := []string{"files-wds"}
	step := 5
	if Long() {
		names = []string{"files-wds", "npz-mmap", "root-mmap", "npz-mmap-global-split"}
		step = 1
	}
	s := &spaceTally{step: step}
	for _, n := range names {
		c := Find(t, all, n)
		want := c.Want(t)
		s.tmpfs(t, &c, want, "pages", "size=%dk", 4)
		s.tmpfs(t, &c, want, "inodes", "size=64m,nr_inodes=%d", 1)
		s.filled(t, &c, want)
		s.noInodes(t, &c, want)
	}
	t.Logf("space: %v", s)
	t.Run("ext4", func(t *testing.T) {
		s := &spaceTally{step: step * 4}
		c := Find(t, all, names[0])
		s.ext4(t, &c, c.Want(t))
		t.Logf("space: ext4: %v", s)
	})
	t.Run("fsync", atFsync)
}

type spaceTally struct {
	tally
	step, ok, failed, early int
}

func (s *spaceTally) String() string {
	return fmt.Sprintf("%d amounts of room: %d conversions failed (%d of them before the first byte) and %d had enough; %d torn, %d lost, %d with other bytes when there was room",
		s.points, s.failed, s.early, s.ok, s.torn, s.lost, s.others)
}

// tmpfs sweeps the size of a file system from nothing to enough.
func (s *spaceTally) tmpfs(t *testing.T, c *Case, want Files, what, options string, unit int) {
	enough := false
	for n := 1; !enough; n += s.step {
		d := Tmpfs(t, fmt.Sprintf(options, n*unit))
		out := filepath.Join(d.Dir, "out")
		code, text := Run(t, append([]string{"shardify"}, c.Convert(out)...)...)
		enough = s.verdict(t, fmt.Sprintf("%s, %d %s", c.Name, n, what), want, out, what, code, text)
		if !enough {
			d.Resize(t, fmt.Sprintf(options, 65536))
			s.resume(t, fmt.Sprintf("%s, %d %s", c.Name, n, what), want, out, c.Command(c.Convert(out)...)...)
		}
		d.Close()
	}
}

// verdict judges a conversion that may have had too little room.
func (s *spaceTally) verdict(t *testing.T, where string, want Files, out, what string, code int, text string) bool {
	t.Helper()
	s.points++
	s.judge(t, where, Judge(t, want, out, nil))
	if code == 0 {
		s.ok++
		if d := Differs(t, want, out); d != "" {
			s.fault(t, "%s: exit 0, but %s", where, d)
		}
		return true
	}
	s.failed++
	if _, err := os.Stat(filepath.Join(out, ".shardify/plan")); err != nil {
		s.early++
	}
	said := strings.Contains(text, "free") || strings.Contains(text, "too few")
	if what == "inodes" {
		said = strings.Contains(text, "inode")
	}
	if crashed(code, text) || code != 1 || !said || !strings.Contains(text, filepath.Dir(out)) {
		s.fault(t, "%s: exit %d, without the path or what is missing: %s", where, code, text)
	}
	return false
}

// filled fills the disk after the plan was made, up to a rest of some pages.
func (s *spaceTally) filled(t *testing.T, c *Case, want Files) {
	const size = 4 << 20
	for rest, enough := 0, false; !enough; rest += s.step {
		d := Tmpfs(t, fmt.Sprintf("size=%d", size))
		enough = s.planned(t, c, want, d.Dir, "pages", rest, func() func() {
			return fill(t, d.Dir, int64(rest)*4096)
		})
		d.Close()
	}
}

// noInodes does the same with files.
func (s *spaceTally) noInodes(t *testing.T, c *Case, want Files) {
	for rest, enough := 0, false; !enough; rest += s.step {
		d := Tmpfs(t, "size=16m,nr_inodes=300")
		enough = s.planned(t, c, want, d.Dir, "inodes", rest, func() func() {
			dir := filepath.Join(d.Dir, "many")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			n := 0
			for ; ; n++ {
				if os.WriteFile(filepath.Join(dir, strconv.Itoa(n)), nil, 0o666) != nil {
					break
				}
			}
			for i := range min(rest, n) {
				os.Remove(filepath.Join(dir, strconv.Itoa(i)))
			}
			return func() { os.RemoveAll(dir) }
		})
		d.Close()
	}
}

// ext4 does what filled does on a real file system, whose folders take room too.
func (s *spaceTally) ext4(t *testing.T, c *Case, want Files) {
	d := Loop(t, "ext4", t.TempDir(), 16<<20)
	for rest, enough := 0, false; !enough; rest += s.step {
		enough = s.planned(t, c, want, d.Dir, "blocks", rest, func() func() {
			return fill(t, d.Dir, int64(rest)*1024)
		})
		os.RemoveAll(filepath.Join(d.Dir, "out"))
	}
}

// planned plans, makes the disk full, works and merges, makes room and does both again.
func (s *spaceTally) planned(t *testing.T, c *Case, want Files, dir, what string, rest int, full func() (room func())) bool {
	out := filepath.Join(dir, "out")
	Must(t, append([]string{"shardify"}, c.Plan(out)...)...)
	room := full()
	work, merge := []string{"shardify", "work", out, "--jobs", "1", "--quiet"}, []string{"shardify", "merge", out, "--quiet"}
	where := fmt.Sprintf("%s, %d %s left after the plan", c.Name, rest, what)
	code, text := Run(t, work...)
	if code == 0 {
		where += ", merge"
		code, text = Run(t, merge...)
	}
	enough := s.verdict(t, where, want, out, what, code, text)
	room()
	if !enough {
		Must(t, work...)
		s.resume(t, where, want, out, merge...)
	}
	return enough
}

// fill writes a file until the disk is full, and shortens it so that rest bytes are
// free. The function it returns removes it.
func fill(t *testing.T, dir string, rest int64) func() {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var size int64
	for _, b := range [][]byte{make([]byte, 64<<10), make([]byte, 1<<10)} {
		for {
			n, err := f.Write(b)
			size += int64(n)
			if errors.Is(err, syscall.ENOSPC) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(f.Sync(), f.Truncate(max(size-rest, 0)), f.Sync()); err != nil {
		t.Fatal(err)
	}
	return func() { os.Remove(f.Name()) }
}

// atFsync: on a thin disk writes succeed and fsync is the first to find it full. What
// it refused must not have got its name. Control: without fsync it has.
func atFsync(t *testing.T) {
	NeedsTrace(t)
	c := Case{Name: "npz", In: []string{NPZ(t, 200_000)}, Flags: []string{"--format", "mmap", "--shard-samples", "40000"}}
	want := c.Want(t)
	for _, skip := range []bool{false, true} {
		under := Tmpfs(t, "size=6m")
		d := Loop(t, "ext4", under.Dir, 64<<20)
		out := filepath.Join(d.Dir, "out")
		var options []string
		if skip {
			options = []string{"-skip", "fsync,fdatasync,syncfs"}
		}
		r := Trace(t, options, "shardify", c.Convert(out)...)
		d.Unmount(t)
		under.Resize(t, "size=200m")
		d.Mount(t)
		f := Judge(t, want, out, nil)
		switch {
		case skip && r.Exit() == 0 && f.OK():
			t.Error("control: nothing is torn without fsync: this test sees nothing")
		case skip:
			t.Logf("space: fsync: control: without fsync the exit code is %d and %d files are torn or lost", r.Exit(), len(f.Torn)+len(f.Lost))
		default:
			if r.Exit() != 1 || crashed(r.Exit(), r.Out) || !f.OK() {
				t.Errorf("full at fsync: exit %d, %v\n%s", r.Exit(), f, r.Out)
			}
			Must(t, append([]string{"shardify"}, c.Convert(out)...)...)
			Same(t, want, out, "when there was room")
			t.Log("space: fsync: full only at fsync: exit 1, 0 torn, 0 lost, completed when there was room")
		}
		d.Close()
		under.Close()
	}
}
