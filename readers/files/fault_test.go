package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/walk"
)

// readAll reads every sample as one span.
func readAll(src shardify.Source) (*shardify.Batch, error) {
	for sp, err := range src.Spans(context.Background(), 1<<40) {
		if err != nil {
			return nil, err
		}
		r, err := src.Reader(sp.Run)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		mem, _ := shardify.NewPool(1<<30).Grant(context.Background(), sp.Bytes)
		return r.Read(context.Background(), sp, mem)
	}
	return nil, errors.New("no span")
}

func TestFilesThatChangedSinceThePlan(t *testing.T) {
	size := 5000
	for name, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"a byte less":  {func(p string) error { return os.Truncate(p, int64(size-1)) }, "4999 bytes, planned 5000"},
		"a byte more":  {func(p string) error { return os.Truncate(p, int64(size+1)) }, "5001 bytes, planned 5000"},
		"empty":        {func(p string) error { return os.Truncate(p, 0) }, "0 bytes, planned 5000"},
		"much longer":  {func(p string) error { return os.Truncate(p, 1<<33) }, "8589934592 bytes, planned 5000"},
		"removed":      {os.Remove, "gone"},
		"a folder now": {func(p string) error { os.Remove(p); return os.Mkdir(p, 0o777) }, "not a regular file any more"},
		"a pipe now":   {func(p string) error { os.Remove(p); return syscall.Mkfifo(p, 0o666) }, "not a regular file any more"},
		"link to none": {func(p string) error { os.Remove(p); return os.Symlink("none", p) }, "gone"},
		"folder gone":  {func(p string) error { return os.Rename(filepath.Dir(p), filepath.Dir(p)+"x") }, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.Repeat("x", size)
			dir := folder(t, "d/1.jpg="+body, "d/2.jpg="+body, "d/3.jpg="+body)
			src := openTable(t, listing(t, dir), nil)
			if err := c.change(filepath.Join(dir, "d/2.jpg")); err != nil {
				t.Fatal(err)
			}
			b, err := readAll(src)
			var e *shardify.Error
			if b != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("batch %v, %v", b != nil, err)
			}
			if e.Sample < 0 || e.Field != "jpg" || !strings.HasPrefix(e.File, dir) || errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%+v", e)
			}
			if !errors.Is(err, ErrChanged) {
				t.Errorf("not ErrChanged: %v", err)
			}
		})
	}
}

func TestAnEmptyFileThatGrewIsFound(t *testing.T) {
	dir := folder(t, "1.jpg=", "2.jpg=")
	src := openTable(t, listing(t, dir), nil)
	if _, err := readAll(src); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "2.jpg"), []byte("x"), 0o666)
	if _, err := readAll(src); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestOddNamesAreRead(t *testing.T) {
	long := strings.Repeat("n", 251) + ".jpg"
	dir := folder(t, "new\nline.jpg=a", long+"=b", "sp ace.jpg=c", "ünï.jpg=d", `back\slash.jpg=e`)
	os.Link(filepath.Join(dir, long), filepath.Join(dir, "hard.jpg"))
	os.Symlink("hard.jpg", filepath.Join(dir, "soft.jpg"))
	os.Symlink(".", filepath.Join(dir, "up"))
	src := openTable(t, listing(t, dir), nil)
	equal(t, dump(t, src), []string{"back%5Cslash jpg=e", "hard jpg=b", "new%0Aline jpg=a", long[:251] + " jpg=b", "soft jpg=b", "sp%20ace jpg=c", "ünï jpg=d"})
}

func TestSparseFile(t *testing.T) {
	dir := folder(t, "1.bin=")
	p := filepath.Join(dir, "1.bin")
	if err := os.Truncate(p, 3<<20+1); err != nil {
		t.Fatal(err)
	}
	b, err := readAll(openTable(t, listing(t, dir), nil))
	if err != nil || len(b.Columns[0].Data) != 3<<20+1 || bytes.ContainsFunc(b.Columns[0].Data, func(r rune) bool { return r != 0 }) {
		t.Errorf("sparse file: %v", err)
	}
	if err := os.Truncate(p, maxFile+1); err != nil {
		t.Skip("no file of 8 GiB here: ", err)
	}
	_, err = Format.Open(context.Background(), format.OpenArgs{Table: listing(t, dir)})
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "held in memory") {
		t.Errorf("8 GiB and a byte: %v", err)
	}
	table, _, err := walk.Walk(context.Background(), walk.Request{Inputs: []string{dir}, NoStat: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(openTable(t, table, nil)); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("8 GiB and a byte of unknown size: %v", err)
	}
}

func TestPermissionErrorNamesTheFile(t *testing.T) {
	dir := folder(t, "d/1.jpg", "d/2.jpg", "d/3.jpg")
	os.Chmod(filepath.Dir(dir), 0o755) // for the user nobody
	src := openTable(t, listing(t, dir), nil)
	os.Chmod(filepath.Join(dir, "d/2.jpg"), 0)
	asNobody(t, func() {
		if _, err := readAll(src); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "2.jpg") {
			t.Errorf("file without rights: %v", err)
		}
	})
}

// asNobody calls f without root's rights to files.
func asNobody(t *testing.T, f func()) {
	if os.Getuid() == 0 {
		if _, _, e := syscall.AllThreadsSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); e != 0 {
			t.Skip("cannot give up root's rights, which needs CGO_ENABLED=0: ", e)
		}
		defer syscall.AllThreadsSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	}
	f()
}

func TestManyFoldersFewHandles(t *testing.T) {
	var names []string
	for i := range 300 {
		for j := range 3 {
			names = append(names, fmt.Sprintf("%03d/%d.jpg=%d", i, j, i))
		}
	}
	dir := folder(t, names...)
	var listed []string
	for i := range 900 { // never twice in one folder
		listed = append(listed, strings.Split(names[i%300*3+i/300], "=")[0])
	}
	table, _, err := walk.Walk(context.Background(), walk.Request{FilesFrom: strings.NewReader(strings.Join(listed, "\x00")), Base: dir})
	if err != nil {
		t.Fatal(err)
	}
	src := openTable(t, table, nil).(*source)
	r := newReader(src)
	before := handles(t)
	pool := shardify.NewPool(1 << 30)
	for k := range int64(900) {
		mem, _ := pool.Grant(context.Background(), 1000)
		b, err := r.Read(context.Background(), shardify.Span{Lo: k, Hi: k + 1}, mem)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(k % 300); string(b.Columns[1].Data) != want {
			t.Fatalf("sample %d: %q, want %q", k, b.Columns[1].Data, want)
		}
		if n := handles(t) - before; n > maxDirs+1 {
			t.Fatalf("%d folders open", n)
		}
		mem.Release()
	}
	r.Close()
	src.Close()
	if n := handles(t); n != before {
		t.Errorf("%d handles stay open", n-before)
	}
}

func handles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	return len(list)
}

func TestTransientErrorsAreTriedAgain(t *testing.T) {
	dir := folder(t, "1.jpg=a")
	r := newReader(openTable(t, listing(t, dir), nil).(*source))
	defer r.Close()
	defer func(b [retries]time.Duration) { backoff = b }(backoff)
	backoff = [retries]time.Duration{1, 1, 1}
	for fails := range retries + 2 {
		calls := 0
		err := r.again(context.Background(), func() error {
			if err := r.enter(context.Background(), 0); err != nil {
				return err
			}
			if calls++; calls <= fails {
				return syscall.ESTALE
			}
			return nil
		})
		if want := fails <= retries; (err == nil) != want || calls != min(fails, retries)+1 {
			t.Errorf("%d failures: %d calls, %v", fails, calls, err)
		}
	}
	calls := 0
	if err := r.again(context.Background(), func() error { calls++; return syscall.EACCES }); err != syscall.EACCES || calls != 1 {
		t.Errorf("EACCES: %d calls, %v", calls, err)
	}
	backoff = [retries]time.Duration{time.Hour, 1, 1}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.again(ctx, func() error { return syscall.EIO }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
}

func TestStateTouchesNothing(t *testing.T) {
	dir := folder(t, "a/1.jpg=x", "b/2.png=y", "b/2.txt=t")
	table := listing(t, dir)
	src := openTable(t, table, opts("missing", "fill"))
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	os.Rename(dir, dir+".away")
	defer os.Rename(dir+".away", dir)
	again, err := Format.Open(context.Background(), format.OpenArgs{Table: table, State: state})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, describe(again), describe(src))
	if n := len(readertest.Spans(t, again, 1)); n != 2 {
		t.Errorf("%d spans", n)
	}
}

func FuzzState(f *testing.F) {
	table := &format.Table{Roots: []string{"/nowhere", "/nowhere/else"}}
	for i := range 40 {
		table.Append(i%2, fmt.Sprintf("%d/%d.%s", i%3, i/4, []string{"jpg", "png", "txt"}[i%3]), int64(i), 0)
	}
	for _, missing := range []string{"drop", "fill"} {
		for _, columns := range [][]string{nil, {"txt"}, {"cls"}} {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: opts("missing", missing, "labels", "folder"), Columns: columns})
			if err != nil {
				f.Log(err)
				continue
			}
			state, err := src.(*source).State()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(state)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, State: b})
		if err != nil {
			return
		}
		defer src.Close()
		for sp, err := range src.Spans(context.Background(), 100) {
			if err != nil {
				return
			}
			r, _ := src.Reader(0)
			mem, _ := shardify.NewPool(1<<20).Grant(context.Background(), 1)
			r.Read(context.Background(), sp, mem)
			r.Close()
		}
		src.(format.Keyer).CheckKeys(10, nil)
	})
}
