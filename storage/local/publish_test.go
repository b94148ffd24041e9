package local

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/tests/race"
)

// instead puts f in the place of a call for the test.
func instead[T any](t *testing.T, call *T, f T) {
	old := *call
	*call = f
	t.Cleanup(func() { *call = old })
}

// temps are the names in the folder of temporary files.
func temps(t *testing.T, d *Dir) []string {
	t.Helper()
	e, err := os.ReadDir(filepath.Join(d.root, tempDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for _, x := range e {
		out = append(out, x.Name())
	}
	return out
}

func commit(s storage.Store, name, content string) error {
	p, err := s.Create(name)
	if err != nil {
		return err
	}
	defer p.Abort()
	if _, err := p.Write([]byte(content)); err != nil {
		return err
	}
	return p.Commit(bg)
}

// TestTemporaryNamesTellTheirOwner: job, restart, host and process, whatever
// characters those of the engine have.
func TestTemporaryNamesTellTheirOwner(t *testing.T) {
	d := NewDir(t.TempDir(), SyncShard)
	d.SetJob("12[3].server", "2")
	p, err := d.Create("a.b.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	list, err := d.Temps()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	x := list[0]
	if !strings.HasPrefix(x.Name, "a.b.tar.12_3__server.2.") || x.PID != os.Getpid() || x.Job != "12_3__server" || x.Restart != "2" || x.Gone {
		t.Errorf("%+v", x)
	}
	// Programs that are started must not hold files that are being published.
	out, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
	if err != nil {
		t.Skip(err)
	}
	if bytes.Contains(out, []byte("a.b.tar")) {
		t.Error("a child has the file open")
	}
}

// TestAFailedSyncLosesTheFile: it is asked for once, and nothing is left or published.
func TestAFailedSyncLosesTheFile(t *testing.T) {
	for _, scratch := range []bool{false, true} {
		d := NewDir(t.TempDir(), SyncShard)
		if scratch {
			if err := d.SetScratch(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		instead(t, &syncFile, func(*os.File) error { calls++; return syscall.EIO })
		err := commit(d, "x", "1")
		if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), filepath.Join(d.root, "x")) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
		if names(t, d) != "" || len(temps(t, d)) > 0 {
			t.Errorf("left %q and %v", names(t, d), temps(t, d))
		}
	}
}

// TestWhereLinksAreRefused: the file is renamed, never over another.
func TestWhereLinksAreRefused(t *testing.T) {
	race.Sequential(t)
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EMLINK, syscall.EXDEV} {
		for _, no := range []error{nil, syscall.EINVAL, syscall.ENOSYS} {
			d := NewDir(t.TempDir(), SyncShard)
			instead(t, &hardLink, func(a, b string) error { return &os.LinkError{Op: "link", Old: a, New: b, Err: errno} })
			instead(t, &noReplace, func(a, b string) error {
				if no != nil {
					return no
				}
				return renameNoReplace(a, b)
			})
			put(t, d, "f", "one")
			put(t, d, "f", "one")
			if err := commit(d, "f", "two"); !errors.Is(err, shardify.ErrExists) {
				t.Errorf("%v, then %v: other content: %v", errno, no, err)
			}
			if get(t, d, "f") != "one" || len(temps(t, d)) > 0 {
				t.Errorf("%v, then %v: %q, left %v", errno, no, get(t, d, "f"), temps(t, d))
			}
		}
	}
}

// TestALinkWhoseReplyIsLost: on a network file system a call that worked may be seen to
// fail, by itself or after it was sent again.
func TestALinkWhoseReplyIsLost(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ETIMEDOUT, syscall.EEXIST} {
		d := NewDir(t.TempDir(), SyncShard)
		instead(t, &hardLink, func(a, b string) error {
			if err := os.Link(a, b); err != nil {
				return err
			}
			return errno
		})
		put(t, d, "f", "one")
		if get(t, d, "f") != "one" || len(temps(t, d)) > 0 {
			t.Errorf("%v: %q, left %v", errno, get(t, d, "f"), temps(t, d))
		}
	}
	d := NewDir(t.TempDir(), SyncShard)
	instead(t, &hardLink, func(a, b string) error { return syscall.EIO })
	if err := commit(d, "f", "one"); !errors.Is(err, syscall.EIO) || names(t, d) != "" {
		t.Errorf("a link that did not work: %v, %s", err, names(t, d))
	}
}

// TestTwoWritersOfOneName: many at once, one file, no errors, nothing left.
func TestTwoWritersOfOneName(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	content := strings.Repeat("x", 300<<10)
	for round := range 50 {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				d := NewDir(dir, SyncNone)
				if i == 3 {
					if err := d.SetScratch(scratch); err != nil {
						t.Error(err)
					}
				}
				if err := commit(d, "f", content); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		d := NewDir(dir, SyncNone)
		if get(t, d, "f") != content || len(temps(t, d)) > 0 {
			t.Fatal("the file is another, or something is left")
		}
		d.Remove("f")
	}
}

// TestScratchGivesTheSameFiles: whatever is written where, and with spill files.
func TestScratchGivesTheSameFiles(t *testing.T) {
	want := writeOddly(t, NewDir(t.TempDir(), SyncShard))
	dir, tmp := t.TempDir(), t.TempDir()
	d := NewDir(dir, SyncShard)
	if err := d.SetScratch(tmp); err != nil {
		t.Fatal(err)
	}
	if got := writeOddly(t, d); got != want {
		t.Error("the bytes are others")
	}
	if d.Written() != int64(len(want)) {
		t.Errorf("%d bytes counted, %d written", d.Written(), len(want))
	}
	left, _ := filepath.Glob(tmp + "/*/*")
	if len(left)+len(temps(t, d)) > 0 {
		t.Errorf("left %v %v", left, temps(t, d))
	}
	d.DropScratch()
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	// Small files take the direct way, as do those that replace others.
	d.scratch = "/nonexistent"
	put(t, d, ".shardify/receipts/0", "r")
	put(t, d, "shardify.json", "{}")
	if err := commit(Replacer{d}, "shardify.json", "[]"); err != nil || get(t, d, "shardify.json") != "[]" {
		t.Error(err)
	}
}

func writeOddly(t *testing.T, d *Dir) string {
	r := rand.New(rand.NewPCG(1, 2))
	block := make([]byte, 100<<10)
	for i := range block {
		block[i] = byte(r.Uint32())
	}
	p, err := d.Create("shard-000000.tar")
	if err != nil {
		t.Fatal(err)
	}
	sp, err := NewSpill(d)
	if err != nil {
		t.Fatal(err)
	}
	defer sp.Close()
	for i := range 30 {
		p.Write(block[:r.IntN(len(block))])
		p.WriteAt(block[:100], int64(r.IntN(5<<20)))
		sp.Write(block[i:])
	}
	if _, err := sp.CopyTo(p, 6<<20, []Extent{{5, 700 << 10}, {1 << 20, 17}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(bg); err != nil {
		t.Fatal(err)
	}
	return get(t, d, "shard-000000.tar")
}

// TestACopyOutThatIsStoppedLeavesNothing: neither by a request, nor by an error.
func TestACopyOutThatIsStoppedLeavesNothing(t *testing.T) {
	d := NewDir(t.TempDir(), SyncShard)
	if err := d.SetScratch(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	p, _ := d.Create("shard-000000.tar")
	p.Write(make([]byte, 3<<20))
	ctx, cancel := context.WithCancelCause(bg)
	p.(*pending).out = stopping{p.(*pending).out, func() { cancel(stop) }}
	if err := p.Commit(ctx); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
	if names(t, d) != "" || len(temps(t, d)) > 0 {
		t.Errorf("left %q and %v", names(t, d), temps(t, d))
	}
}

// stopping calls at before the file is completed.
type stopping struct {
	writer
	at func()
}

func (s stopping) Trim() error { s.at(); return s.writer.Trim() }

// TestModesAreThoseOfTheUmask: 0666 and 0777 without what the umask takes, and the
// group of the folder where it has the setgid bit.
func TestModesAreThoseOfTheUmask(t *testing.T) {
	for _, scratch := range []bool{false, true} {
		old := syscall.Umask(0o027)
		defer syscall.Umask(old)
		dir := t.TempDir()
		const group = 12345
		if err := errors.Join(os.Chown(dir, -1, group), os.Chmod(dir, 0o2770|fs.ModeSetgid)); err != nil {
			t.Skip("chown needs rights that are not there: ", err)
		}
		d := NewDir(dir, SyncShard)
		if scratch {
			if err := d.SetScratch(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
		put(t, d, "0001/shard", "x")
		for name, want := range map[string]fs.FileMode{"0001/shard": 0o640, "0001": fs.ModeDir | fs.ModeSetgid | 0o750, tempDir: fs.ModeDir | fs.ModeSetgid | 0o750} {
			st, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if st.Mode() != want || st.Sys().(*syscall.Stat_t).Gid != group {
				t.Errorf("%s: %v of group %d, want %v of %d", name, st.Mode(), st.Sys().(*syscall.Stat_t).Gid, want, group)
			}
		}
	}
}

// TestPlace: a file comes into a folder of others at once, replaces one, and what a killed process left there is gone
// afterwards; nothing else is.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	d := NewDir(dir, SyncShard)
	left := thisProcess()
	left.pid = 1 << 30 // no process has it
	f, err := left.create(dir, ".x")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	old := time.Now().Add(-2 * TempAge)
	for _, name := range []string{".x.bak", ".x.of.a.user.with.many.9.dots", ".y.0.0.h.1.00000000"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(name, nil, 0o666), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"one", "two"} {
		if err := storage.Place(t.Context(), d, "x", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(b) != text {
			t.Fatalf("%q, %v", b, err)
		}
	}
	instead(t, &rename, func(string, string) error { return syscall.EIO })
	if err := d.Place(t.Context(), "x", []byte("three")); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".x.bak", ".x.of.a.user.with.many.9.dots", ".y.0.0.h.1.00000000", "x"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
}
