package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/tests/corpus"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/tests/servertest"
)

var bg = context.Background()

// stub is a server with one object, of which handle may answer first.
type stub struct {
	content []byte
	etag    string
	handle  func(n int64, w http.ResponseWriter, r *http.Request) bool // true: it has answered
	n       atomic.Int64
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.n.Add(1)
	if s.handle != nil && s.handle(n, w, r) {
		return
	}
	w.Header().Set("ETag", s.etag)
	http.ServeContent(w, r, "x.bin", time.Unix(1700000000, 0), bytes.NewReader(s.content))
}

func content(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// start serves a stub as the endpoint, with keys in the environment.
func start(t testing.TB, s http.Handler) *Files {
	t.Helper()
	x := httptest.NewServer(s)
	t.Cleanup(x.Close)
	servertest.Alone(t)
	t.Setenv("AWS_ENDPOINT_URL", x.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	return files()
}

func files() *Files {
	f := New(64 << 20)
	f.hosts.Pause = func(ctx context.Context, d time.Duration) error {
		time.Sleep(d / 1000)
		return ctx.Err()
	}
	return f
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

// TestReadsEqualTheObject also where each fifth answer is a fault.
func TestReadsEqualTheObject(t *testing.T) {
	for name, fault := range map[string]func(w http.ResponseWriter, s *stub) bool{
		"none": nil,
		"503":  answer(503, "SlowDown"),
		"500":  answer(500, "InternalError"),
		"400":  answer(400, "RequestTimeout"),
		"html": func(w http.ResponseWriter, _ *stub) bool {
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>proxy")
			return true
		},
		"reset": func(w http.ResponseWriter, _ *stub) bool { panic(http.ErrAbortHandler) },
		"short": func(w http.ResponseWriter, s *stub) bool {
			w.Header().Set("ETag", s.etag)
			w.Header().Set("Last-Modified", time.Unix(1700000000, 0).UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-9/%d", len(s.content)))
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(http.StatusPartialContent)
			w.Write(s.content[:5])
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{content: content(3 << 20), etag: `"a"`}
			s.handle = func(n int64, w http.ResponseWriter, r *http.Request) bool {
				if n > 1 && r.Header.Get("If-Match") != `"a"` {
					t.Error("a range without If-Match")
				}
				return fault != nil && n%5 == 2 && fault(w, s)
			}
			f := start(t, s)
			x := open(t, f, "s3://bbb/x.bin")
			if x.Size() != 3<<20 || x.Stamp().Version != "a" || x.Stamp().ModTime != 1700000000e9 {
				t.Fatal(x.Stamp())
			}
			began := time.Now()
			var wg sync.WaitGroup
			for seed := range uint64(3) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, 1))
					for range 40 {
						n, off := 1<<r.IntN(22), r.Int64N(x.Size()+100)
						b := make([]byte, n)
						m, err := x.ReadAt(b, off)
						want := s.content[min(off, x.Size()):min(off+int64(n), x.Size())]
						if m != len(want) || !bytes.Equal(b[:m], want) || err != nil && err != io.EOF {
							t.Errorf("%d bytes at %d: %d, %v", n, off, m, err)
							return
						}
					}
				})
			}
			wg.Wait()
			t.Logf("%d requests in %v", s.n.Load(), time.Since(began))
		})
	}
}

func answer(status int, code string) func(w http.ResponseWriter, s *stub) bool {
	return func(w http.ResponseWriter, _ *stub) bool {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>m</Message></Error>", code)
		return true
	}
}

// TestAnObjectThatIsReplacedIsAnError that names both contents, at once.
func TestAnObjectThatIsReplacedIsAnError(t *testing.T) {
	s := &stub{content: content(1 << 20), etag: `"a"`}
	f := start(t, s)
	x := open(t, f, "s3://bbb/x.bin")
	s.etag = `"b"`
	began := time.Now()
	_, err := x.ReadAt(make([]byte, 10), 500_000)
	if !errors.Is(err, shardify.ErrChanged) || !strings.Contains(err.Error(), "its ETag is b, it was a") || !strings.Contains(err.Error(), "s3://bbb/x.bin") {
		t.Error(err)
	}
	if s.n.Load() != 3 || time.Since(began) > 20*time.Second {
		t.Errorf("%d requests, %v", s.n.Load(), time.Since(began))
	}
}

// TestErrorsOfServers are what recorded answers mean.
func TestErrorsOfServers(t *testing.T) {
	want := map[string]error{"nosuchkey.xml": fs.ErrNotExist, "nosuchbucket.xml": fs.ErrNotExist, "signature.xml": fs.ErrPermission, "anonymous.xml": fs.ErrPermission}
	dir := corpus.Dir(t, "remote")
	for _, server := range []string{"versitygw", "minio", "moto", "rclone"} {
		for file, expect := range expected(t, filepath.Join(dir, "s3", server)) {
			if expect.Status < 300 || file == "invalidrange.xml" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, "s3", server, file))
			if err != nil {
				t.Fatal(err)
			}
			f := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(expect.Status)
				w.Write(b)
			}))
			_, err = f.Open(bg, "s3://bbb/x")
			x := failureOf(err)
			if x == nil || x.code != expect.Code && len(b) > 0 || want[file] != nil && !errors.Is(err, want[file]) {
				t.Errorf("%s of %s: %v, want %s", file, server, err, expect.Code)
			}
		}
	}
}

type expectation struct {
	Status int
	Code   string
	Keys   []string
}

func expected(t *testing.T, dir string) (out map[string]expectation) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestListingsOfServers reads the pages that real servers sent, with keys escaped or not.
func TestListingsOfServers(t *testing.T) {
	dir := corpus.Dir(t, "remote")
	n := 0
	for _, server := range []string{"versitygw", "minio", "moto", "rclone"} {
		for file, expect := range expected(t, filepath.Join(dir, "s3", server)) {
			if expect.Keys == nil || file == "list_uploads.xml" {
				continue
			}
			f := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.ServeFile(w, r, filepath.Join(dir, "s3", server, file))
			}))
			c, _, err := f.at("s3://bbb/l")
			if err != nil {
				t.Fatal(err)
			}
			page, err := c.page(bg, "l/", "", "/", 5)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range page.Contents {
				got = append(got, x.Key)
			}
			if n++; !slices.Equal(got, expect.Keys) {
				t.Errorf("%s of %s: %q, want %q", file, server, got, expect.Keys)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d listings", n)
	}
}

// TestFoldersOfServers: objects of a real server are listed as folders, read and looked at.
func TestFoldersOfServers(t *testing.T) {
	for _, program := range []string{"versitygw", "minio"} {
		t.Run(program, func(t *testing.T) {
			servertest.S3(t, program)
			f := files()
			names := []string{"A", "a b", "a%41", "a+b", "é", "～", "😀", "d/x.bin", "d/e/y", "empty"}
			for i := range 1100 {
				names = append(names, fmt.Sprintf("many/%05d", i))
			}
			c, _, err := f.at("s3://data")
			if err != nil {
				t.Fatal(err)
			}
			sem := make(chan struct{}, 16)
			var wg sync.WaitGroup
			for _, name := range names {
				sem <- struct{}{}
				wg.Go(func() {
					b := []byte(name)
					if name == "empty" {
						b = nil
					}
					if _, err := cores.at(c.current()).PutObject(bg, "data", name, bytes.NewReader(b), int64(len(b)), "", "", minio.PutObjectOptions{DisableContentSha256: true}); err != nil {
						t.Error(err)
					}
					<-sem
				})
			}
			wg.Wait()
			list := func(folder string) (out []string) {
				for e, err := range f.List(bg, folder) {
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, fmt.Sprint(e.Name, map[storage.Type]string{storage.Folder: "/"}[e.Type]))
				}
				return out
			}
			top := list("s3://data")
			slices.Sort(top)
			if want := []string{"A", "a b", "a%41", "a+b", "d/", "empty", "many/", "é", "～", "😀"}; !slices.Equal(top, want) {
				t.Errorf("%q", top)
			}
			if got := list("s3://data/d/"); !slices.Equal(got, []string{"x.bin", "e/"}) {
				t.Errorf("%q", got)
			}
			if got := list("s3://data/many"); len(got) != 1100 || got[0] != "00000" || got[1099] != "01099" {
				t.Errorf("%d names", len(got))
			}
			for _, name := range names[:10] {
				info, err := f.Stat(bg, "s3://data/"+name)
				if err != nil || info.Type != storage.Regular {
					t.Errorf("%s: %v, %v", name, info, err)
				}
				x := open(t, f, "s3://data/"+name)
				b := make([]byte, x.Size())
				if _, err := x.ReadAt(b, 0); err != nil && err != io.EOF || string(b) != strings.Replace(name, "empty", "", 1) || x.Stamp() != info.Stamp {
					t.Errorf("%s: %q, %v, %v", name, b, err, x.Stamp())
				}
			}
			if info, err := f.Stat(bg, "s3://data/d"); err != nil || info.Type != storage.Folder {
				t.Error(info, err)
			}
			for _, name := range []string{"s3://data/none", "s3://data/man", "s3://none/x"} {
				if _, err := f.Stat(bg, name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
				for _, err := range f.List(bg, name) {
					if !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			if _, err := f.Open(bg, "s3://data/d"); !errors.Is(err, storage.ErrNotFile) {
				t.Error(err)
			}
			t.Setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
			if _, err := files().Open(bg, "s3://data/A"); !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "another") {
				t.Error(err)
			}
		})
	}
}

// TestCredentialsAreFound in the order of AWS's tools, and errors never show them.
func TestCredentialsAreFound(t *testing.T) {
	var keys []string
	s := &stub{content: []byte("x"), etag: `"a"`}
	s.handle = func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, scope, _ := strings.Cut(key, "/")
		if scope != "" {
			key += " " + strings.Split(scope, "/")[1]
		}
		keys = append(keys, strings.TrimSpace(key+" "+r.Header.Get("X-Amz-Security-Token")))
		return false
	}
	start(t, s)
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write("config", "[default]\nregion = eu-west-1\n[profile p]\nregion=eu-north-1\nendpoint_url = "+endpoint+"\n[profile proc]\ncredential_process = "+
		write("proc", "#!/bin/sh\necho '{\"Version\": 1, \"AccessKeyId\": \"PROC\", \"SecretAccessKey\": \"hidden\", \"SessionToken\": \"TOKEN\"}'\n")+" now\n[profile role]\nrole_arn = x\nsource_profile = p\n")
	shared := write("credentials", "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = hidden\n[p]\naws_access_key_id = PROFILE\naws_secret_access_key = hidden\n[half]\naws_access_key_id = hiddenid\n")
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"AccessKeyId": "CONTAINER", "SecretAccessKey": "hidden", "Token": "TOKEN", "Expiration": "2999-01-01T00:00:00Z"}`)
	}))
	defer container.Close()
	files2 := map[string]string{"AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": shared}
	for _, c := range []struct {
		name, want string
		env        map[string]string
	}{
		{"nothing", "", nil},
		{"environment", "ENV us-east-1", map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "hidden"}},
		{"token and region", "ENV eu-x T", map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_SESSION_TOKEN": "T", "AWS_DEFAULT_REGION": "eu-x"}},
		{"environment before files", "ENV eu-west-1", with(files2, "AWS_ACCESS_KEY_ID", "ENV", "AWS_SECRET_ACCESS_KEY", "hidden")},
		{"files", "DEFAULT eu-west-1", files2},
		{"profile and its endpoint", "PROFILE eu-north-1", with(files2, "AWS_PROFILE", "p", "AWS_ENDPOINT_URL", "")},
		{"process", "PROC us-east-1 TOKEN", with(files2, "AWS_PROFILE", "proc")},
		{"container", "CONTAINER us-east-1 TOKEN", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": container.URL}},
		{"not signed", "", with(files2, "AWS_NO_SIGN_REQUEST", "YES")},
		{"half of them", "error: one is not set", map[string]string{"AWS_ACCESS_KEY_ID": "hiddenid"}},
		{"half a profile", "error: partial", with(files2, "AWS_PROFILE", "half")},
		{"no profile", "error: no profile", with(files2, "AWS_PROFILE", "none")},
		{"role", "error: credential_process", with(files2, "AWS_PROFILE", "role")},
		{"web identity", "error: AWS_WEB_IDENTITY_TOKEN_FILE", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": filepath.Join(dir, "none")}},
		{"endpoint", "error: endpoint", map[string]string{"AWS_ENDPOINT_URL_S3": "https://user:hidden@host"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			servertest.Alone(t)
			t.Setenv("AWS_ENDPOINT_URL", endpoint)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			keys = nil
			_, err := files().Open(bg, "s3://bbb/x")
			says, wrong := strings.CutPrefix(c.want, "error: ")
			switch {
			case wrong && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hidden")):
				t.Error(err)
			case !wrong && (err != nil || len(keys) != 1 || keys[0] != c.want):
				t.Errorf("%q, %v", keys, err)
			}
		})
	}
}

func with(m map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// TestExpiredCredentialsAreReadAgain once, and so is the region where the server names another.
func TestExpiredCredentialsAreReadAgain(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := &stub{content: []byte("x"), etag: `"a"`}
		f := start(t, s)
		shared := filepath.Join(t.TempDir(), "credentials")
		write := func(key string) {
			if err := os.WriteFile(shared, []byte("[default]\naws_access_key_id = "+key+"\naws_secret_access_key = hidden\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("OLD")
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", shared)
		s.handle = func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			switch a := r.Header.Get("Authorization"); {
			case strings.Contains(a, "OLD"):
				if !ends {
					write("NEW")
				}
				return answer(403, "ExpiredToken")(w, s)
			case !strings.Contains(a, "/eu-central-1/"):
				w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
				return answer(400, "AuthorizationHeaderMalformed")(w, s)
			}
			return false
		}
		_, err := f.Open(bg, "s3://bbb/x")
		if n := s.n.Load(); ends && (!errors.Is(err, fs.ErrPermission) || n != 2) || !ends && (err != nil || n != 3) {
			t.Errorf("%d requests, %v", n, err)
		}
	}
}

// TestPlacesOfBuckets are hosts where AWS's are, else paths.
func TestPlacesOfBuckets(t *testing.T) {
	servertest.Alone(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	for _, c := range []struct{ name, endpoint, want string }{
		{"s3://bucket", "", "https://bucket.s3.dualstack.eu-central-1.amazonaws.com/k"},
		{"s3://a.b", "", "https://s3.dualstack.eu-central-1.amazonaws.com/a.b/k"},
		{"s3://bucket", "https://minio.org:9000", "https://minio.org:9000/bucket/k"},
		{"gs://bucket", "https://minio.org:9000", "https://storage.googleapis.com/bucket/k"},
	} {
		t.Setenv("AWS_ENDPOINT_URL_S3", c.endpoint)
		f := files()
		x, _, err := f.at(c.name)
		if err != nil {
			t.Fatal(err)
		}
		var url string
		x.transport = asker(func(r *http.Request) { url = r.URL.String() })
		m, err := x.in(x.region, transport{base: x.transport})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = m.StatObject(bg, x.bucket, "k", minio.StatObjectOptions{})
		if url != c.want {
			t.Errorf("%s at %q: %s", c.name, c.endpoint, url)
		}
	}
	for _, name := range []string{"s3://ID:hidden@bucket/x", "s3://ID:ab/hidden@bucket/x", "s3://ID:hidden/ab@bucket/x"} {
		if _, err := files().Open(bg, name); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Error(err)
		}
	}
}

type asker func(*http.Request)

func (a asker) RoundTrip(r *http.Request) (*http.Response, error) {
	a(r)
	return nil, errors.New("no network")
}

// TestAListingEndsWithItsContext, although the server does not answer.
func TestAListingEndsWithItsContext(t *testing.T) {
	asked := make(chan struct{})
	f := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(bg)
	go func() {
		<-asked
		cancel()
	}()
	begun := time.Now()
	for _, err := range f.List(ctx, "s3://data/folder") {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
