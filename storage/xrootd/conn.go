package xrootd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/storage/remote"
)

const (
	connectTime = 10 * time.Second
	mostWait    = 5 * time.Minute // that a server may ask for, in all
)

// place is a server.
type place struct {
	host string // with a port
	tls  bool
}

// conn is a connection, on which many requests are under way.
type conn struct {
	place
	net   net.Conn
	flags int
	stall time.Duration

	mu      sync.Mutex
	last    uint16
	waiting map[uint16]*call
	err     error
}

type call struct {
	room   int
	frames chan frame
	lost   chan struct{} // closed when the connection is
}

func broken(err error) error { return &remote.Error{Err: err, Kind: remote.Broken} }

// errFirstTLS: the server wants TLS before a login, which was sent already.
var errFirstTLS = errors.New("TLS before the login")

// dial connects and logs in. Without TLS the login does not wait for the greeting to be answered.
func dial(ctx context.Context, p place, stall time.Duration) (*conn, error) {
	c, err := dialOnce(ctx, p, stall, !p.tls)
	if err == errFirstTLS {
		c, err = dialOnce(ctx, p, stall, false)
	}
	return c, err
}

func dialOnce(ctx context.Context, p place, stall time.Duration, early bool) (*conn, error) {
	d := net.Dialer{Timeout: connectTime}
	n, err := d.DialContext(ctx, "tcp", p.host)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, err
		}
		return nil, broken(err)
	}
	c := &conn{place: p, net: n, stall: stall, waiting: map[uint16]*call{}}
	_ = n.SetDeadline(time.Now().Add(stall))
	if err := c.greet(ctx, early); err != nil {
		c.net.Close()
		return nil, err
	}
	_ = c.net.SetDeadline(time.Time{})
	go c.receive()
	return c, nil
}

// ask makes a request before the connection has others under way.
func (c *conn) ask(number int, p params, text []byte) (frame, error) {
	if _, err := c.net.Write(request(1, number, p, text)); err != nil {
		return frame{}, broken(err)
	}
	return c.answer()
}

func (c *conn) answer() (frame, error) {
	f, err := readFrame(c.net, func(uint16) int { return 0 })
	if err != nil {
		return f, broken(err)
	}
	if f.status == stError {
		return f, refused(f.body)
	}
	return f, nil
}

// greet begins a connection. early: the login is sent with the greeting.
func (c *conn) greet(ctx context.Context, early bool) error {
	hello := make([]byte, 20)
	u32(hello[12:], 4)
	u32(hello[16:], 2012)
	var p params
	u32(p[:], 0x511)
	p[4], p[5] = 0x02, 3 // TLS is known; a login follows
	if c.tls {
		p[4] |= 0x04
	}
	name := "nobody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	var in params
	u32(in[:], os.Getpid())
	copy(in[4:12], name)
	in[13], in[14] = 0x0c, 5 // files that are read, IPv6 and IPv4; protocol 5
	hello = append(hello, request(1, kProtocol, p, nil)...)
	if early {
		hello = append(hello, request(1, kLogin, in, nil)...)
	}
	if _, err := c.net.Write(hello); err != nil {
		return broken(err)
	}
	for i := range 2 { // of the handshake, and of the protocol
		f, err := readFrame(c.net, func(uint16) int { return 0 })
		if err != nil {
			return broken(fmt.Errorf("no answer of an XRootD server: %w", err))
		}
		if f.status != stOK || len(f.body) < 8 {
			return errors.New("no XRootD server")
		}
		if i == 1 {
			c.flags = int(uint32(get32(f.body[4:])))
		}
	}
	switch {
	case c.flags&goTLS != 0 && early:
		return errFirstTLS
	case c.flags&goTLS != 0:
		host, _, _ := net.SplitHostPort(c.host)
		t := tls.Client(c.net, &tls.Config{ServerName: host, RootCAs: roots()})
		if err := t.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
		c.net = t
	case c.tls:
		return shardify.Unsupported("the server has no TLS: roots:// would not be safe")
	}
	var f frame
	var err error
	if early {
		f, err = c.answer()
	} else {
		f, err = c.ask(kLogin, in, nil)
	}
	if err != nil {
		return err
	}
	if f.status != stOK || len(f.body) < 16 {
		return errors.New("the server does not take the login")
	}
	ways := strings.Split(strings.TrimPrefix(cString(f.body[16:]), "&"), "&")
	if ways[0] == "" {
		return nil
	}
	return c.authenticate(ways, name)
}

// authenticate tries the first way that is possible. If that fails, its error is returned:
// trying the next way would hide it.
func (c *conn) authenticate(ways []string, name string) error {
	var names []string
	for _, way := range ways {
		kind, _, _ := strings.Cut(strings.TrimPrefix(way, "P="), ",")
		names = append(names, kind)
		var text []byte
		switch kind {
		case "host":
			text = []byte("host\x00")
		case "unix":
			text = []byte("unix\x00" + name + " " + name + "\x00")
		case "ztn":
			token, err := http.Token()
			if err != nil {
				return err
			}
			if token == "" || c.flags&goTLS == 0 {
				continue
			}
			text = append([]byte("ztn\x00\x00T\x00\x00"), 0, 0)
			u16(text[len(text)-2:], len(token)+1)
			text = append(append(text, token...), 0)
		default:
			continue
		}
		var p params
		copy(p[12:], kind)
		f, err := c.ask(kAuth, p, text)
		if err != nil {
			return fmt.Errorf("login by %s: %w", kind, err)
		}
		if f.status != stOK {
			return fmt.Errorf("login by %s: the server asks for more than this program knows", kind)
		}
		return nil
	}
	return shardify.Unsupported("the server takes logins by %s: with a token in BEARER_TOKEN use roots://, with a certificate in X509_USER_PROXY its https:// door", strings.Join(names, ", "))
}

// receive hands answers to those that wait for them, until the connection ends.
func (c *conn) receive() {
	r := bufio.NewReaderSize(c.net, 256<<10)
	for {
		f, err := readFrame(r, c.room)
		if err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		w := c.waiting[f.stream]
		c.mu.Unlock()
		if w != nil && f.status != stAttn {
			w.frames <- f
		}
	}
}

func (c *conn) room(stream uint16) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[stream]; w != nil {
		return w.room
	}
	return mostBody // of a request that was given up
}

// end fails all requests under way.
func (c *conn) end(err error) {
	c.net.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		for _, w := range c.waiting {
			close(w.lost)
		}
	}
}

func (c *conn) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// begin sends a request, and end forgets it.
func (c *conn) begin(number int, p params, text []byte, room int) (w *call, end func(), err error) {
	w = &call{room: room, frames: make(chan frame, 4), lost: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, nil, broken(c.err)
	}
	for c.last++; c.waiting[c.last] != nil || c.last == 0; c.last++ {
	}
	stream := c.last
	c.waiting[stream] = w
	if _, err := c.net.Write(request(stream, number, p, text)); err != nil {
		delete(c.waiting, stream)
		return nil, nil, broken(err)
	}
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, stream)
		for {
			select {
			case <-w.frames: // the receiver may wait for room
			default:
				return
			}
		}
	}, nil
}

// redirection is the answer that another server has the file.
type redirection struct {
	to     place
	opaque string
}

func (r *redirection) Error() string { return "the file is at " + r.to.host }

// do makes a request and calls each for every part of its answer.
func (c *conn) do(ctx context.Context, number int, p params, text []byte, room int, each func(f *frame) error) error {
	for waited := time.Duration(0); ; {
		again, err := c.once(ctx, number, p, text, room, each)
		if err != nil || again == 0 {
			return err
		}
		if waited += again; waited > mostWait {
			return fmt.Errorf("the server asked to wait for %s in all", waited)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// once makes a request. again: the server wants it again after a while.
func (c *conn) once(ctx context.Context, number int, p params, text []byte, room int, each func(f *frame) error) (again time.Duration, err error) {
	w, end, err := c.begin(number, p, text, room)
	if err != nil {
		return 0, err
	}
	defer end()
	t := time.NewTimer(c.stall)
	defer t.Stop()
	for {
		var f frame
		select {
		case f = <-w.frames:
		case <-w.lost:
			return 0, broken(errors.New("the connection was lost"))
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-t.C:
			c.end(errors.New("no byte arrived for a while"))
			return 0, broken(errors.New("no byte arrived for a while"))
		}
		t.Reset(c.stall)
		switch f.status {
		case stError:
			return 0, refused(f.body)
		case stRedirect:
			return 0, redirect(f.body, c.place)
		case stWait:
			if len(f.body) < 4 {
				return 0, errors.New("a wait without its time")
			}
			return time.Duration(max(get32(f.body), 1)) * time.Second, nil
		case stOK, stPart, stStatus:
			if err := each(&f); err != nil {
				return 0, err
			}
			if f.status == stOK || f.status == stStatus && f.body[7] == 0 {
				return 0, nil
			}
		default:
			return 0, fmt.Errorf("an answer of kind %d", f.status)
		}
	}
}

func redirect(body []byte, from place) error {
	if len(body) < 5 {
		return errors.New("a redirection to nowhere")
	}
	port := get32(body)
	host, opaque, _ := strings.Cut(string(bytes.TrimRight(body[4:], "\x00")), "?")
	if port < 1 || port > 65535 || host == "" {
		return shardify.Unsupported("a redirection to %s", host)
	}
	opaque, _, _ = strings.Cut(opaque, "?") // a token for the login follows
	return &redirection{place{net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port)), from.tls}, opaque}
}
