package xrootd

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/remote"
)

const (
	port      = "1094"
	stall     = 30 * time.Second // without a byte
	redirects = 16
)

// roots are the certificates of X509_CERT_DIR beside those of the system.
var roots = sync.OnceValue(func() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("X509_CERT_DIR"), "*.pem"))
	if os.Getenv("X509_CERT_DIR") == "" {
		files, _ = filepath.Glob("/etc/grid-security/certificates/*.pem")
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			pool.AppendCertsFromPEM(b)
		}
	}
	return pool
})

// Files are the files of XRootD servers, by their addresses.
type Files struct {
	pool  *remote.Pool
	stall time.Duration

	hosts remote.Hosts

	mu    sync.Mutex
	conns map[place]*dialed
	idle  map[string]*object // closed a moment ago, by their addresses: their handles are still valid
}

const (
	idleTime = 5 * time.Second
	mostIdle = 64
)

// reuse returns an object that was closed a moment ago, or nil.
func (f *Files) reuse(id string) *object {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.idle[id]
	if o != nil {
		delete(f.idle, id)
		o.expiry.Stop()
	}
	return o
}

// keep leaves an object to the next that opens its file, for a while.
func (f *Files) keep(o *object) bool {
	id := o.address()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle == nil {
		f.idle = map[string]*object{}
	}
	if f.idle[id] != nil || len(f.idle) >= mostIdle {
		return false
	}
	f.idle[id] = o
	o.expiry = time.AfterFunc(idleTime, func() {
		f.mu.Lock()
		mine := f.idle[id] == o
		if mine {
			delete(f.idle, id)
		}
		f.mu.Unlock()
		if mine {
			o.release()
		}
	})
	return true
}

// dialed is a connection that is there, or is being made: the rest is there when done is closed.
type dialed struct {
	done  chan struct{}
	c     *conn
	err   error
	ended bool // who made it gave up, which says nothing about the server
}

func (d *dialed) lost() bool {
	select {
	case <-d.done:
		return d.err != nil || d.c.gone()
	default:
		return false
	}
}

// New makes no connection yet. Files keep at most so many bytes that were read.
func New(memory int64) *Files {
	return &Files{pool: remote.NewPool(memory), stall: stall, conns: map[place]*dialed{}}
}

func (f *Files) host(p place) *remote.Host { return f.hosts.Host(p.host) }

// conn is the connection to a server. Who asks first makes it, others wait for that.
func (f *Files) conn(ctx context.Context, p place) (*conn, error) {
	for {
		f.mu.Lock()
		d := f.conns[p]
		own := d == nil || d.lost()
		if own {
			d = &dialed{done: make(chan struct{})}
			f.conns[p] = d
		}
		f.mu.Unlock()
		if own {
			d.c, d.err = dial(ctx, p, f.stall)
			d.ended = ctx.Err() != nil
			close(d.done)
			return d.c, d.err
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if d.err == nil || !d.ended {
			return d.c, d.err
		}
	}
}

// parse cuts an address into its server and the path there, with what follows a ?.
func parse(name string) (p place, file string, err error) {
	scheme, rest, _ := strings.Cut(name, "://")
	host, file, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:] // a name, which the login does not need
	}
	if host == "" {
		return p, "", errors.New("no server in the address")
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), port)
	}
	if strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return p, "", errors.New("control characters in the path")
	}
	file, opaque, found := strings.Cut(file, "?")
	if file = path.Clean("/" + file); found {
		file += "?" + opaque
	}
	return place{host, strings.EqualFold(scheme, "roots") || strings.EqualFold(scheme, "xroots")}, file, nil
}

// shown is an address without its login, and without what follows a ?, which may be a token.
func shown(name string) string {
	before, _, _ := strings.Cut(name, "?")
	return remote.WithoutLogin(before)
}

func failed(op, name string, err error) error { return remote.Failed(op, shown(name), err) }

// info is what a server reports of a file: "id size flags mtime ...".
type info struct {
	id    string
	size  int64
	flags int64
	mtime int64
}

func parseInfo(text string) (i info, err error) {
	w := strings.Fields(text)
	if len(w) < 4 {
		return i, fmt.Errorf("the server's answer is %q", text)
	}
	i.id = w[0]
	for k, to := range []*int64{&i.size, &i.flags, &i.mtime} {
		if *to, err = strconv.ParseInt(w[k+1], 10, 64); err != nil || *to < 0 {
			return i, fmt.Errorf("the server's answer is %q", text)
		}
	}
	return i, nil
}

func (i *info) kind() storage.Type {
	switch {
	case i.flags&2 != 0:
		return storage.Folder
	case i.flags&4 != 0:
		return storage.Other
	}
	return storage.Regular
}

func (i *info) stamp() storage.Stamp {
	return storage.Stamp{Size: i.size, ModTime: i.mtime * 1e9, Version: i.id}
}

// elsewhere is an error of a server that another one led to.
type elsewhere struct {
	host string
	error
}

func (e *elsewhere) Error() string { return e.error.Error() + ", at " + e.host }
func (e *elsewhere) Unwrap() error { return e.error }

// at makes a request at the server that has a file, wherever others lead.
func (f *Files) at(ctx context.Context, p place, file string, do func(c *conn, file string) error) error {
	for hop := range redirects {
		c, err := f.conn(ctx, p)
		if err == nil {
			err = do(c, file)
		}
		var r *redirection
		if !errors.As(err, &r) {
			if err != nil && hop > 0 {
				err = &elsewhere{p.host, err}
			}
			return err
		}
		p = r.to
		if r.opaque != "" {
			sign := "?"
			if strings.Contains(file, "?") {
				sign = "&"
			}
			file += sign + r.opaque
		}
	}
	return fmt.Errorf("more than %d redirections", redirects)
}

// Stat looks at a file.
func (f *Files) Stat(ctx context.Context, name string) (storage.Info, error) {
	i, err := f.stat(ctx, name)
	if err != nil {
		return storage.Info{}, failed("stat", name, err)
	}
	x := storage.Info{Type: i.kind()}
	if x.Type == storage.Regular {
		x.Stamp = i.stamp()
	}
	return x, nil
}

func (f *Files) stat(ctx context.Context, name string) (i info, err error) {
	p, file, err := parse(name)
	if err != nil {
		return i, err
	}
	err = f.host(p).Do(ctx, func(ctx context.Context) error {
		return f.at(ctx, p, file, func(c *conn, file string) error {
			var text []byte
			err := c.do(ctx, kStat, params{}, []byte(file), 0, func(f *frame) error {
				text = append(text, f.body...)
				return nil
			})
			if err == nil {
				i, err = parseInfo(cString(text))
			}
			return err
		})
	})
	return i, err
}

// Open opens a file.
func (f *Files) Open(ctx context.Context, name string) (storage.File, error) {
	p, file, err := parse(name)
	if err != nil {
		return nil, failed("open", name, err)
	}
	o := &object{f: f, place: p, file: file}
	h := f.host(p)
	if x := f.reuse(o.address()); x != nil && !x.conn.gone() {
		return remote.New(shown(name), x.identity(), x, h, f.pool, nil), nil
	}
	err = h.Do(ctx, func(ctx context.Context) error {
		c, handle, i, err := o.open(ctx)
		o.conn, o.handle, o.info = c, handle, i
		return err
	})
	if err == nil && o.info.kind() != storage.Regular {
		err = storage.ErrNotFile
	}
	if err == nil && o.info.flags&8 != 0 {
		err = shardify.Unsupported("the file is on tape: stage it first")
	}
	if err != nil {
		return nil, failed("open", name, err)
	}
	return remote.New(shown(name), o.identity(), o, h, f.pool, nil), nil
}

// object is an open file, whose handle is lost with its connection.
type object struct {
	f     *Files
	place place
	file  string
	info  info

	mu     sync.Mutex
	conn   *conn
	handle [4]byte
	failed map[string]int // how often servers failed that others led to
	expiry *time.Timer    // of the handle of a closed file
}

// address is what the file is opened by.
func (o *object) address() string { return fmt.Sprint(o.place, " ", o.file) }

// avoided is the path with the servers that failed twice: one time may have been an accident of
// the connection, and a redirector learns by itself that a server is gone.
func (o *object) avoided() string {
	var hosts []string
	for at, n := range o.failed {
		if host, _, err := net.SplitHostPort(at); n > 1 && err == nil {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return o.file
	}
	slices.Sort(hosts)
	sign := "?"
	if strings.Contains(o.file, "?") {
		sign = "&"
	}
	return o.file + sign + "tried=" + strings.Join(hosts, ",") + "&triedrc=ioerr"
}

func (o *object) Stamp() storage.Stamp { return o.info.stamp() }

// identity is the server and the path, without what follows a ?, which may be a token.
func (o *object) identity() string {
	file, _, _ := strings.Cut(o.file, "?")
	return "root://" + o.place.host + "/" + file
}

// open asks for a handle.
func (o *object) open(ctx context.Context) (at *conn, handle [4]byte, i info, err error) {
	var p params
	u16(p[2:], 0x410) // read, and return what it is
	err = o.f.at(ctx, o.place, o.avoided(), func(c *conn, file string) error {
		var b []byte
		err := c.do(ctx, kOpen, p, []byte(file), 0, func(f *frame) error {
			b = append(b, f.body...)
			return nil
		})
		if err != nil {
			return err
		}
		if len(b) < 12 {
			return errors.New("the server sends no facts about the file")
		}
		at = c
		copy(handle[:], b)
		i, err = parseInfo(cString(b[12:]))
		return err
	})
	var e *elsewhere
	var again *remote.Error
	if errors.As(err, &e) && errors.As(err, &again) {
		if o.failed == nil {
			o.failed = map[string]int{}
		}
		o.failed[e.host]++
	}
	return at, handle, i, err
}

// again is the handle, of a new connection if the old one was lost.
func (o *object) again(ctx context.Context) (*conn, [4]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.conn.gone() {
		return o.conn, o.handle, nil
	}
	c, handle, i, err := o.open(ctx)
	if err != nil {
		return nil, handle, err
	}
	if i.size != o.info.size || i.mtime != o.info.mtime {
		return nil, handle, remote.Changed("it has %d bytes of %s, it had %d of %s",
			i.size, time.Unix(i.mtime, 0).UTC(), o.info.size, time.Unix(o.info.mtime, 0).UTC())
	}
	o.conn, o.handle = c, handle
	return c, handle, nil
}

// Fetch reads with a checksum for each page, where the server has that.
func (o *object) Fetch(ctx context.Context, b []byte, off int64) (n int, err error) {
	c, handle, err := o.again(ctx)
	if err != nil {
		return 0, err
	}
	var p params
	copy(p[:], handle[:])
	u64(p[4:], off)
	u32(p[12:], len(b))
	number, room := kRead, 0
	if c.flags&hasPgread != 0 {
		number, room = kPgread, len(b)+4*(len(b)/pageBytes+2)
	}
	err = c.do(ctx, number, p, nil, room, func(f *frame) error {
		if number == kRead {
			if len(f.body) > len(b)-n {
				return errors.New("more bytes than were asked for")
			}
			n += copy(b[n:], f.body)
			return nil
		}
		if f.status != stStatus {
			return errors.New("data without checksums")
		}
		if at := get64(f.body[16:]); at != off+int64(n) && len(f.data) > 0 {
			return fmt.Errorf("data of byte %d, byte %d is due", at, off+int64(n))
		}
		m, err := pages(b[n:], f.data, off+int64(n))
		n += m
		return err
	})
	if err == nil && n < len(b) {
		err = broken(io.ErrUnexpectedEOF)
	}
	return n, err
}

// inFlight is how many ranges are asked for without waiting for the first.
const inFlight = 128

// FetchAll asks for all ranges at once. Servers that send checksums get a request for each, which
// costs 100 bytes on the way; others send many in one answer.
func (o *object) FetchAll(ctx context.Context, parts []remote.Part) (int, error) {
	c, handle, err := o.again(ctx)
	if err != nil {
		return 0, err
	}
	if c.flags&hasPgread == 0 {
		return o.vector(ctx, c, handle, parts)
	}
	errs := make([]error, len(parts))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(inFlight, len(parts)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(parts)); i = next.Add(1) - 1 {
				_, errs[i] = o.Fetch(ctx, parts[i].B, parts[i].Off)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return i, err
		}
	}
	return len(parts), nil
}

// The bounds of a vector of ranges, by their number and their bytes.
const (
	mostRanges     = 1024
	mostRangeBytes = 2<<20 - 16
)

// vector reads as many ranges as one request may have.
func (o *object) vector(ctx context.Context, c *conn, handle [4]byte, parts []remote.Part) (int, error) {
	var text []byte
	type place struct {
		part int
		b    []byte
	}
	var list []place
	for i, p := range parts {
		pieces := (len(p.B) + mostRangeBytes - 1) / mostRangeBytes
		if len(list)+pieces > mostRanges {
			if i == 0 {
				return 0, shardify.Unsupported("a range of %d bytes", len(p.B))
			}
			break
		}
		for at := 0; at < len(p.B); at += mostRangeBytes {
			b := p.B[at:min(at+mostRangeBytes, len(p.B))]
			var r [16]byte
			copy(r[:], handle[:])
			u32(r[4:], len(b))
			u64(r[8:], p.Off+int64(at))
			text, list = append(text, r[:]...), append(list, place{i, b})
		}
	}
	var rest []byte // of an answer, before the end of a range's header
	k, got := 0, 0  // the range that is due, and what there is of it
	err := c.do(ctx, kReadv, params{}, text, 0, func(f *frame) error {
		for b := f.body; len(b) > 0; {
			if k == len(list) {
				return errors.New("more ranges than were asked for")
			}
			if len(rest) < 16 {
				n := min(16-len(rest), len(b))
				if rest, b = append(rest, b[:n]...), b[n:]; len(rest) == 16 && !bytes.Equal(rest[4:], text[16*k+4:16*k+16]) {
					return errors.New("another range than was asked for")
				}
				continue
			}
			n := copy(list[k].b[got:], b)
			b = b[n:]
			if got += n; got == len(list[k].b) {
				k, got, rest = k+1, 0, rest[:0]
			}
		}
		return nil
	})
	if k < len(list) {
		if err == nil {
			err = broken(io.ErrUnexpectedEOF)
		}
		return list[k].part, err
	}
	if last := list[k-1].part + 1; last < len(parts) && err == nil { // the rest is another request
		n, err := o.vector(ctx, c, handle, parts[last:])
		return last + n, err
	}
	return list[k-1].part + 1, err
}

// Close keeps the handle for a while, if the file is opened again.
func (o *object) Close() error {
	o.mu.Lock()
	gone := o.conn.gone()
	o.mu.Unlock()
	if !gone && !o.f.keep(o) {
		o.release()
	}
	return nil
}

// release gives the handle back.
func (o *object) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn.gone() {
		return
	}
	var p params
	copy(p[:], o.handle[:])
	// Nothing waits for the answer: the server closes the file with the connection, too.
	if _, end, err := o.conn.begin(kClose, p, nil, 0); err == nil {
		end()
	}
}

// List yields what is in a folder.
func (f *Files) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		list, err := f.list(ctx, folder)
		if err != nil {
			yield(storage.Entry{}, failed("list", folder, err))
			return
		}
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (f *Files) list(ctx context.Context, folder string) (out []storage.Entry, err error) {
	p, file, err := parse(folder)
	if err != nil {
		return nil, err
	}
	var q params
	q[15] = 2 // with what they are
	err = f.host(p).Do(ctx, func(ctx context.Context) error {
		return f.at(ctx, p, file, func(c *conn, file string) error {
			var b []byte
			err := c.do(ctx, kDirlist, q, []byte(file), 0, func(f *frame) error {
				if len(b)+len(f.body) > mostBody {
					return errors.New("the listing is too long")
				}
				b = append(b, f.body...)
				return nil
			})
			if err == nil {
				out, err = entries(cString(b))
			}
			return err
		})
	})
	return out, err
}

// entries reads a listing: names, each before a line that describes it where the server can
// do that.
func entries(text string) (out []storage.Entry, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	told := len(lines) > 1 && lines[0] == "." && strings.HasPrefix(lines[1], "0 0 0 0")
	for i := 0; i < len(lines); i++ {
		e := storage.Entry{Name: lines[i], Size: -1}
		if told {
			if i++; i == len(lines) {
				return nil, errors.New("the listing ends with a name")
			}
			x, err := parseInfo(lines[i])
			if err != nil {
				return nil, err
			}
			if e.Type = x.kind(); e.Type == storage.Regular {
				e.Size, e.ModTime = x.size, x.mtime*1e9
			}
		}
		if e.Name == "" || e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") {
			continue
		}
		out = append(out, e)
	}
	return out, nil
}
