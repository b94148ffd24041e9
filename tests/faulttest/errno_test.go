//go:build linux && amd64

package faulttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fault is how a call fails.
type fault struct {
	name string
	no   syscall.Errno
}

// errnos are what calls are made to fail with.
var errnos = []fault{
	{"EIO", syscall.EIO}, {"ENOSPC", syscall.ENOSPC}, {"EDQUOT", syscall.EDQUOT}, {"EINTR", syscall.EINTR},
	{"EMFILE", syscall.EMFILE}, {"EROFS", syscall.EROFS}, {"EACCES", syscall.EACCES},
}

// errno: each call that opens, reads, writes or publishes a file of the conversion fails
// once. The conversion either does what it should all the same, or says which file it
// was and what happened; nothing wrong is published, and the next run completes the set.
func errno(t *testing.T) {
	NeedsTrace(t)
	sum := &errnoTally{}
	all := Cases(t)
	names := []string{"files-wds", "npz-mmap"}
	points := 3
	if Long() {
		names = []string{"hdf5-mmap", "root-mmap", "parquet-mmap", "files-wds", "npz-mmap"}
		points = 1 << 30
	}
	for _, n := range names {
		c := Find(t, all, n)
		want := c.Want(t)
		s := &errnoTally{}
		for _, e := range errnos {
			s.sweep(t, &c, "all", e.name, e.no, points, want)
		}
		t.Logf("errno: %s: %v", n, s)
		sum.add(s)
	}
	if !Long() {
		// What could not be read while the plan was made must not look like damage.
		for _, n := range []string{"hdf5-mmap", "root-mmap", "parquet-mmap"} {
			c := Find(t, all, n)
			sum.sweep(t, &c, "pread64", "EIO", syscall.EIO, 6, c.Want(t))
		}
	}
	t.Logf("errno: all: %v", sum)
	controlLie(t, Find(t, all, "npz-mmap"))
}

type errnoTally struct {
	tally
	succeeded, failed, silent int
}

func (s *errnoTally) add(o *errnoTally) {
	s.points, s.torn, s.lost, s.others = s.points+o.points, s.torn+o.torn, s.lost+o.lost, s.others+o.others
	s.succeeded, s.failed, s.silent = s.succeeded+o.succeeded, s.failed+o.failed, s.silent+o.silent
}

func (s *errnoTally) String() string {
	return fmt.Sprintf("%d points x errno: %d conversions succeeded, %d failed (%d without the path or the cause), %d torn, %d lost, %d with other bytes after the next run",
		s.points, s.succeeded, s.failed, s.silent, s.torn, s.lost, s.others)
}

func (s *errnoTally) sweep(t *testing.T, c *Case, on, name string, no syscall.Errno, points int, want Files) {
	dir := Fast(t)
	in := filepath.Dir(c.In[0])
	options := []string{"-on", on, "-under", dir + "," + in}
	total := len(Trace(t, options, c.Program(), c.Convert(filepath.Join(dir, "count"))...).Calls)
	step := every(total, points)
	for n := 1 + s.points%step; n <= total; n += step {
		out := filepath.Join(dir, fmt.Sprint(n))
		args := c.Convert(out)
		r := Trace(t, append(options, "-n", fmt.Sprint(n), "-what", name), c.Program(), args...)
		if !r.Hit {
			continue
		}
		call := r.Call(n)
		where := fmt.Sprintf("%s, %s of %s %v (call %d)", c.Name, name, call.Name, call.Files, n)
		s.points++
		s.judge(t, where, Judge(t, want, out, r.Published(out, false)))
		s.verdict(t, where, r, want, out, call, name, no)
		if r.Exit() != 0 {
			s.resume(t, where, want, out, c.Command(args...)...)
		}
		os.RemoveAll(out)
	}
}

// verdict judges the exit code and the message.
func (s *errnoTally) verdict(t *testing.T, where string, r *Traced, want Files, out string, call Call, name string, no syscall.Errno) {
	t.Helper()
	code := r.Exit()
	switch {
	case crashed(code, r.Out):
		s.fault(t, "%s: crashes: %s\n%s", where, r.Status, r.Out)
	case code == 0:
		s.succeeded++
		if want == nil {
			break // of a command that does not complete the set: judged later
		}
		if d := Differs(t, want, out); d != "" && !(name != "EINTR" && call.Name == "unlinkat") {
			s.fault(t, "%s: exit 0, but %s", where, d)
		}
	case no == syscall.EINTR:
		s.fault(t, "%s: not tried again: %s", where, r.Out)
	default:
		s.failed++
		named := false
		for _, f := range call.Files {
			base, _, _ := strings.Cut(filepath.Base(f), ".")
			named = named || strings.Contains(r.Out, base)
		}
		if !named || !strings.Contains(r.Out, no.Error()) {
			s.silent++
			s.fault(t, "%s: exit %d, without the path or %q: %s", where, code, no.Error(), r.Out)
		}
	}
}

// controlLie: where the system says that bytes were written which were not, the suite
// must notice.
func controlLie(t *testing.T, c Case) {
	want := c.Want(t)
	dir := Fast(t)
	seen, tried := 0, 0
	for n := 1; ; n++ {
		out := filepath.Join(dir, fmt.Sprint(n))
		r := Trace(t, []string{"-on", "pwrite64", "-under", dir, "-n", fmt.Sprint(n), "-what", "lie"}, "shardify", c.Convert(out)...)
		if !r.Hit {
			break
		}
		if f := r.Call(n).Files; len(f) == 0 || !strings.Contains(filepath.Base(f[0]), "shard-") {
			continue // a record of the attempt, which nothing rests on
		}
		tried++
		if f := Judge(t, want, out, nil); !f.OK() || r.Exit() != 0 {
			seen++
		}
	}
	if tried == 0 || seen < tried {
		t.Errorf("control: %d of %d writes that were not done are noticed", seen, tried)
	}
	t.Logf("errno: control: %d of %d writes that were not done are noticed", seen, tried)
}
