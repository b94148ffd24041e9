// Package s3test is a small S3 server in memory, for tests: the requests that shardify makes,
// with conditions, faults, and an end at any request that changes something.
package s3test

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a server. Every bucket is there.
type Server struct {
	*httptest.Server
	// Behind is the address of a server that has the objects, in the place of this one's memory.
	Behind string
	// Unconditional: conditions of requests that write are not looked at.
	Unconditional bool
	// Unlisted: uploads may not be listed.
	Unlisted bool
	// Fault is asked before each request that changes something, with its number from 1 on.
	// Set it before the first request, or by SetFault.
	fault func(n int, r *http.Request) Fault

	mu      sync.Mutex
	objects map[string]*object // by /bucket/key
	sorted  []string           // their keys; nil where some have changed
	uploads map[string]*upload
	changes int
	last    int
	dead    bool
	reads   int
}

// Fault is what happens to a request.
type Fault int

// The faults.
const (
	None     Fault = iota
	Refuse         // 503 SlowDown, nothing is done
	Lose           // it is done, and the connection breaks
	Break          // the connection breaks, nothing is done
	Die            // nothing is done, nor answered but by an error, from here on
	Last           // it is done, and nothing is answered from here on
	Conflict       // 409, nothing is done: another request for the key is under way
	Late           // a completion is answered 200 with an error inside, nothing is done
)

type object struct {
	body []byte
	etag string
	meta http.Header
	at   time.Time
}

type upload struct {
	key, id string
	meta    http.Header
	parts   map[int]*object
	at      time.Time
}

// Start starts a server until the test ends.
func Start(t testing.TB) *Server {
	s := &Server{objects: map[string]*object{}, uploads: map[string]*upload{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// SetFault asks f before each request that changes something.
func (s *Server) SetFault(f func(n int, r *http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.changes, s.dead = f, 0, false
}

// Changes is how many requests have changed something since SetFault.
func (s *Server) Changes() int { s.mu.Lock(); defer s.mu.Unlock(); return s.changes }

// Reads is how many requests have changed nothing.
func (s *Server) Reads() int { s.mu.Lock(); defer s.mu.Unlock(); return s.reads }

// Uploads lists the uploads that were started and not ended, as /bucket/key.
func (s *Server) Uploads() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.uploads {
		keys = append(keys, u.key)
	}
	slices.Sort(keys)
	return keys
}

// Objects are the contents of the objects whose /bucket/key has a prefix, by the rest of it.
func (s *Server) Objects(prefix string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for k, o := range s.objects {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = string(o.body)
		}
	}
	return out
}

// Set makes an object, as another program does.
func (s *Server) Set(key, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key], s.sorted = newObject([]byte(content), nil), nil
}

// Age makes all uploads older.
func (s *Server) Age(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.uploads {
		u.at = u.at.Add(-d)
	}
}

// Clear forgets all.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
	s.sorted = nil
	clear(s.uploads)
}

func newObject(b []byte, meta http.Header) *object {
	return &object{b, fmt.Sprintf("%x", md5.Sum(b)), meta, time.Now()}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	write := r.Method != http.MethodGet && r.Method != http.MethodHead
	f := None
	if write {
		s.changes++
		if s.fault != nil && !s.dead {
			f = s.fault(s.changes, r)
		}
	} else {
		s.reads++
	}
	if f == Die {
		s.dead = true
	}
	switch {
	case s.dead:
		fail(w, http.StatusForbidden, "AccessDenied")
		return
	case f == Refuse:
		w.Header().Set("Retry-After", "0")
		fail(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case f == Conflict:
		fail(w, http.StatusConflict, "ConditionalRequestConflict")
		return
	case f == Break:
		panic(http.ErrAbortHandler)
	case f == Late && r.Method == http.MethodPost && r.URL.Query().Has("uploadId"):
		w.WriteHeader(http.StatusOK)
		io.WriteString(w, "  \n<Error><Code>InternalError</Code><Message>try again</Message></Error>")
		return
	}
	if f == Lose || f == Last {
		s.dead = s.dead || f == Last
		s.answer(httptest.NewRecorder(), r, body)
		panic(http.ErrAbortHandler)
	}
	s.answer(w, r, body)
}

// forward has the other server answer. The caller holds mu.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Unlock()
	defer s.mu.Lock()
	out, err := http.NewRequest(r.Method, s.Behind+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Host, out.Header = r.Host, r.Header.Clone() // both are signed
	a, err := direct.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer a.Body.Close()
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.StatusCode)
	io.Copy(w, a.Body)
}

var direct = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	if s.Behind != "" {
		s.forward(w, r, body)
		return
	}
	key, q := r.URL.Path, r.URL.Query()
	if d := r.Header.Get("Content-Md5"); d != "" {
		if sum := md5.Sum(body); d != base64.StdEncoding.EncodeToString(sum[:]) {
			fail(w, http.StatusBadRequest, "BadDigest")
			return
		}
	}
	bucket, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	switch {
	case s.Unlisted && q.Has("uploads") && r.Method == http.MethodGet:
		fail(w, http.StatusForbidden, "AccessDenied")
	case rest == "" && r.Method == http.MethodGet && q.Has("uploads"):
		s.listUploads(w, "/"+bucket+"/", q)
	case rest == "" && r.Method == http.MethodGet && q.Has("location"):
		io.WriteString(w, `<LocationConstraint></LocationConstraint>`)
	case rest == "" && r.Method == http.MethodGet:
		s.list(w, "/"+bucket+"/", q)
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.begin(w, r, key)
	case q.Has("uploadId"):
		s.upload(w, r, key, body)
	case r.Method == http.MethodPut:
		if s.keeps(w, r, key) {
			o := newObject(body, metaOf(r))
			s.objects[key], s.sorted = o, nil
			w.Header().Set("ETag", `"`+o.etag+`"`)
		}
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		s.sorted = nil
		w.WriteHeader(http.StatusNoContent)
	default:
		s.read(w, r, key)
	}
}

func metaOf(r *http.Request) http.Header {
	meta := http.Header{}
	for k, v := range r.Header {
		if strings.HasPrefix(k, "X-Amz-Meta-") {
			meta[k] = v
		}
	}
	return meta
}

// keeps looks at the conditions of a request that writes.
func (s *Server) keeps(w http.ResponseWriter, r *http.Request, key string) bool {
	o, match := s.objects[key], r.Header.Get("If-Match")
	switch {
	case s.Unconditional:
	case r.Header.Get("If-None-Match") == "*" && o != nil:
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return false
	case match != "" && o == nil:
		fail(w, http.StatusNotFound, "NoSuchKey")
		return false
	case match != "" && strings.Trim(match, `"`) != o.etag:
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return false
	}
	return true
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request, key string) {
	s.last++
	u := &upload{key: key, id: fmt.Sprintf("upload-%d", s.last), meta: metaOf(r), parts: map[int]*object{}, at: time.Now()}
	s.uploads[u.id] = u
	bucket, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	answer(w, struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: bucket, Key: rest, UploadId: u.id})
}

// minPart is the least size of a part that is not the last; that of S3 is 5 MiB.
const minPart = 256 << 10

func (s *Server) upload(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	u := s.uploads[q.Get("uploadId")]
	switch {
	case u == nil || u.key != key:
		fail(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodGet:
		type part struct {
			PartNumber int
			ETag       string
			Size       int
		}
		var list []part
		for _, n := range slices.Sorted(maps.Keys(u.parts)) {
			list = append(list, part{n, u.parts[n].etag, len(u.parts[n].body)})
		}
		answer(w, struct {
			XMLName xml.Name `xml:"ListPartsResult"`
			Part    []part
		}{Part: list})
	case r.Method == http.MethodDelete:
		delete(s.uploads, u.id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		if n < 1 || n > 10000 {
			fail(w, http.StatusBadRequest, "InvalidArgument")
			return
		}
		u.parts[n] = newObject(body, nil)
		w.Header().Set("ETag", `"`+u.parts[n].etag+`"`)
	case r.Method == http.MethodPost:
		s.complete(w, r, u, body)
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, u *upload, body []byte) {
	var want struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if xml.Unmarshal(body, &want) != nil || len(want.Part) == 0 {
		fail(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	var all, sums []byte
	for i, p := range want.Part {
		have := u.parts[p.PartNumber]
		switch {
		case have == nil || have.etag != strings.Trim(p.ETag, `"`):
			fail(w, http.StatusBadRequest, "InvalidPart")
			return
		case i > 0 && p.PartNumber <= want.Part[i-1].PartNumber:
			fail(w, http.StatusBadRequest, "InvalidPartOrder")
			return
		case i < len(want.Part)-1 && len(have.body) < minPart:
			fail(w, http.StatusBadRequest, "EntityTooSmall")
			return
		}
		sum, _ := hex.DecodeString(have.etag)
		all, sums = append(all, have.body...), append(sums, sum...)
	}
	if !s.keeps(w, r, u.key) {
		return
	}
	o := newObject(all, u.meta)
	o.etag = fmt.Sprintf("%x-%d", md5.Sum(sums), len(want.Part))
	s.objects[u.key], s.sorted = o, nil
	delete(s.uploads, u.id)
	bucket, rest, _ := strings.Cut(strings.TrimPrefix(u.key, "/"), "/")
	answer(w, struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}{Bucket: bucket, Key: rest, ETag: `"` + o.etag + `"`})
}

func (s *Server) read(w http.ResponseWriter, r *http.Request, key string) {
	o := s.objects[key]
	if o == nil {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if m := r.Header.Get("If-Match"); m != "" && strings.Trim(m, `"`) != o.etag {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	for k, v := range o.meta {
		w.Header()[k] = v
	}
	w.Header().Set("ETag", `"`+o.etag+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	r.Header.Del("If-Match") // it was looked at
	http.ServeContent(w, r, "", o.at, bytes.NewReader(o.body))
}

func (s *Server) list(w http.ResponseWriter, bucket string, q url.Values) {
	type entry struct {
		Key, ETag    string
		Size         int
		LastModified string
	}
	type prefix struct{ Prefix string }
	most := 1000
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	after := cmp.Or(q.Get("continuation-token"), q.Get("start-after"))
	var list []entry
	var prefixes []prefix
	next, last := "", ""
	if s.sorted == nil {
		s.sorted = slices.Sorted(maps.Keys(s.objects))
	}
	first, _ := slices.BinarySearch(s.sorted, bucket+max(after, q.Get("prefix")))
	for _, k := range s.sorted[first:] {
		name, ok := strings.CutPrefix(k, bucket)
		rest, below := strings.CutPrefix(name, q.Get("prefix"))
		if !ok || !below {
			break
		}
		folder := ""
		if d := q.Get("delimiter"); d != "" {
			if i := strings.Index(rest, d); i >= 0 {
				folder = q.Get("prefix") + rest[:i+len(d)]
			}
		}
		if cmp.Or(folder, name) <= after || folder != "" && folder == last {
			continue
		}
		if len(list)+len(prefixes) == most {
			next = last
			break
		}
		if last = cmp.Or(folder, name); folder != "" {
			prefixes = append(prefixes, prefix{escape(folder)})
			continue
		}
		o := s.objects[k]
		list = append(list, entry{escape(name), `"` + o.etag + `"`, len(o.body), o.at.UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	answer(w, struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Contents              []entry
		CommonPrefixes        []prefix
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		EncodingType          string
	}{Contents: list, CommonPrefixes: prefixes, IsTruncated: next != "", NextContinuationToken: next, EncodingType: "url"})
}

func (s *Server) listUploads(w http.ResponseWriter, bucket string, q url.Values) {
	type entry struct{ Key, UploadId, Initiated string }
	var list []entry
	for _, id := range slices.Sorted(maps.Keys(s.uploads)) {
		u := s.uploads[id]
		if name, ok := strings.CutPrefix(u.key, bucket); ok && strings.HasPrefix(name, q.Get("prefix")) {
			list = append(list, entry{escape(name), id, u.at.UTC().Format("2006-01-02T15:04:05.000Z")})
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.Key, b.Key) })
	answer(w, struct {
		XMLName      xml.Name `xml:"ListMultipartUploadsResult"`
		Upload       []entry
		EncodingType string
	}{Upload: list, EncodingType: "url"})
}

func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/") }

func answer(w http.ResponseWriter, v any) {
	b, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/xml")
	io.WriteString(w, xml.Header)
	w.Write(b)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}
