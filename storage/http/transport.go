package http

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/shardify/shardify/storage/remote"
)

const (
	connectTime = 10 * time.Second
	stall       = 30 * time.Second // without a byte
	idle        = 64               // connections that are kept for one server
)

// Transport makes requests of any protocol over HTTP. One of which no byte moves for a while
// is ended. Errors, also those of bodies, say by remote.Error whether they may be tried again.
type Transport struct {
	*http.Transport
	Stall time.Duration
}

// NewTransport makes no connection yet.
func NewTransport() *Transport {
	return &Transport{Stall: stall, Transport: &http.Transport{
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
	}}
}

var errStall = errors.New("no byte arrived for a while")

// RoundTrip makes one request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &watch{parent: r.Context(), stall: t.Stall}
	w.ctx, w.cancel = context.WithCancelCause(w.parent)
	w.timer = time.AfterFunc(w.stall, func() { w.cancel(errStall) })
	r = r.WithContext(w.ctx)
	if r.Body != nil {
		r.Body = sent{r.Body, w}
	}
	a, err := t.Transport.RoundTrip(r)
	if err != nil {
		w.timer.Stop()
		defer w.cancel(nil)
		return nil, w.unreached(err)
	}
	a.Body = received{a.Body, w}
	return a, nil
}

// watch ends a request of which no byte moves.
type watch struct {
	parent, ctx context.Context
	cancel      context.CancelCauseFunc
	stall       time.Duration
	timer       *time.Timer
}

// unreached is the error of a request without an answer.
func (w *watch) unreached(err error) error {
	if errors.Is(context.Cause(w.ctx), errStall) {
		return broken(errStall)
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

// sent is the body of a request.
type sent struct {
	io.ReadCloser
	*watch
}

func (s sent) Read(b []byte) (int, error) {
	s.timer.Reset(s.stall)
	return s.ReadCloser.Read(b)
}

// received is the body of an answer.
type received struct {
	io.ReadCloser
	*watch
}

func (r received) Read(b []byte) (int, error) {
	r.timer.Reset(r.stall)
	n, err := r.ReadCloser.Read(b)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case r.parent.Err() != nil:
		return n, context.Cause(r.parent)
	case errors.Is(context.Cause(r.ctx), errStall):
		err = errStall
	}
	return n, broken(err)
}

// Close ends the request.
func (r received) Close() error {
	r.timer.Stop()
	defer r.cancel(nil)
	return r.ReadCloser.Close()
}

// ReadFull fills b from a body, whose end before that is an error to be tried again.
func ReadFull(body io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(body, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = broken(io.ErrUnexpectedEOF)
	}
	return n, err
}

func broken(err error) error { return &remote.Error{Err: err, Kind: remote.Broken} }

// RetryAfter is how long to wait, by a header: seconds, or a date.
func RetryAfter(h http.Header) time.Duration {
	s := h.Get("Retry-After")
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 1<<20 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}
