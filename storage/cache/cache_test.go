package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/tests/race"
)

func stamp(n int64) storage.Stamp { return storage.Stamp{Size: n, ModTime: 1e18, Version: `"v"`} }

// content makes bytes that differ by place and by file.
func content(file int, off, n int64) []byte {
	b := make([]byte, 0, n+8)
	for at := off / 8 * 8; int64(len(b)) < n+8; at += 8 {
		b = binary.LittleEndian.AppendUint64(b, uint64(at)*0x9e3779b97f4a7c15+uint64(file))
	}
	return b[off%8:][:n]
}

func name(file int) string { return fmt.Sprintf("https://h/%d.bin", file) }

func mustOpen(t testing.TB, dir string, most int64) *Cache {
	t.Helper()
	c, err := open(dir, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// read does what a file does: it reads, and fetches and keeps what is missing. It returns how
// much that was.
func read(c *Cache, file int, size, off, n int64) (fetched int64, err error) {
	x := c.Content(name(file), stamp(size))
	b := make([]byte, n)
	for _, r := range x.Read(b, off, 4096) {
		release := x.Claim(context.Background(), r.Off, r.Len)
		for _, m := range x.ReadAgain(b[r.Off-off:][:r.Len], r.Off, 4096) {
			part := content(file, m.Off, m.Len)
			copy(b[m.Off-off:], part)
			x.Keep(part, m.Off)
			fetched += m.Len
		}
		release()
	}
	if !bytes.Equal(b, content(file, off, n)) {
		err = fmt.Errorf("other bytes in %d at %d", file, off)
	}
	return fetched, err
}

// onDisk is the size of all files, as the bound has it.
func onDisk(t testing.TB, dir string) (bytes int64, files int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, folder), func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() && d.Name() != "lock" {
			bytes += info.Size()
			files++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, files
}

// TestWhatWasFetchedIsNotFetchedAgain, also by another process, in requests of other sizes.
func TestWhatWasFetchedIsNotFetchedAgain(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, 64<<20)
	const size = 5 << 20
	for off := int64(0); off < size; off += 1 << 20 {
		if n, err := read(c, 1, size, off, 1<<20); n != 1<<20 || err != nil {
			t.Fatal(n, err)
		}
	}
	c = mustOpen(t, dir, 64<<20)
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		off := r.Int64N(size)
		if n, err := read(c, 1, size, off, 1+r.Int64N(size-off)); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	// Blocks that overlap, and holes between them.
	for range 200 {
		off := r.Int64N(size)
		if _, err := read(c, 2, size, off, 1+r.Int64N(min(size-off, 300_000))); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []storage.Stamp{{Size: size + 1, ModTime: 1e18, Version: `"v"`}, {Size: size, ModTime: 1e18, Version: `"w"`}, {Size: size, ModTime: 2, Version: `"v"`}} {
		if m := c.Content(name(1), other).Read(make([]byte, 100), 0, 0); len(m) != 1 || m[0].Len != 100 {
			t.Errorf("%v finds the bytes of another content", other)
		}
	}
	if c.Content("x", storage.Stamp{Size: 5}) != nil || c.Content("x", storage.Stamp{Size: 5, ModTime: time.Now().UnixNano()}) != nil {
		t.Error("a content is cached although its stamp does not identify it")
	}
}

// TestDamagedBlocksAreFetchedAgain: flipped bits, torn files, bytes of another file.
func TestDamagedBlocksAreFetchedAgain(t *testing.T) {
	race.Sequential(t)
	dir := t.TempDir()
	c := mustOpen(t, dir, 64<<20)
	const size = 1_000_000
	fill := func() []string {
		for i := range 3 {
			if _, err := read(c, i, size, 0, size); err != nil {
				t.Fatal(err)
			}
		}
		list, err := filepath.Glob(filepath.Join(dir, folder, "blocks/*/*-*"))
		if err != nil || len(list) != 3 {
			t.Fatal(list, err)
		}
		return list
	}
	damages := map[string]func(b []byte, other []byte) []byte{
		"flip":    func(b, _ []byte) []byte { b[rand.IntN(len(b))] ^= 1 << rand.IntN(8); return b },
		"torn":    func(b, _ []byte) []byte { return b[:rand.IntN(len(b))] },
		"zeros":   func(b, _ []byte) []byte { clear(b[rand.IntN(len(b)):]); return b },
		"empty":   func(_, _ []byte) []byte { return nil },
		"another": func(_, other []byte) []byte { return other },
	}
	for how, damage := range damages {
		for range 20 {
			list := fill()
			other, err := os.ReadFile(list[1])
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(list[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(list[0], damage(b, other), 0o600); err != nil {
				t.Fatal(err)
			}
			before := c.wrong.Load()
			fetched := int64(0)
			for i := range 3 {
				n, err := read(c, i, size, 0, size)
				if fetched += n; err != nil {
					t.Fatalf("%s: %v", how, err)
				}
			}
			if how == "zeros" && fetched == 0 {
				continue // they were zeros
			}
			if fetched != size || c.wrong.Load() != before+1 {
				t.Errorf("%s: %d bytes fetched again, %d found", how, fetched, c.wrong.Load()-before)
			}
		}
	}
}

// TestTheBoundIsKept, and the least recently used blocks go.
func TestTheBoundIsKept(t *testing.T) {
	dir := t.TempDir()
	const most = 4 << 20
	c := mustOpen(t, dir, most)
	for i := range 100 {
		if _, err := read(c, i, 200_000, 0, 200_000); err != nil {
			t.Fatal(err)
		}
		if n, err := read(c, 0, 200_000, 0, 200_000); n != 0 || err != nil { // it is used all the time
			t.Fatal(i, n, err)
		}
		if n, _ := onDisk(t, dir); n > most {
			t.Fatalf("%d bytes after %d files", n, i)
		}
	}
	if n, err := read(c, 99, 200_000, 0, 200_000); n != 0 || err != nil {
		t.Error("the latest is not there", n, err)
	}
	if n, files := onDisk(t, dir); n < most*8/10 || files < 15 {
		t.Errorf("%d bytes in %d files: too much was removed", n, files)
	}
	// What is larger than a quarter of it is not kept.
	if _, err := read(c, 1000, most, 0, most); err != nil {
		t.Fatal(err)
	}
	if n, err := read(c, 1000, most, 0, most); n != most || err != nil {
		t.Error(n, err)
	}
}

// TestFilesBeingWritten stay and count, until their writer is gone.
func TestFilesBeingWritten(t *testing.T) {
	dir := t.TempDir()
	c, other := mustOpen(t, dir, 1<<20), mustOpen(t, dir, 1<<20)
	x := c.Content(name(1), stamp(1000))
	f, _, err := c.reserve(x.id, 300_000, cost(300_000))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		u, _, err := other.scan()
		if err != nil || u.Writing != 1 || u.accounted < 300_000 {
			t.Errorf("%+v, %v", u, err)
		}
	}
	f.Close()
	if u, _, err := other.scan(); err != nil || u.Writing != 0 || u.accounted != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestOnlyOwnFilesAreRemoved, by eviction or by Clear, and nothing is read through a link.
func TestOnlyOwnFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	const most = 1 << 20
	c := mustOpen(t, dir, most)
	if _, err := read(c, 1, 50_000, 0, 50_000); err != nil {
		t.Fatal(err)
	}
	id := c.Content(name(1), stamp(50_000)).id.folder()
	foreign := []string{"data.bin", folder + "/mine", folder + "/blocks/mine", folder + "/tmp/mine", folder + "/" + id + "/mine", folder + "/" + id + "/0-1", folder + "/blocks/" + strings.Repeat("a", 32) + "/x"}
	for _, f := range foreign {
		p := filepath.Join(dir, f)
		os.MkdirAll(filepath.Dir(p), 0o700)
		if err := os.WriteFile(p, []byte("the only copy"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(dir, "data.bin")
	if err := os.Symlink(secret, filepath.Join(dir, folder, id, block{60_000, 70_000}.name())); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if _, err := read(c, i, 100_000, 0, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	u, err := Clear(dir)
	if err != nil || u.Blocks == 0 || u.Foreign != 7 {
		t.Errorf("%+v, %v", u, err)
	}
	for _, f := range foreign {
		if b, err := os.ReadFile(filepath.Join(dir, f)); string(b) != "the only copy" {
			t.Errorf("%s: %v", f, err)
		}
	}
	if u, err = Look(dir); err != nil || u.Blocks != 0 || u.Bytes != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := Look(t.TempDir()); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestACacheIsPrivate: only the user can read its folders and files, and names disclose
// nothing.
func TestACacheIsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	c := mustOpen(t, dir, 1<<20)
	if _, err := read(c, 1, 1000, 0, 1000); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(dir, folder), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want || strings.Contains(p, "bin") {
			t.Error(p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := open(dir, 1<<20); err == nil {
		t.Error("a folder that others can read is used")
	}
}

// TestAFailingDiskFailsNoRead: a folder that is removed, a limit of the size of files.
func TestAFailingDiskFailsNoRead(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, 16<<20)
	if _, err := read(c, 1, 1000, 0, 1000); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(dir, folder))
	for range 2 {
		if n, err := read(c, 1, 1000, 0, 1000); n != 1000 || err != nil {
			t.Error(n, err)
		}
	}
	if c.Failed() == nil {
		t.Error("the failure is not reported")
	}
}

// TestForgottenBytesAreFetchedAgain, after their reader found them wrong.
func TestForgottenBytesAreFetchedAgain(t *testing.T) {
	c := mustOpen(t, t.TempDir(), 16<<20)
	for _, off := range []int64{0, 100_000, 200_000} {
		if _, err := read(c, 1, 300_000, off, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	c.Content(name(1), stamp(300_000)).Forget(150_000, 10)
	if n, err := read(c, 1, 300_000, 0, 300_000); n != 100_000 || err != nil {
		t.Error(n, err)
	}
}

// The child of the tests below reads at random until it is killed, or a given number of times.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CACHE_CHILD"); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

const (
	childFiles = 6
	childSize  = 3_000_000
	childMost  = 8 << 20
)

func child(dir string) int {
	seed, _ := strconv.Atoi(os.Getenv("CACHE_SEED"))
	rounds, _ := strconv.Atoi(os.Getenv("CACHE_ROUNDS"))
	most, _ := strconv.ParseInt(os.Getenv("CACHE_MOST"), 10, 64)
	c, err := open(dir, most)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() { // the test that started it has ended
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	r := rand.New(rand.NewPCG(uint64(seed), 3))
	fetched := int64(0)
	fmt.Println("ready")
	for range rounds {
		file, n := r.IntN(childFiles), 1+r.Int64N(300_000)
		if r.IntN(2) == 0 {
			n = 65536 // two sizes of blocks, one of them on its grid
		}
		off := r.Int64N(childSize - n)
		if n == 65536 {
			off -= off % n
		}
		m, err := read(c, file, childSize, off, n)
		if fetched += m; err != nil {
			fmt.Println(err)
			return 1
		}
	}
	reads, writes, wrong := c.Counts()
	if wrong > 0 && os.Getenv("CACHE_WRONG") == "" {
		fmt.Println(wrong, "damaged blocks")
		return 1
	}
	fmt.Println("fetched", fetched, "read", reads, "written", writes, "failed", c.Failed())
	return 0
}

func startChild(t testing.TB, dir string, seed, rounds int, most int64, more ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CACHE_CHILD="+dir, fmt.Sprint("CACHE_SEED=", seed), fmt.Sprint("CACHE_ROUNDS=", rounds), fmt.Sprint("CACHE_MOST=", most))
	cmd.Env = append(cmd.Env, more...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_, err := cmd.StdinPipe() // it ends with this process, and the child with it
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

func long() bool { return os.Getenv("SHARDIFY_LONG") != "" }

// TestKilledProcesses leave no damaged block that is used, no lock that anybody waits for, and
// the bound is kept. The long form has 500 kills with 8 processes at work.
func TestKilledProcesses(t *testing.T) {
	kills, beside := 20, 3
	if long() {
		kills, beside = 500, 7
	}
	if testing.Short() {
		kills = 5
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	largest := int64(0)
	var others []*exec.Cmd
	var said []*bytes.Buffer
	for i := range beside {
		cmd, out := startChild(t, dir, 1000+i, 1<<30, childMost)
		others, said = append(others, cmd), append(said, out)
	}
	for i := range kills {
		cmd, out := startChild(t, dir, i, 1<<30, childMost)
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if s := strings.TrimPrefix(out.String(), "ready\n"); s != "" {
			t.Fatal(s)
		}
		n, _ := onDisk(t, dir)
		if largest = max(largest, n); n > childMost {
			t.Fatalf("%d bytes on the disk after %d kills", n, i)
		}
	}
	for i, cmd := range others {
		if cmd.ProcessState != nil || cmd.Process.Signal(syscall.Signal(0)) != nil {
			t.Error("a process ended: " + said[i].String())
		}
		cmd.Process.Kill()
		cmd.Wait()
		if s := strings.TrimPrefix(said[i].String(), "ready\n"); s != "" {
			t.Error(s)
		}
	}
	// The next process finds its way, and what the dead have left goes with the next eviction.
	cmd, out := startChild(t, dir, 1<<20, 300, childMost)
	if err := cmd.Wait(); err != nil {
		t.Fatal(out)
	}
	c := mustOpen(t, dir, childMost)
	if _, err := c.evict(childMost); err != nil {
		t.Fatal(err)
	}
	if u, err := Look(dir); err != nil || u.Writing != 0 || u.Foreign != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	t.Logf("%d kills, %d processes beside: %d bytes at most of %d; %s", kills, beside, largest, childMost, out)
}

// TestProcessesShareACache: one fetches, the others wait and use it.
func TestProcessesShareACache(t *testing.T) {
	processes, rounds := 4, 300
	if long() {
		processes, rounds = 8, 5000
	}
	dir := t.TempDir()
	var all []*exec.Cmd
	var said []*bytes.Buffer
	for range processes { // of the same seed: they read the same at the same time
		cmd, out := startChild(t, dir, 5, rounds, 64<<20)
		all, said = append(all, cmd), append(said, out)
	}
	total := int64(0)
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Fatal(said[i])
		}
		var n int64
		if _, err := fmt.Sscanf(said[i].String(), "ready\nfetched %d", &n); err != nil {
			t.Fatal(said[i], err)
		}
		total += n
	}
	if most := int64(childFiles * childSize); total > most*102/100 {
		t.Errorf("%d bytes were fetched of %d", total, most)
	}
	t.Logf("%d processes fetched %d bytes of %d", processes, total, childFiles*childSize)
}

// TestAFullDisk: with a file system that has room for a part of the cache, and with a limit of
// the size of files, every read has its bytes.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Logf("no tmpfs (%v): a limit of the size of files alone", err)
	} else {
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	rounds, processes := 200, 2
	if long() {
		rounds, processes = 3000, 8
	}
	var all []*exec.Cmd
	var said []*bytes.Buffer
	for i := range processes {
		cmd, out := startChild(t, dir, i, rounds, 64<<20)
		all, said = append(all, cmd), append(said, out)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Fatal(said[i])
		}
	}
	t.Log(said[0])
	limited := exec.Command("sh", "-c", `ulimit -f 200; exec "$0"`, os.Args[0])
	limited.Env = append(os.Environ(), "CACHE_CHILD="+t.TempDir(), "CACHE_SEED=1", "CACHE_ROUNDS=100", fmt.Sprint("CACHE_MOST=", 64<<20))
	if _, err := limited.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	b, err := limited.CombinedOutput()
	if err != nil || !strings.Contains(string(b), "file too large") {
		t.Errorf("%v: %s", err, b)
	}
}
