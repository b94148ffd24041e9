package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/remote"
)

// headBytes is what is read with the first request of a file: many files are smaller.
const headBytes = 64 << 10

// wholeBytes is the largest file that is read from a server without ranges.
const wholeBytes = 64 << 20

// Files are the files of web servers, by their addresses.
type Files struct {
	client  func() (*http.Client, error)
	pool    *remote.Pool
	stall   time.Duration
	hosts   remote.Hosts
	folders listings
	// signatures of addresses, by those without them.
	signatures sync.Map
}

// New makes no connection yet. Files keep at most so many bytes that were read.
func New(memory int64) *Files {
	f := &Files{pool: remote.NewPool(memory), stall: stall}
	f.client = sync.OnceValues(func() (*http.Client, error) { return newClient(f.stall) })
	return f
}

func (f *Files) host(u *url.URL) *remote.Host { return f.hosts.Host(u.Host) }

// Requests is how many requests were made, tries included.
func (f *Files) Requests() int64 { return f.hosts.Requests() }

// parseAddress is the URL of an address, in which spaces and letters may be unescaped.
func parseAddress(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	if err != nil { // a % that starts no escape
		u, err = url.Parse(escapePercent(name))
	}
	switch {
	case err != nil:
		return nil, errors.New("not an address")
	case u.Host == "":
		return nil, errors.New("no server in the address")
	case u.User != nil:
		return nil, shardify.Unsupported("a name or password in an address, which would end up in logs: use BEARER_TOKEN, or ~/.netrc")
	}
	u.Fragment = ""
	return u, nil
}

func escapePercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("%25")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }

// shown is an address as errors may show it: without what signs it, names and passwords.
func shown(name string) string {
	if i := strings.IndexByte(name, '?'); i >= 0 {
		name = name[:i] + "?..."
	}
	return remote.WithoutLogin(name)
}

// signs reports whether a parameter of a query signs the address, for a time: that of S3, Google,
// Azure, CloudFront, dCache and EOS.
func signs(parameter string) bool {
	p := strings.ToLower(parameter)
	switch p {
	case "awsaccesskeyid", "googleaccessid", "signature", "expires", "policy", "key-pair-id", "authz", "access_token", "token", "sig", "se", "st", "sp", "sv", "sr", "spr", "sip",
		"skoid", "sktid", "skt", "ske", "sks", "skv":
		return true
	}
	return strings.HasPrefix(p, "x-amz-") || strings.HasPrefix(p, "x-goog-")
}

// Unsigned is an address without what signs it, so that it may be written down. The signature
// is remembered, and used when that address is opened.
func (f *Files) Unsigned(name string) string {
	plain, query, _ := strings.Cut(name, "?")
	query, _, _ = strings.Cut(query, "#")
	var kept, signature []string
	for p := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(p, "=")
		if key, err := url.QueryUnescape(key); err == nil && signs(key) {
			signature = append(signature, p)
		} else {
			kept = append(kept, p)
		}
	}
	if len(signature) == 0 {
		return name
	}
	if len(kept) > 0 {
		plain += "?" + strings.Join(kept, "&")
	}
	f.signatures.Store(storage.Clean(plain), strings.Join(signature, "&"))
	return plain
}

// signed is an address with the signature that is known for it.
func (f *Files) signed(name string) string {
	s, ok := f.signatures.Load(storage.Clean(name))
	switch {
	case !ok:
		return name
	case strings.Contains(name, "?"):
		return name + "&" + s.(string)
	}
	return name + "?" + s.(string)
}

// identity differs for files that errors show under one address, and is the same for two
// signatures of one file.
func identity(u *url.URL) string {
	v := *u
	q := v.Query()
	for name := range q {
		if signs(name) {
			delete(q, name)
		}
	}
	v.RawQuery = q.Encode()
	return v.String()
}

// object is a file of a server.
type object struct {
	f       *Files
	url     *url.URL
	stamp   storage.Stamp
	etag    string // a strong one
	changed string // Last-Modified
}

func (o *object) Stamp() storage.Stamp { return o.stamp }

func (o *object) Close() error { return nil }

// Fetch asks for a range.
func (o *object) Fetch(ctx context.Context, b []byte, off int64) (int, error) {
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", off, off+int64(len(b))-1)}}
	if o.etag != "" {
		header.Set("If-Match", o.etag)
	}
	a, err := o.f.ask(ctx, http.MethodGet, o.url, header)
	if err != nil {
		return 0, err
	}
	defer a.close()
	if a.StatusCode == http.StatusPreconditionFailed {
		return 0, remote.Changed("its ETag is not %s any more", o.etag)
	}
	if err := a.status(http.StatusOK, http.StatusPartialContent); err != nil {
		return 0, err
	}
	if err := o.same(a); err != nil {
		return 0, err
	}
	if a.StatusCode == http.StatusOK {
		return o.part(a, b, off)
	}
	lo, hi, size, err := ContentRange(a.Header.Get("Content-Range"))
	if err == nil && size != o.stamp.Size {
		err = remote.Changed("it has %d bytes, it had %d", size, o.stamp.Size)
	}
	if err == nil {
		err = remote.Answered(lo, hi, size, off, int64(len(b)))
	}
	if err != nil {
		return 0, err
	}
	n, err := a.read(b[:hi-lo])
	if err == nil && n < len(b) {
		err = broken(io.ErrUnexpectedEOF)
	}
	return n, err
}

// part is a range of a whole file, which is what servers without ranges send.
func (o *object) part(a answer, b []byte, off int64) (int, error) {
	switch {
	case a.ContentLength != o.stamp.Size:
		return 0, remote.Changed("it has %d bytes, it had %d", a.ContentLength, o.stamp.Size)
	case o.stamp.Size > wholeBytes:
		return 0, shardify.Unsupported("the server sends whole files alone")
	}
	if _, err := io.CopyN(io.Discard, a.Body, off); err != nil {
		return 0, broken(err)
	}
	return a.read(b)
}

// same refuses an answer of another content than the first.
func (o *object) same(a answer) error {
	if e := strong(a.Header.Get("ETag")); e != o.etag {
		return remote.Changed("its ETag is %q, it was %q", e, o.etag)
	}
	if m := a.Header.Get("Last-Modified"); o.etag == "" && m != o.changed {
		return remote.Changed("it is of %q, it was of %q", m, o.changed)
	}
	return nil
}

// strong is an ETag that differs whenever a byte differs, else "".
func strong(etag string) string {
	if strings.HasPrefix(etag, `"`) {
		return etag
	}
	return ""
}

// Open asks for the beginning of a file, which shows what it is.
func (f *Files) Open(ctx context.Context, name string) (storage.File, error) {
	n := int64(headBytes)
	if u, err := parseAddress(name); err == nil && f.pool.Knows(identity(u)) {
		n = 1
	}
	o, head, err := f.look(ctx, name, n)
	if err == nil && o == nil {
		err = storage.ErrNotFile
	}
	if err != nil {
		return nil, failed("open", name, err)
	}
	return remote.New(shown(name), identity(o.url), o, f.host(o.url), f.pool, head), nil
}

// Stat asks for a byte of a file. An address that ends in a slash is a folder, and so is one
// that the server changes to such.
func (f *Files) Stat(ctx context.Context, name string) (storage.Info, error) {
	o, _, err := f.look(ctx, name, 1)
	switch {
	case err != nil:
		return storage.Info{}, failed("stat", name, err)
	case o == nil:
		return storage.Info{Type: storage.Folder}, nil
	}
	return storage.Info{Type: storage.Regular, Stamp: o.stamp}, nil
}

func failed(op, name string, err error) error { return remote.Failed(op, shown(name), err) }

// look asks for the first n bytes of a file; nil is a folder.
func (f *Files) look(ctx context.Context, name string, n int64) (o *object, head []byte, err error) {
	u, err := parseAddress(f.signed(name))
	if err != nil {
		return nil, nil, err
	}
	if u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return nil, nil, f.folder(ctx, u)
	}
	err = f.host(u).Do(ctx, func(ctx context.Context) (err error) {
		o, head, err = f.first(ctx, u, n)
		return err
	})
	return o, head, err
}

func (f *Files) first(ctx context.Context, u *url.URL, n int64) (*object, []byte, error) {
	a, err := f.ask(ctx, http.MethodGet, u, http.Header{"Range": {fmt.Sprintf("bytes=0-%d", n-1)}})
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	o := &object{f: f, url: u, etag: strong(a.Header.Get("ETag")), changed: a.Header.Get("Last-Modified")}
	if t, err := http.ParseTime(o.changed); err == nil {
		o.stamp.ModTime = t.UnixNano()
	}
	o.stamp.Version = o.etag
	switch a.StatusCode {
	case http.StatusPartialContent:
		lo, hi, size, err := ContentRange(a.Header.Get("Content-Range"))
		if err == nil {
			err = remote.Answered(lo, hi, size, 0, n)
		}
		if err != nil {
			return nil, nil, err
		}
		o.stamp.Size = size
		head := make([]byte, hi)
		_, err = a.read(head)
		return o, head, err
	case http.StatusRequestedRangeNotSatisfiable: // an empty file has no first byte
		return o, nil, nil
	}
	if strings.HasSuffix(a.Request.URL.Path, "/") && a.StatusCode < 300 {
		return nil, nil, nil
	}
	if err := a.status(http.StatusOK); err != nil {
		return nil, nil, err
	}
	// The server knows no ranges.
	o.stamp.Size = a.ContentLength
	switch {
	case a.ContentLength < 0:
		return nil, nil, shardify.Unsupported("the server gives no size and sends no ranges: fetch the file first")
	case a.ContentLength > wholeBytes:
		return nil, nil, shardify.Unsupported("the server sends no ranges, and the file has %d bytes: fetch it first", a.ContentLength)
	case n == 1:
		return o, nil, nil
	}
	head := make([]byte, a.ContentLength)
	_, err = a.read(head)
	return o, head, err
}

// folder is an error if a folder is not there.
func (f *Files) folder(ctx context.Context, u *url.URL) error {
	for _, err := range f.entries(ctx, u) {
		return err
	}
	return nil
}

// List yields what is in a folder: by WebDAV where the server has it, else by its listing.
func (f *Files) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		u, err := parseAddress(folder)
		if err != nil {
			yield(storage.Entry{}, failed("list", folder, err))
			return
		}
		if !strings.HasSuffix(u.Path, "/") {
			u = u.JoinPath("/")
		}
		for e, err := range f.entries(ctx, u) {
			if err != nil {
				err = failed("list", folder, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// ContentRange is what "bytes 0-9/100" says, as [lo, hi) of size.
func ContentRange(s string) (lo, hi, size int64, err error) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, total, ok2 := strings.Cut(rest, "/")
	first, last, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, 0, fmt.Errorf("the server's Content-Range is %q", s)
	}
	for _, x := range []struct {
		text string
		to   *int64
	}{{first, &lo}, {last, &hi}, {total, &size}} {
		if *x.to, err = strconv.ParseInt(x.text, 10, 64); err != nil || *x.to < 0 {
			return 0, 0, 0, fmt.Errorf("the server's Content-Range is %q", s)
		}
	}
	if hi++; hi <= lo || hi > size {
		return 0, 0, 0, fmt.Errorf("the server's Content-Range is %q", s)
	}
	return lo, hi, size, nil
}
