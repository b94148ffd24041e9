package pipeline

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/tests/netfault"
	"github.com/shardify/shardify/tests/servertest"
)

// webFolder is a folder of a web server: listed by WebDAV with sizes, or by a page.
type webFolder struct {
	dir string
	dav bool
}

func (s webFolder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != "PROPFIND" {
		http.FileServer(http.Dir(s.dir)).ServeHTTP(w, r)
		return
	}
	list, err := os.ReadDir(filepath.Join(s.dir, r.URL.Path))
	if err != nil || !s.dav {
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	}
	w.WriteHeader(http.StatusMultiStatus)
	fmt.Fprint(w, `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">`)
	for _, e := range list {
		info, _ := e.Info()
		fmt.Fprint(w, `<D:response><D:href>`)
		xml.EscapeText(w, []byte(path.Join(r.URL.Path, e.Name())))
		fmt.Fprintf(w, `</D:href><D:propstat><D:prop><D:getcontentlength>%d</D:getcontentlength><D:getlastmodified>%s</D:getlastmodified></D:prop></D:propstat></D:response>`,
			info.Size(), info.ModTime().UTC().Format(http.TimeFormat))
	}
	fmt.Fprint(w, `</D:multistatus>`)
}

// TestPlanningAsksFewTimes: the metadata of many files are a few requests a file, many of them
// at a time.
func TestPlanningAsksFewTimes(t *testing.T) {
	const files = 96
	servertest.Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	for _, in := range []struct {
		name string
		per  int // requests a file
	}{{"digits.parquet", 2}, {"HZZ.root", 2}} {
		content, err := os.ReadFile(filepath.Join("../testdata/demo", in.name))
		if err != nil {
			t.Fatal(err)
		}
		dir, ext := t.TempDir(), filepath.Ext(in.name)
		var names []string
		for i := range files {
			names = append(names, fmt.Sprintf("%03d%s", i, ext))
			if err := os.WriteFile(filepath.Join(dir, names[i]), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			name   string
			server func(t *testing.T) (h http.Handler, address string)
			named  bool // one by one
			more   int  // requests a file: sizes that no listing has
		}{
			{"S3", s3Of(dir, names), false, 0},
			{"names on S3", s3Of(dir, names), true, 1},
			{"WebDAV", func(*testing.T) (http.Handler, string) { return webFolder{dir, true}, "" }, false, 0},
			{"web pages", func(*testing.T) (http.Handler, string) { return webFolder{dir, false}, "" }, false, 1},
		} {
			t.Run(c.name+ext, func(t *testing.T) {
				requests, rounds := planning(t, c.server, names, c.named)
				per := in.per + c.more
				const once = 20 // about the folder
				few := 0
				if c.named {
					few = 3 * 64 // the first ones show the format
				}
				t.Logf("%d requests, %d rounds", requests, rounds)
				if most := files*per + once + few; requests > most {
					t.Fatalf("%d requests for %d files, want %d at most", requests, files, most)
				}
				if most := (files*per+few)/32 + per + once; rounds > most {
					t.Errorf("%d requests one after the other, want %d at most", rounds, most)
				}
			})
		}
	}
}

// planning makes a plan of the named files of a server, and counts the requests it took.
func planning(t *testing.T, of func(t *testing.T) (http.Handler, string), names []string, named bool) (requests, answered int) {
	h, address := of(t)
	s := &servertest.Rounds{Handler: h}
	server := httptest.NewServer(s)
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	if address == "" {
		address = server.URL
	}
	inputs := []string{address + "/*" + filepath.Ext(names[0])}
	if named {
		inputs = nil
		for _, n := range names {
			inputs = append(inputs, address+"/"+n)
		}
	}
	p, err := Prepare(context.Background(), Settings{Inputs: inputs, Output: filepath.Join(t.TempDir(), "set")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if n := p.Plan.In.Table.Len(); n != len(names) {
		t.Fatalf("%d files, want %d", n, len(names))
	}
	return s.Count()
}

// many is a server of 10,000 files of one content, by S3 and by WebDAV.
type many struct {
	content  []byte
	ext      string
	requests atomic.Int64
}

func (s *many) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const files, page = 10_000, 1000
	written := time.Unix(1e9, 0).UTC()
	s.requests.Add(1)
	switch q := r.URL.Query(); {
	case r.Method == "PROPFIND" && r.URL.Path != "/in/":
		http.NotFound(w, r)
	case r.Method == "PROPFIND":
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprint(w, `<D:multistatus xmlns:D="DAV:">`)
		for i := range files {
			fmt.Fprintf(w, `<D:response><D:href>%s%05d%s</D:href><D:propstat><D:prop><D:getcontentlength>%d</D:getcontentlength><D:getlastmodified>%s</D:getlastmodified></D:prop></D:propstat></D:response>`,
				r.URL.Path, i, s.ext, len(s.content), written.Format(http.TimeFormat))
		}
		fmt.Fprint(w, `</D:multistatus>`)
	case q.Has("list-type") && q.Get("prefix") != "in/":
		fmt.Fprint(w, `<ListBucketResult></ListBucketResult>`)
	case q.Has("list-type"):
		from, _ := strconv.Atoi(q.Get("continuation-token"))
		fmt.Fprintf(w, `<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%d</NextContinuationToken>`, from+page < files, from+page)
		for i := range page {
			fmt.Fprintf(w, `<Contents><Key>in/%05d%s</Key><LastModified>%s</LastModified><ETag>"v"</ETag><Size>%d</Size></Contents>`, from+i, s.ext, written.Format(time.RFC3339), len(s.content))
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	case path.Ext(r.URL.Path) != s.ext:
		http.NotFound(w, r)
	default:
		w.Header().Set("ETag", `"v"`)
		http.ServeContent(w, r, "", written, bytes.NewReader(s.content))
	}
}

// TestTenThousandFooters, 20 ms away: the plan is made within a minute. Long form: make scale.
func TestTenThousandFooters(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("SHARDIFY_LONG is not set")
	}
	servertest.Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	for _, name := range []string{"digits.parquet", "HZZ.root"} {
		for _, web := range []bool{false, true} {
			content, err := os.ReadFile(filepath.Join("../testdata/demo", name))
			if err != nil {
				t.Fatal(err)
			}
			s := &many{content: content, ext: filepath.Ext(name)}
			server := httptest.NewServer(s)
			defer server.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			link := &netfault.Link{To: strings.TrimPrefix(server.URL, "http://"), Delay: 10 * time.Millisecond}
			go link.Serve(l)
			folder := "http://" + l.Addr().String() + "/in/"
			if !web {
				t.Setenv("AWS_ENDPOINT_URL", "http://"+l.Addr().String())
				folder = "s3://footers" + s.ext + "/in"
			}
			start := time.Now()
			p, err := Prepare(context.Background(), Settings{Inputs: []string{folder}, Limit: 100, Output: filepath.Join(t.TempDir(), "set")})
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			p.Close()
			t.Logf("%s: %d files in %s, %d requests", folder, p.Plan.In.Table.Len(), took.Round(time.Millisecond), s.requests.Load())
			if p.Plan.In.Table.Len() != 10_000 || took > time.Minute {
				t.Errorf("%d files in %s", p.Plan.In.Table.Len(), took)
			}
		}
	}
}

var buckets atomic.Int64 // the program remembers where each bucket is

func s3Of(dir string, names []string) func(t *testing.T) (http.Handler, string) {
	return func(t *testing.T) (http.Handler, string) {
		s := s3test.Start(t)
		bucket := fmt.Sprintf("requests-%d", buckets.Add(1))
		for _, n := range names {
			b, err := os.ReadFile(filepath.Join(dir, n))
			if err != nil {
				t.Fatal(err)
			}
			s.Set("/"+bucket+"/in/"+n, string(b))
		}
		return s.Server.Config.Handler, "s3://" + bucket + "/in"
	}
}
