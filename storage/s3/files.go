package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/storage/remote"
)

// headBytes is what is read with the first request of a file: many files are smaller.
const headBytes = 64 << 10

// Files are objects, by their addresses: SCHEME://BUCKET/KEY, in which nothing is escaped.
type Files struct {
	transport func() (*http.Transport, error)
	pool      *remote.Pool
	hosts     remote.Hosts

	mu      sync.Mutex
	clients map[string]*client // by scheme and bucket
}

// New makes no connection yet. Files keep at most so many bytes that were read.
func New(memory int64) *Files {
	return &Files{transport: sync.OnceValues(newTransport), pool: remote.NewPool(memory), clients: map[string]*client{}}
}

// Requests is how many requests were made, tries included.
func (f *Files) Requests() int64 { return f.hosts.Requests() }

// at is the client and the key of an address. That of a bucket itself is "".
func (f *Files) at(name string) (c *client, key string, err error) {
	scheme, place, _ := strings.Cut(name, "://")
	bucket, key, _ := strings.Cut(place, "/")
	switch {
	case bucket == "":
		return nil, "", errors.New("no bucket in the address")
	case strings.ContainsAny(bucket, "@:"):
		return nil, "", shardify.Unsupported("a name or password in an address, which would end up in logs: use AWS_ACCESS_KEY_ID or a profile")
	}
	c, err = f.client(strings.ToLower(scheme), bucket)
	return c, strings.TrimRight(key, "/"), err
}

// failed is an error of a call for an address, without a name and password in it.
func failed(op, name string, err error) error {
	return remote.Failed(op, remote.WithoutLogin(name), err)
}

// object is an object that was looked at.
type object struct {
	c     *client
	key   string
	stamp storage.Stamp
}

func (o *object) Stamp() storage.Stamp { return o.stamp }

func (o *object) Close() error { return nil }

// identity is where the object is: stores may have buckets of one name.
func (o *object) identity() string { return o.c.endpoint.String() + "/" + o.c.bucket + "/" + o.key }

// Fetch asks for a range of the content that the object had.
func (o *object) Fetch(ctx context.Context, b []byte, off int64) (n int, err error) {
	err = o.c.try(ctx, func(ctx context.Context, m *minio.Core) (err error) {
		n, err = o.fetch(ctx, m, b, off)
		return err
	})
	if f := failureOf(err); f != nil && f.status == nethttp.StatusPreconditionFailed {
		var now storage.Stamp
		err := o.c.try(ctx, func(ctx context.Context, m *minio.Core) (err error) {
			now, err = o.c.head(ctx, m, o.key)
			return err
		})
		if err != nil {
			return n, remote.Changed("it was replaced")
		}
		return n, remote.Changed("its ETag is %s, it was %s", now.Version, o.stamp.Version)
	}
	return n, err
}

func (o *object) fetch(ctx context.Context, m *minio.Core, b []byte, off int64) (int, error) {
	n, now, err := o.c.get(ctx, m, o.key, o.stamp.Version, b, off)
	switch {
	case now.Version == "":
		return 0, err
	case now.Version != o.stamp.Version:
		return 0, remote.Changed("its ETag is %s, it was %s", now.Version, o.stamp.Version)
	case now.Size != o.stamp.Size:
		return 0, remote.Changed("it has %d bytes, it had %d", now.Size, o.stamp.Size)
	case err == nil && n < len(b):
		err = &remote.Error{Err: io.ErrUnexpectedEOF, Kind: remote.Broken}
	}
	return n, err
}

// get reads a range of an object, as far as the object reaches, and returns its stamp. Its ETag
// must be etag, unless that is "".
func (c *client) get(ctx context.Context, m *minio.Core, key, etag string, b []byte, off int64) (n int, s storage.Stamp, err error) {
	var opts minio.GetObjectOptions
	if err := opts.SetRange(off, off+int64(len(b))-1); err != nil {
		return 0, s, err
	}
	if etag != "" {
		opts.Set("If-Match", quoted(etag))
	}
	body, info, header, err := m.GetObject(ctx, c.bucket, key, opts)
	if err != nil {
		return 0, s, err
	}
	defer body.Close()
	lo, hi, size, err := span(header)
	if err != nil && off == 0 && info.Size == 0 { // an empty object has no first byte
		lo, hi, size, err = 0, 0, 0, nil
	}
	if err == nil {
		err = remote.Answered(lo, hi, size, off, int64(len(b)))
	}
	if err == nil {
		s, err = stamp(size, info)
	}
	if err == nil {
		n, err = http.ReadFull(body, b[:hi-lo])
	}
	return n, s, err
}

// quoted is an ETag as headers have it.
func quoted(etag string) string { return `"` + etag + `"` }

// span is the range of an answer. Servers that send an object whole send no Content-Range.
func span(h nethttp.Header) (lo, hi, size int64, err error) {
	s := h.Get("Content-Range")
	if s == "" {
		return 0, 0, 0, shardify.Unsupported("the server sends whole objects alone")
	}
	return http.ContentRange(s)
}

// Open asks for the beginning of an object, which shows what it is.
func (f *Files) Open(ctx context.Context, name string) (storage.File, error) {
	c, key, err := f.at(name)
	if err != nil {
		return nil, failed("open", name, err)
	}
	o := &object{c: c, key: key}
	if key == "" {
		return nil, failed("open", name, storage.ErrNotFile)
	}
	n := int64(headBytes)
	if f.pool.Knows(o.identity()) {
		n = 1
	}
	head, err := o.first(ctx, n)
	if x := failureOf(err); x != nil && x.status == nethttp.StatusNotFound {
		if folder, e := c.folder(ctx, key); e == nil && folder {
			err = storage.ErrNotFile
		}
	}
	if err != nil {
		return nil, failed("open", name, err)
	}
	return remote.New(name, o.identity(), o, c.host, f.pool, head), nil
}

// first is the beginning of an object, and its stamp.
func (o *object) first(ctx context.Context, n int64) (head []byte, err error) {
	b := make([]byte, n)
	err = o.c.do(ctx, func(ctx context.Context, m *minio.Core) error {
		n, s, err := o.c.get(ctx, m, o.key, "", b, 0)
		o.stamp, head = s, bytes.Clone(b[:n])
		return err
	})
	if f := failureOf(err); f != nil && f.status == nethttp.StatusRequestedRangeNotSatisfiable {
		o.stamp, err = o.c.stat(ctx, o.key)
		if err == nil && o.stamp.Size > 0 {
			err = remote.Changed("it has %d bytes, it had none", o.stamp.Size)
		}
	}
	return head, err
}

func stamp(size int64, info minio.ObjectInfo) (storage.Stamp, error) {
	if info.ETag == "" {
		return storage.Stamp{}, shardify.Unsupported("the server sends no ETag")
	}
	return storage.Stamp{Size: size, ModTime: modTime(info.LastModified), Version: info.ETag}, nil
}

// modTime has no parts of seconds: listings have them, answers do not.
func modTime(t time.Time) int64 { return t.Truncate(time.Second).UnixNano() }

func (c *client) stat(ctx context.Context, key string) (s storage.Stamp, err error) {
	err = c.do(ctx, func(ctx context.Context, m *minio.Core) (err error) {
		s, err = c.head(ctx, m, key)
		return err
	})
	return s, err
}

func (c *client) head(ctx context.Context, m *minio.Core, key string) (storage.Stamp, error) {
	info, err := m.StatObject(ctx, c.bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return storage.Stamp{}, err
	}
	return stamp(info.Size, info)
}

// Stat looks at an object; if there is no such object, it looks for objects below.
func (f *Files) Stat(ctx context.Context, name string) (storage.Info, error) {
	c, key, err := f.at(name)
	if err != nil {
		return storage.Info{}, failed("stat", name, err)
	}
	if key != "" && !strings.HasSuffix(name, "/") {
		s, err := c.stat(ctx, key)
		if err == nil {
			return storage.Info{Type: storage.Regular, Stamp: s}, nil
		}
		if x := failureOf(err); x == nil || x.status != nethttp.StatusNotFound {
			return storage.Info{}, failed("stat", name, err)
		}
	}
	folder, err := c.folder(ctx, key)
	if err == nil && !folder && key != "" {
		err = &failure{status: nethttp.StatusNotFound, code: "NoSuchKey"}
	}
	if err != nil {
		return storage.Info{}, failed("stat", name, err)
	}
	return storage.Info{Type: storage.Folder}, nil
}

// folder reports whether there is something below a key.
func (c *client) folder(ctx context.Context, key string) (bool, error) {
	page, err := c.page(ctx, below(key), "", "/", 1)
	return len(page.Contents)+len(page.CommonPrefixes) > 0, err
}

func below(key string) string {
	if key == "" {
		return ""
	}
	return key + "/"
}

// page asks for a page of the keys with a prefix. What follows a delimiter behind it is one entry.
func (c *client) page(ctx context.Context, prefix, token, delimiter string, most int) (page minio.ListBucketV2Result, err error) {
	err = c.do(ctx, func(ctx context.Context, _ *minio.Core) error {
		c.mu.Lock()
		region := c.region
		c.mu.Unlock()
		m, err := c.in(region, transport{c.transport, ctx})
		if err == nil {
			page, err = m.ListObjectsV2(c.bucket, prefix, "", token, delimiter, most)
		}
		return err
	})
	return page, err
}

// List yields what is in a folder, a page after the other. Objects that stand for the
// folder are not in it.
func (f *Files) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		err := f.list(ctx, folder, func(e storage.Entry) bool { return yield(e, nil) })
		if err != nil {
			yield(storage.Entry{}, failed("list", folder, err))
		}
	}
}

func (f *Files) list(ctx context.Context, folder string, yield func(storage.Entry) bool) error {
	c, key, err := f.at(folder)
	if err != nil {
		return err
	}
	prefix, token, found := below(key), "", false
	for {
		page, err := c.page(ctx, prefix, token, "/", pageKeys)
		if err != nil {
			return err
		}
		found = found || len(page.Contents)+len(page.CommonPrefixes) > 0
		for _, e := range entries(prefix, &page) {
			if err := check(prefix, e.Name); err != nil {
				return err
			}
			if !yield(e) {
				return nil
			}
		}
		switch token = page.NextContinuationToken; {
		case page.IsTruncated:
		case found || key == "":
			return nil
		default:
			return &failure{status: nethttp.StatusNotFound, code: "NoSuchKey"}
		}
	}
}

// entries are those of a page, by name.
func entries(prefix string, page *minio.ListBucketV2Result) []storage.Entry {
	out := make([]storage.Entry, 0, len(page.Contents)+len(page.CommonPrefixes))
	for i := range page.Contents {
		x := &page.Contents[i]
		if name := strings.TrimPrefix(x.Key, prefix); name != "" {
			out = append(out, storage.Entry{Name: name, Type: storage.Regular, Size: x.Size, ModTime: modTime(x.LastModified)})
		}
	}
	for _, x := range page.CommonPrefixes {
		out = append(out, storage.Entry{Name: strings.TrimSuffix(strings.TrimPrefix(x.Prefix, prefix), "/"), Type: storage.Folder, Size: -1})
	}
	return out
}

// check refuses keys that no address has: their parts are not names.
func check(prefix, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("the key %q is not a path: objects with such keys cannot be read", prefix+cmp.Or(name, "/"))
	}
	return nil
}
