package storagetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Laws are what holds for every Store. open gives an empty one, and the same as another
// process has it: a store of its own at the same place.
func Laws(t *testing.T, open func(t *testing.T) (s, other storage.Store)) {
	t.Helper()
	for name, law := range map[string]func(*testing.T, storage.Store, storage.Store){
		"nothing is visible before Commit": invisible, "a second writer of equal bytes succeeds and of other bytes fails": second,
		"names stay below the root": names, "files are written in any order": anyOrder, "one of many writers wins": race, "replace and remove": replaced,
		"what is aborted leaves nothing": aborted,
	} {
		t.Run(name, func(t *testing.T) {
			s, other := open(t)
			law(t, s, other)
		})
	}
}

func put(t *testing.T, s storage.Store, name, content string) error {
	t.Helper()
	p, err := s.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	if _, err := io.WriteString(p, content); err != nil {
		return err
	}
	return p.Commit(t.Context())
}

func get(t *testing.T, s storage.Store, name string) string {
	t.Helper()
	b, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	buf := make([]byte, b.Size())
	if n, err := b.ReadAt(buf, 0); n != len(buf) {
		t.Fatalf("read %d of %d bytes of %s: %v", n, len(buf), name, err)
	}
	if size, err := storage.Size(s, name); size != int64(len(buf)) || err != nil {
		t.Errorf("the size of %s is %d, %v, of %d", name, size, err, len(buf))
	}
	return string(buf)
}

// listed is the names of published files, without those that no reader needs.
func listed(t *testing.T, s storage.Store, dir string) string {
	t.Helper()
	var out []string
	for f, err := range s.List(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(f.Name, storage.Private) {
			out = append(out, f.Name)
		}
	}
	return strings.Join(out, " ")
}

func invisible(t *testing.T, s, other storage.Store) {
	p, err := s.Create("a/b")
	if err != nil {
		t.Fatal(err)
	}
	p.Write([]byte("tail"))
	p.WriteAt([]byte("HEAD"), 100)
	p.Write([]byte("-more"))
	for _, s := range []storage.Store{s, other} {
		if _, err := s.Open("a/b"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open before commit: %v", err)
		}
		if _, err := storage.Size(s, "a/b"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("size before commit: %v", err)
		}
		if n := listed(t, s, ""); n != "" {
			t.Errorf("listed before commit: %s", n)
		}
	}
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := append([]byte("tail-more"), make([]byte, 91)...)
	if got := get(t, other, "a/b"); got != string(want)+"HEAD" {
		t.Errorf("content %q", got)
	}
	if n := listed(t, other, ""); n != "a/b" {
		t.Errorf("listed %q", n)
	}
	if err := p.Abort(); err != nil {
		t.Errorf("abort after commit: %v", err)
	}
	get(t, s, "a/b")
	for _, name := range []string{"a-b", "a/c", "aB", "c/d/e"} {
		if err := put(t, s, name, name); err != nil {
			t.Fatal(err)
		}
	}
	if n := listed(t, s, ""); n != "a-b a/b a/c aB c/d/e" && n != "a/b a/c a-b aB c/d/e" { // a folder is listed in the order of its entries
		t.Errorf("listed %q", n)
	}
	if n := listed(t, s, "a"); n != "a/b a/c" {
		t.Errorf("listed below a %q", n)
	}
}

func second(t *testing.T, s, other storage.Store) {
	big := strings.Repeat("x", 600<<10)
	for _, s := range []storage.Store{s, s, other} {
		if err := put(t, s, "f", big); err != nil {
			t.Errorf("commit of equal bytes: %v", err)
		}
	}
	for _, x := range []string{"y" + big, big[1:], strings.Repeat("x", 600<<10-1) + "y", ""} {
		for _, s := range []storage.Store{s, other} {
			if err := put(t, s, "f", x); !errors.Is(err, shardify.ErrExists) {
				t.Errorf("commit of %d other bytes: %v", len(x), err)
			}
		}
	}
	if get(t, s, "f") != big {
		t.Error("the first file changed")
	}
}

func names(t *testing.T, s, _ storage.Store) {
	for _, n := range []string{"", ".", "..", "../x", "/x", "a/../../x", "a//b", "a/", "a/./b", "x\x00y"} {
		if _, err := s.Create(n); err == nil {
			t.Errorf("created %q", n)
		}
	}
	for _, n := range []string{"a b+c%41é", "#?&=;,", "\"<>'", "～😀", "100%"} {
		if err := put(t, s, n, n); err != nil || get(t, s, n) != n {
			t.Errorf("%q: %v", n, err)
		}
	}
	if n := listed(t, s, ""); n != "\"<>' #?&=;, 100% a b+c%41é ～😀" {
		t.Errorf("listed %q", n)
	}
}

func anyOrder(t *testing.T, s, other storage.Store) {
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 300<<10)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	for round := range 8 {
		p, err := s.Create("f")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Perm(30) {
			if _, err := p.WriteAt(want[i*10<<10:(i+1)*10<<10], int64(i)*10<<10); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Commit(t.Context()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if got := get(t, other, "f"); !bytes.Equal([]byte(got), want) {
		t.Error("other bytes")
	}
}

func race(t *testing.T, s, other storage.Store) {
	for round := range 5 {
		name := string(rune('a' + round))
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				errs[i] = put(t, []storage.Store{s, other}[i%2], name, strings.Repeat(string(rune('0'+i/2)), 1000))
			})
		}
		wg.Wait()
		there := get(t, s, name)
		for i, err := range errs {
			mine := there[0] == byte('0'+i/2)
			if mine && err != nil || !mine && !errors.Is(err, shardify.ErrExists) {
				t.Errorf("writer %d, %c is there: %v", i, there[0], err)
			}
		}
	}
}

func replaced(t *testing.T, s, other storage.Store) {
	for _, content := range []string{"one", "three", ""} {
		if err := storage.Replace(t.Context(), s, "a/f", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got := get(t, other, "a/f"); got != content {
			t.Errorf("%q, want %q", got, content)
		}
	}
	for range 2 {
		if err := s.Remove("a/f"); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := other.Open("a/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of what was removed: %v", err)
	}
}

func aborted(t *testing.T, s, other storage.Store) {
	p, err := s.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	p.Write([]byte("1"))
	if err := p.Abort(); err != nil {
		t.Fatal(err)
	}
	q, err := s.Create("y")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Commit(ctx); err == nil {
		t.Error("commit under a cancelled context succeeded")
	}
	q.Abort()
	if n := listed(t, other, ""); n != "" {
		t.Errorf("left %s", n)
	}
	if x, ok := storage.As[storage.Temper](other); ok {
		if left, err := x.Temps(); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}
