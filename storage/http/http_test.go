package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/cache"
	"github.com/shardify/shardify/storage/remote"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/netfault"
	_ "github.com/shardify/shardify/tests/race"
)

var bg = context.Background()

// server serves one file, with a fault in some of its answers.
type server struct {
	content []byte
	etag    string
	fault   func(n int64, w http.ResponseWriter, r *http.Request) bool // true: it has answered
	n       atomic.Int64
	bytes   atomic.Int64
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.n.Add(1)
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	if s.fault != nil && s.fault(n, w, r) {
		return
	}
	c := &counter{w, &s.bytes}
	http.ServeContent(c, r, "x.bin", time.Unix(1700000000, 0), bytes.NewReader(s.content))
}

type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

func content(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func start(t testing.TB, s http.Handler) (files *Files, address string) {
	t.Helper()
	for _, name := range []string{"BEARER_TOKEN", "BEARER_TOKEN_FILE", "X509_USER_PROXY", "X509_USER_CERT"} {
		t.Setenv(name, "")
	}
	t.Setenv("NETRC", filepath.Join(t.TempDir(), "none"))
	x := httptest.NewServer(s)
	t.Cleanup(x.Close)
	f := New(64 << 20)
	f.hosts.Pause = hurry
	return f, x.URL
}

// hurry is a short pause.
func hurry(ctx context.Context, d time.Duration) error {
	time.Sleep(d / 1000)
	return ctx.Err()
}

func open(t testing.TB, f *Files, name string) storage.File {
	t.Helper()
	x, err := f.Open(bg, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// TestReadsEqualTheFile, of any size and place, by several goroutines at once.
func TestReadsEqualTheFile(t *testing.T) {
	s := &server{content: content(6 << 20), etag: `"a"`}
	f, address := start(t, s)
	x := open(t, f, address+"/x.bin")
	if x.Size() != int64(len(s.content)) || x.Stamp().Version != `"a"` || x.Stamp().ModTime != 1700000000e9 {
		t.Fatal(x.Stamp())
	}
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 80 {
				n := 1 << r.IntN(23)
				off := r.Int64N(x.Size() + 100)
				if r.IntN(3) > 0 {
					off -= off % (1 << 20)
				}
				b := make([]byte, n)
				m, err := x.ReadAt(b, off)
				want := s.content[min(off, x.Size()):min(off+int64(n), x.Size())]
				if m != len(want) || !bytes.Equal(b[:m], want) || (err == io.EOF) != (m < n) || err != nil && err != io.EOF {
					t.Errorf("%d bytes at %d: %d, %v", n, off, m, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestReadsInOrderAreFewRequests: small reads one after the other become blocks.
func TestReadsInOrderAreFewRequests(t *testing.T) {
	s := &server{content: content(40 << 20)}
	f, address := start(t, s)
	x := open(t, f, address+"/x.bin")
	h, b := sha256.New(), make([]byte, 20_000)
	for off := int64(0); off < x.Size(); off += int64(len(b)) {
		n, err := x.ReadAt(b, off)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		h.Write(b[:n])
	}
	if [32]byte(h.Sum(nil)) != sha256.Sum256(s.content) {
		t.Error("other bytes")
	}
	if n, m := f.Requests(), s.bytes.Load(); n > 14 || m > x.Size()+1<<16 {
		t.Errorf("%d requests, %d bytes of %d", n, m, x.Size())
	}
}

// TestAnnouncedRangesAreFetchedAlone, joined where they are near each other.
func TestAnnouncedRangesAreFetchedAlone(t *testing.T) {
	s := &server{content: content(64 << 20)}
	f, address := start(t, s)
	x := open(t, f, address+"/x.bin")
	var all []storage.Range
	wanted := int64(0)
	for i := range int64(100) {
		for k := range int64(3) { // three ranges of 10 kB with gaps of 1 kB, each 500 kB
			all = append(all, storage.Range{Off: 100_000 + i*500_000 + k*11_000, Len: 10_000})
			wanted += 10_000
		}
	}
	storage.Announce(x, slices.Values(all))
	before := s.bytes.Load()
	for _, r := range all {
		b := make([]byte, r.Len)
		if _, err := x.ReadAt(b, r.Off); err != nil || !bytes.Equal(b, s.content[r.Off:r.Off+r.Len]) {
			t.Fatal(r, err)
		}
	}
	if n := s.bytes.Load() - before; n > wanted*11/10 {
		t.Errorf("%d bytes for %d", n, wanted)
	}
	if n := f.Requests(); n != 101 {
		t.Errorf("%d requests for 100 groups of ranges", n)
	}
}

// TestFaultsGiveNoWrongByte: with a fault in each fifth answer every read has its bytes. The
// long form has 10,000 faults.
func TestFaultsGiveNoWrongByte(t *testing.T) {
	least := 20
	if os.Getenv("SHARDIFY_LONG") != "" {
		least = 10_000 / len(netfault.Kinds)
	}
	for _, kind := range netfault.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := &server{content: content(8 << 20)}
			faults := &netfault.Faults{Rate: 0.2, Kinds: []netfault.Kind{kind}, Seed: 2}
			x := httptest.NewServer(faults.Handler(s))
			t.Cleanup(x.Close)
			f := New(1 << 20)
			f.stall, f.hosts.Pause = 200*time.Millisecond, hurry
			file := open(t, f, x.URL+"/x.bin")
			r := rand.New(rand.NewPCG(1, 2))
			for faults.Of(kind) < least {
				b := make([]byte, 1+r.IntN(100_000))
				off := r.Int64N(file.Size() - int64(len(b)))
				if _, err := file.ReadAt(b, off); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b, s.content[off:off+int64(len(b))]) {
					t.Fatalf("other bytes at %d", off)
				}
			}
			n, requests, _ := faults.Counts()
			t.Logf("%d faults in %d requests", n, requests)
		})
	}
}

// TestAnErrorNamesAddressRangeAndAttempts, and none of what signs the address.
func TestAnErrorNamesAddressRangeAndAttempts(t *testing.T) {
	s := &server{content: content(1 << 20)}
	s.fault = func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return n > 1
	}
	f, address := start(t, s)
	x := open(t, f, address+"/x.bin?X-Amz-Signature=SECRET")
	_, err := x.ReadAt(make([]byte, 10), 500_000)
	for _, want := range []string{address + "/x.bin?...", "bytes 500000 to", "attempt 10", "429"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), "SECRET") {
		t.Error(err)
	}
	var p *fs.PathError
	if !errors.As(err, &p) {
		t.Errorf("%T", err)
	}
}

// TestAChangedFileIsAnError, by its ETag, its time or its size, never a mixture.
func TestAChangedFileIsAnError(t *testing.T) {
	for _, how := range []string{"etag", "no etag", "size"} {
		t.Run(how, func(t *testing.T) {
			s := &server{content: content(1 << 20), etag: `"a"`}
			if how != "etag" {
				s.etag = ""
			}
			f, address := start(t, s)
			x := open(t, f, address+"/x.bin")
			switch how {
			case "etag":
				s.etag = `"b"`
			case "size":
				s.content = s.content[:1<<20-1]
			default:
				s.fault = func(_ int64, w http.ResponseWriter, r *http.Request) bool {
					http.ServeContent(w, r, "x.bin", time.Unix(1700000001, 0), bytes.NewReader(s.content))
					return true
				}
			}
			if _, err := x.ReadAt(make([]byte, 10), 600_000); !errors.Is(err, shardify.ErrChanged) {
				t.Error(err)
			}
		})
	}
}

// TestAReadThatFailsSaysHowFarItCame: callers take a full count for success.
func TestAReadThatFailsSaysHowFarItCame(t *testing.T) {
	s := &server{content: content(32 << 20), etag: `"a"`}
	f, address := start(t, s)
	x := open(t, f, address+"/x.bin")
	s.fault = func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.Header.Get("Range"), fmt.Sprintf("bytes=%d-", 1<<20+8<<20)) {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	b := make([]byte, 24<<20)
	n, err := x.ReadAt(b, 1<<20)
	if n != 8<<20 || err == nil || !bytes.Equal(b[:n], s.content[1<<20:][:n]) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestServersWithoutRanges give small files whole, and an error for large ones.
func TestServersWithoutRanges(t *testing.T) {
	size := 300_000
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		if size < wholeBytes {
			w.Write(content(size))
		}
	})
	f, address := start(t, h)
	x := open(t, f, address+"/x.bin")
	b := make([]byte, 1000)
	if _, err := x.ReadAt(b, 200_000); err != nil || !bytes.Equal(b, content(size)[200_000:201_000]) {
		t.Error(err)
	}
	// What is not kept any more is fetched again.
	small := New(1)
	x = open(t, small, address+"/x.bin")
	y := open(t, small, address+"/y.bin")
	for _, off := range []int64{250_000, 0, 299_500, 100_000} {
		for _, f := range []storage.File{x, y} {
			n, err := f.ReadAt(b, off)
			if want := content(size)[off:min(off+1000, int64(size))]; n != len(want) || !bytes.Equal(b[:n], want) || (err == nil) != (n == 1000) {
				t.Errorf("%d bytes at %d: %v", n, off, err)
			}
		}
	}
	size = wholeBytes + 1
	if _, err := f.Open(bg, address+"/x.bin"); err == nil || !strings.Contains(err.Error(), "no ranges") {
		t.Error(err)
	}
}

// TestWhatIsRefused: compressed answers, redirections to http, passwords in addresses; what
// is absent or forbidden says so.
func TestWhatIsRefused(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("xx"))
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/secret":
			w.WriteHeader(http.StatusForbidden)
		case "/dir":
			http.Redirect(w, r, "/dir/", http.StatusMovedPermanently)
		case "/dir/":
			w.Write([]byte("<html>"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	f, address := start(t, h)
	for name, want := range map[string]error{"/gzip": shardify.ErrUnsupported, "/secret": fs.ErrPermission, "/none": fs.ErrNotExist, "/dir": storage.ErrNotFile} {
		if _, err := f.Open(bg, address+name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Open(bg, address+"/loop"); err == nil || !strings.Contains(err.Error(), "redirections") {
		t.Error(err)
	}
	if _, err := f.Open(bg, strings.Replace(address, "://", "://me:PASS@", 1)+"/x"); !errors.Is(err, shardify.ErrUnsupported) || strings.Contains(err.Error(), "PASS") {
		t.Error(err)
	}
	for _, name := range []string{"https://me:hidden/ab@host/x", "https://me:ab/hidden@host/x", "https://me:ab?hidden@host/x"} {
		if _, err := f.Open(bg, name); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Error(err)
		}
	}
	if info, err := f.Stat(bg, address+"/dir"); err != nil || info.Type != storage.Folder {
		t.Error(info, err)
	}
}

// TestCredentialsGoToHTTPSAlone, and not to where a redirection leads.
func TestCredentialsGoToHTTPSAlone(t *testing.T) {
	got := map[string]string{}
	note := func(w http.ResponseWriter, r *http.Request) { got[r.Host] = r.Header.Get("Authorization") }
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		w.Write([]byte("x"))
	}))
	t.Cleanup(other.Close)
	first := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/x", http.StatusFound)
	}))
	t.Cleanup(first.Close)
	f, plain := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		w.Write([]byte("x"))
	}))
	t.Setenv("BEARER_TOKEN", "TOKEN")
	c, err := newClient(stall)
	if err != nil {
		t.Fatal(err)
	}
	pool := first.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs.Clone()
	pool.AddCert(other.Certificate())
	c.Transport.(*Transport).TLSClientConfig.RootCAs = pool
	c.Transport.(*Transport).TLSClientConfig.ServerName = "example.com"
	f.client = func() (*http.Client, error) { return c, nil }
	for _, a := range []string{first.URL, plain} {
		if _, err := f.Open(bg, a+"/x"); err != nil {
			t.Fatal(err)
		}
	}
	host := func(a string) string { u, _ := url.Parse(a); return u.Host }
	want := map[string]string{host(first.URL): "Bearer TOKEN", strings.Replace(host(other.URL), "127.0.0.1", "localhost", 1): "", host(plain): ""}
	for h, w := range want {
		if got[h] != w {
			t.Errorf("%s got %q, want %q", h, got[h], w)
		}
	}
}

// TestListingsOfServers reads the pages that real servers sent.
func TestListingsOfServers(t *testing.T) {
	dir := corpus.Dir(t, "remote/http")
	for _, c := range []struct {
		file, path, server, kind string
		status                   int
		folder                   string
	}{
		{"apache_index.html", "/d/", "Apache", "text/html;charset=UTF-8", 200, ""},
		{"apache_propfind.xml", "/p/", "Apache", "text/xml", 207, ""},
		{"nginx_index.html", "/p/", "nginx", "text/html", 200, ""},
		{"nginx_index.json", "/p/", "nginx", "application/json", 200, ""},
		{"python_index.html", "/p/", "SimpleHTTP", "text/html; charset=utf-8", 200, ""},
		{"xrootd_index.html", "/pub/p/", "XrootD", "text/html", 200, ""},
		{"xrootd_propfind.xml", "/pub/p/", "XrootD", "text/xml", 207, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil {
				t.Fatal(err)
			}
			f, address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if (r.Method == "PROPFIND") != (c.status == 207) {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				w.Header().Set("Server", c.server)
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				w.Write(page)
			}))
			var names []string
			sizes := map[string]int64{}
			for e, err := range f.List(bg, address+c.path) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, e.Name)
				sizes[e.Name] = e.Size
			}
			if want := "a b+c%2541é.tar"; !slices.Contains(names, want) || !slices.Contains(names, "a.bin") && !slices.Contains(names, "pattern.bin") {
				t.Errorf("%q", names)
			}
			if c.status == 207 || c.kind == "application/json" {
				if max(sizes["a.bin"], sizes["pattern.bin"]) < 9_000 {
					t.Error(sizes)
				}
			}
		})
	}
}

// TestNamesOfListingsCanBeOpened, whatever letters they have.
func TestNamesOfListingsCanBeOpened(t *testing.T) {
	names := []string{"a b+c%41é.tar", "q?x#y.bin", "100%.npy", "%zz", "plain.root", "日本.h5"}
	dir := t.TempDir()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), []byte(n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	files := http.FileServer(http.Dir(dir))
	f, address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PROPFIND" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		files.ServeHTTP(w, r)
	}))
	n := 0
	for e, err := range f.List(bg, address) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == "sub" {
			if e.Type != storage.Folder {
				t.Error(e)
			}
			continue
		}
		x := open(t, f, storage.Join(address+"/", e.Name))
		b := make([]byte, x.Size())
		if _, err := x.ReadAt(b, 0); err != nil || !slices.Contains(names, string(b)) {
			t.Errorf("%s: %q, %v", e.Name, b, err)
		}
		n++
	}
	if n != len(names) {
		t.Errorf("%d of %d", n, len(names))
	}
}

// FuzzListing: no listing leads out of its folder, or to a panic.
func FuzzListing(f *testing.F) {
	f.Add([]byte(`<a href="a%2e%2e/../../b">`), byte(2))
	f.Add([]byte(`[{"name":"../x","type":"file","size":-1}]`), byte(1))
	f.Add([]byte(`<D:multistatus xmlns:D="DAV:"><D:response><D:href>/d/%2e%2e/x</D:href></D:response></D:multistatus>`), byte(0))
	u := &url.URL{Scheme: "http", Host: "h", Path: "/d/"}
	f.Fuzz(func(t *testing.T, b []byte, how byte) {
		parse := []func(*url.URL, bool, []byte) ([]storage.Entry, error){webdav, autoindex, links}[how%3]
		list, err := parse(u, how&4 != 0, b)
		if err != nil {
			return
		}
		for _, e := range list {
			to, err := parseAddress("http://h/d/" + e.Name)
			if err != nil || to.Host != "h" || !strings.HasPrefix(to.Path, "/d/") || strings.Contains(to.Path[3:], "/") || to.RawQuery != "" {
				t.Errorf("%q: %v, %v", e.Name, to, err)
			}
		}
		_, _ = json.Marshal(list)
	})
}

// TestAFileThatIsOpenedAgainIsNotFetchedAgain, unless it is another one by then.
func TestAFileThatIsOpenedAgainIsNotFetchedAgain(t *testing.T) {
	s := &server{content: content(1 << 20), etag: `"a"`}
	f, address := start(t, s)
	read := func() {
		t.Helper()
		x := open(t, f, address+"/x.bin")
		b := make([]byte, 300_000)
		if _, err := x.ReadAt(b, 500_000); err != nil || !bytes.Equal(b, s.content[500_000:800_000]) {
			t.Fatal(err)
		}
		x.Close()
	}
	read()
	before := f.Requests()
	read()
	if n := f.Requests() - before; n != 1 {
		t.Errorf("%d requests to open a file that is there", n)
	}
	s.content, s.etag = slices.Clone(s.content), `"b"`
	s.content[600_000]++
	read()
}

// TestTheCacheOnDisk has what an earlier process fetched, whatever signs the address now.
func TestTheCacheOnDisk(t *testing.T) {
	s := &server{content: content(9 << 20), etag: `"a"`}
	_, address := start(t, s)
	dir := t.TempDir()
	c, err := cache.Open(dir, cache.LeastSize)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	remote.Disk = func() *cache.Cache { return c }
	defer func() { remote.Disk = func() *cache.Cache { return nil } }()
	read := func(query string) int64 {
		t.Helper()
		before := s.bytes.Load()
		x := open(t, New(1<<20), address+"/x.bin?"+query) // as a new process
		defer x.Close()
		b := make([]byte, x.Size())
		if _, err := x.ReadAt(b, 0); err != nil || !bytes.Equal(b, s.content) {
			t.Fatal("other bytes", err)
		}
		for off := int64(0); off < x.Size()-70_000; off += 70_001 {
			if _, err := x.ReadAt(b[:70_000], off); err != nil || !bytes.Equal(b[:70_000], s.content[off:off+70_000]) {
				t.Fatal("other bytes", off, err)
			}
		}
		return s.bytes.Load() - before
	}
	size := int64(len(s.content))
	if n := read("X-Amz-Signature=SECRET1"); n < size || n > size+1<<20 {
		t.Error(n)
	}
	if n := read("X-Amz-Signature=SECRET2"); n != headBytes {
		t.Errorf("%d bytes the second time", n)
	}
	if n := read("id=1"); n < size {
		t.Errorf("%d bytes of another file", n)
	}
	if n := read("id=1&sig=x"); n != headBytes {
		t.Errorf("%d bytes the second time", n)
	}
	s.content, s.etag = slices.Clone(s.content), `"b"`
	s.content[600_000]++
	if n := read(""); n < size {
		t.Errorf("%d bytes of a file that has changed", n)
	}
	// Bytes that were wrong on their way are fetched again when their reader says so.
	x := open(t, New(1<<20), address+"/x.bin")
	before := s.bytes.Load()
	if !storage.Forget(x, storage.Range{Off: 5 << 20, Len: 10}) {
		t.Fatal("a file on a web server forgets nothing")
	}
	if _, err := x.ReadAt(make([]byte, 10), 5<<20); err != nil || s.bytes.Load() == before {
		t.Error(err, "nothing was fetched")
	}
}

// TestAFolderIsListedOnce, however often it is looked at and listed by one command.
func TestAFolderIsListedOnce(t *testing.T) {
	asked := 0
	f, address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PROPFIND" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		asked++
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<a href="a.bin">a.bin</a>`))
	}))
	for range 3 {
		if info, err := f.Stat(bg, address+"/d/"); err != nil || info.Type != storage.Folder {
			t.Fatal(info, err)
		}
		for _, folder := range []string{"/d/", "/d"} {
			n := 0
			for e, err := range f.List(bg, address+folder) {
				if err != nil || e.Name != "a.bin" {
					t.Fatal(e, err)
				}
				n++
			}
			if n != 1 {
				t.Error(n)
			}
		}
	}
	if asked != 1 {
		t.Errorf("%d times", asked)
	}
	f.folders.all[address+"/d/"].until = time.Now()
	for range f.List(bg, address+"/d") {
	}
	if asked != 2 {
		t.Errorf("%d times after a while", asked)
	}
}
