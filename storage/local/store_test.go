package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/memory"
)

var bg = context.Background()

func put(t *testing.T, s storage.Store, name, content string) {
	t.Helper()
	p, err := s.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(bg); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s storage.Store, name string) string {
	t.Helper()
	b, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	buf := make([]byte, b.Size())
	if len(buf) > 0 {
		if n, _ := b.ReadAt(buf, 0); n != len(buf) {
			t.Fatalf("read %d of %d bytes", n, len(buf))
		}
	}
	return string(buf)
}

func names(t *testing.T, s storage.Store) string {
	t.Helper()
	var out []string
	for f, err := range s.List("") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f.Name)
	}
	return strings.Join(out, " ")
}

// both runs a test on a folder and in memory.
func both(t *testing.T, f func(t *testing.T, s storage.Store)) {
	for _, mode := range []Sync{SyncShard, SyncEnd, SyncNone} {
		t.Run("dir-"+string(mode), func(t *testing.T) { f(t, NewDir(filepath.Join(t.TempDir(), "out"), mode)) })
	}
	t.Run("mem", func(t *testing.T) { f(t, memory.New()) })
}

func TestAbortAndCancelLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	s := NewDir(dir, SyncShard)
	p, _ := s.Create("x")
	p.Write([]byte("1"))
	if err := p.Abort(); err != nil {
		t.Fatal(err)
	}
	q, _ := s.Create("y")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := q.Commit(ctx); err == nil {
		t.Error("commit under a cancelled context succeeded")
	}
	q.Abort()
	left, _ := filepath.Glob(filepath.Join(dir, ".shardify/tmp/*"))
	if len(left) > 0 || names(t, s) != "" {
		t.Errorf("left %v and %s", left, names(t, s))
	}
}

func TestCleanRemovesOnlyFilesOfDeadOwners(t *testing.T) {
	dir := t.TempDir()
	s := NewDir(dir, SyncNone)
	live, _ := s.Create("live")
	tmp := filepath.Join(dir, tempDir)
	touch := func(name string, age time.Duration) string {
		p := filepath.Join(tmp, name)
		os.WriteFile(p, nil, 0o600)
		os.Chtimes(p, time.Now().Add(-age), time.Now().Add(-age))
		return p
	}
	const deadPID = "4194399" // above the kernel's largest
	dead := touch("shard.tar.12_3.0."+s.owner.host+"."+deadPID+".00000000", 0)
	alive := touch("shard.0.0."+s.owner.host+".1.00000000", 0)
	other := touch("shard.0.0.elsewhere."+deadPID+".00000000", 0)
	old := touch("shard.0.0.elsewhere."+deadPID+".00000001", 25*time.Hour)
	list, err := s.Temps()
	if err != nil || len(list) != 5 {
		t.Fatalf("%d temporary files, %v", len(list), err)
	}
	for _, x := range list {
		if want := x.Name == filepath.Base(dead); x.Gone != want || want && (x.Job != "12_3" || x.PID != 4194399) {
			t.Errorf("%+v", x)
		}
	}
	if err := s.Clean(); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]bool{dead: false, old: false, other: true, alive: true} {
		if _, err := os.Stat(p); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", filepath.Base(p), err == nil, want)
		}
	}
	if err := live.Commit(bg); err != nil {
		t.Errorf("a live file was cleaned: %v", err)
	}
}

func TestSpillCopiesToAnyPlace(t *testing.T) {
	both(t, func(t *testing.T, s storage.Store) {
		sp, err := NewSpill(s)
		if err != nil {
			t.Fatal(err)
		}
		defer sp.Close()
		data := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
		for i := 0; i < len(data); i += 70_001 {
			if _, err := sp.Write(data[i:min(i+70_001, len(data))]); err != nil {
				t.Fatal(err)
			}
		}
		p, _ := s.Create("out")
		p.Write([]byte("head"))
		want := "head"
		var extents []Extent // short and long ones, in another order than written
		for _, e := range []Extent{{1_000_000, 300_001}, {0, 1}, {7, 4095}, {5000, 2 << 20}, {3_199_999, 1}, {0, 1_000_000}} {
			extents = append(extents, e)
			want += string(data[e.Off : e.Off+e.Len])
		}
		if _, err := sp.CopyTo(p, 4, extents, nil); err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(bg); err != nil {
			t.Fatal(err)
		}
		if got := get(t, s, "out"); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		if _, err := sp.CopyTo(p, 0, []Extent{{int64(len(data)) - 5, 6}}, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an extent behind the end: %v", err)
		}
	})
}

func TestFaultFailsTheChosenOperation(t *testing.T) {
	for at := 1; ; at++ {
		m := memory.New()
		f := fault.New(m, at, true)
		err := func() error {
			p, err := f.Create("x")
			if err != nil {
				return err
			}
			if _, err := p.Write([]byte("1")); err != nil {
				return err
			}
			return p.Commit(bg)
		}()
		if err == nil {
			if at != 4 {
				t.Errorf("%d operations, want 3", at-1)
			}
			return
		}
		if !errors.Is(err, fault.ErrInjected) || len(m.Files()) != 0 {
			t.Errorf("operation %d: %v, files %v", at, err, m.Files())
		}
	}
}

func TestModesFollowTheUmaskAndSetgid(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o2775|fs.ModeSetgid); err != nil {
		t.Skip(err)
	}
	s := NewDir(dir, SyncShard)
	put(t, s, "0001/shard", "x")
	st, err := os.Stat(filepath.Join(dir, "0001/shard"))
	if err != nil || st.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("file mode %v %v", st.Mode(), err)
	}
	d, _ := os.Stat(filepath.Join(dir, "0001"))
	if d.Mode()&fs.ModeSetgid == 0 {
		t.Errorf("folder mode %v has lost setgid", d.Mode())
	}
}
