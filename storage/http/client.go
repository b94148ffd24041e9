package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/version"
	"github.com/shardify/shardify/storage/remote"
)

const (
	connectTime = 10 * time.Second
	stall       = 30 * time.Second // without a byte
	redirects   = 5
	idle        = 64 // connections that are kept for one server
)

func newClient() (*http.Client, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSHandshakeTimeout: connectTime,
		MaxIdleConnsPerHost: idle,
		IdleConnTimeout:     90 * time.Second,
		// Some servers compress a range, or send the range of what they have compressed.
		DisableCompression: true,
		// HTTP/2 has one TCP window for all requests.
		TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{},
		TLSClientConfig: &tls.Config{},
	}
	if err := certificate(t.TLSClientConfig); err != nil {
		return nil, err
	}
	return &http.Client{Transport: t, CheckRedirect: redirect}, nil
}

// redirect follows a few, and none from https to http. net/http drops credentials where the
// server is another one.
func redirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > redirects:
		return fmt.Errorf("more than %d redirections", redirects)
	case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
		return errors.New("a redirection from https to http")
	}
	return nil
}

// answer is a response whose body must keep coming.
type answer struct {
	*http.Response
	cancel context.CancelCauseFunc
	stall  time.Duration
	timer  *time.Timer
}

var errStall = errors.New("no byte came for a while")

// ask makes one request. Its errors say whether it may be made again.
func (f *Files) ask(ctx context.Context, method string, u *url.URL, header http.Header) (*answer, error) {
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "shardify/"+version.String())
	if err := authorize(r); err != nil {
		cancel(nil)
		return nil, err
	}
	a := &answer{cancel: cancel, stall: f.stall}
	a.timer = time.AfterFunc(f.stall, func() { cancel(errStall) })
	a.Response, err = c.Do(r)
	if err != nil {
		a.timer.Stop()
		defer cancel(nil)
		return nil, unreached(ctx, err)
	}
	if e := a.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		a.close()
		return nil, shardify.Unsupported("the server sends the file compressed (%s)", e)
	}
	return a, nil
}

// unreached is the error of a request without an answer.
func unreached(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStall) {
		return broken(errStall)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL may be signed
	}
	var d *net.DNSError
	var cert *tls.CertificateVerificationError
	if errors.As(err, &d) && d.IsNotFound || errors.As(err, &cert) {
		return err
	}
	var o *net.OpError
	if errors.As(err, &o) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken(err)
	}
	return err
}

func broken(err error) error { return &remote.Error{Err: err, Kind: remote.Broken} }

func (a *answer) close() {
	a.timer.Stop()
	// A body that was read to its end leaves the connection to the next request.
	_, _ = io.CopyN(io.Discard, a.Body, 4<<10)
	a.Body.Close()
	a.cancel(nil)
}

// read fills b.
func (a *answer) read(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = a.Read(b[n:])
		n += m
	}
	switch {
	case n == len(b):
		return n, nil
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if e := context.Cause(a.Request.Context()); e != nil && !errors.Is(e, errStall) {
		return n, e
	} else if e != nil {
		err = e
	}
	return n, broken(err)
}

// Read reads some of the body, for which the server has a while.
func (a *answer) Read(b []byte) (int, error) {
	a.timer.Reset(a.stall)
	return a.Body.Read(b)
}

// status is nil for one of these, else what the answer means.
func (a *answer) status(wanted ...int) error {
	if slices.Contains(wanted, a.StatusCode) {
		return nil
	}
	err := fmt.Errorf("the server answers %s", a.Status)
	switch a.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &remote.Error{Err: err, Kind: remote.Busy, After: retryAfter(a.Header.Get("Retry-After"))}
	}
	return err
}

// retryAfter is the time of a Retry-After: seconds, or a date.
func retryAfter(s string) time.Duration {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 1<<20 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}
