package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/shardify/shardify/internal/version"
	"github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/storage/remote"
)

// client is what asks for one bucket.
type client struct {
	bucket string
	settings
	host      *remote.Host
	transport nethttp.RoundTripper

	mu      sync.Mutex
	core    int       // of cores
	renewed time.Time // the credentials
}

// client is that of a bucket. It makes no request.
func (f *Files) client(scheme, bucket string) (*client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clients[scheme+"://"+bucket]; c != nil {
		return c, nil
	}
	t, err := f.transport()
	if err != nil {
		return nil, err
	}
	s, err := find(scheme, bucket)
	if err != nil {
		return nil, err
	}
	c := &client{bucket: bucket, settings: s, host: f.hosts.Host(s.endpoint.Host), transport: t}
	m, err := c.in(c.region, transport{base: t})
	if err != nil {
		return nil, err
	}
	c.core = cores.add(m)
	f.clients[scheme+"://"+bucket] = c
	return c, nil
}

// newTransport trusts also the certificates of AWS_CA_BUNDLE.
func newTransport() (*http.Transport, error) {
	t := http.NewTransport()
	if name := os.Getenv("AWS_CA_BUNDLE"); name != "" {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %s has no certificates", name)
		}
		t.TLSClientConfig.RootCAs = pool
	}
	return t, nil
}

// in is a client for a region.
func (c *client) in(region string, t transport) (*minio.Core, error) {
	m, err := minio.NewCore(c.endpoint.Host, &minio.Options{
		Creds: c.creds, Secure: c.endpoint.Scheme == "https", Transport: t,
		Region: region, BucketLookup: c.style, MaxRetries: 1,
	})
	if err != nil {
		return nil, err
	}
	m.SetAppInfo("shardify", version.String())
	return m, nil
}

// do makes a request, again where that may help: remote.Host says how often. Errors of
// answers are *failure. A request must read what it wants of its answer.
func (c *client) do(ctx context.Context, request func(ctx context.Context, m *minio.Core) error) error {
	return c.host.Do(ctx, func(ctx context.Context) error { return c.try(ctx, request) })
}

// try makes a request once. Its errors say whether it may be made again.
func (c *client) try(ctx context.Context, request func(ctx context.Context, m *minio.Core) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// minio-go pauses after an error, unless its context has ended.
	ctx = context.WithValue(ctx, ending{}, end)
	start, core := time.Now(), c.current()
	err := request(ctx, cores.at(core))
	if err == nil {
		return nil
	}
	err = cause(ctx, err)
	if f := failureOf(err); f != nil && (f.expired() && c.renew(start) || f.region != "" && c.move(core, f.region)) {
		return &remote.Error{Err: err, Kind: remote.Broken}
	}
	return err
}

// ending is the key of what ends the context of a request.
type ending struct{}

// cause is what made a request fail, of the errors that minio-go makes of it.
func cause(ctx context.Context, err error) error {
	if e := context.Cause(ctx); e != nil {
		return e
	}
	var e minio.ErrorResponse
	switch {
	case !errors.As(err, &e):
		return withoutURL(err)
	case e.StatusCode == nethttp.StatusOK: // an error in an answer of success
		return (&failure{status: e.StatusCode, code: e.Code, message: e.Message}).kind()
	}
	return errors.New(e.Message) // of minio-go itself
}

// renew looks for credentials again, unless it did since a request was made, or lately.
func (c *client) renew(start time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if start.Before(c.renewed) {
		return true
	}
	if time.Since(c.renewed) < renewTime {
		return false
	}
	c.renewed = time.Now()
	c.creds.Expire()
	return true
}

// cores are the clients of minio-go. No type that becomes an interface has one as a field: the
// linker would keep all of their methods, most of which are never called, in case they are
// looked up by name. That is 1 MB.
var cores coreTable

type coreTable struct {
	mu  sync.Mutex
	all []*minio.Core
}

func (t *coreTable) add(m *minio.Core) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, m)
	return len(t.all) - 1
}

func (t *coreTable) at(n int) *minio.Core {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[n]
}

func (c *client) current() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core
}

// move goes to the region that a server named, unless that is where it was asked.
func (c *client) move(asked int, region string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if region == c.region {
		return asked != c.core // another request has moved
	}
	m, err := c.in(region, transport{base: c.transport})
	if err == nil {
		c.core, c.region = cores.add(m), region
	}
	return err == nil
}

// transport makes errors of answers that are not of success.
type transport struct {
	base nethttp.RoundTripper
	ctx  context.Context // of all requests; nil if they have their own: calls that list take none
}

func (t transport) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	if t.ctx != nil {
		r = r.WithContext(t.ctx)
	}
	a, err := t.base.RoundTrip(r)
	if err == nil && a.StatusCode >= 300 {
		err = answered(a)
	}
	if err == nil {
		return a, nil
	}
	if end, ok := r.Context().Value(ending{}).(context.CancelCauseFunc); ok {
		end(err)
	}
	if strings.Contains(err.Error(), "EOF") { // minio-go would show the URL instead
		err = &remote.Error{Err: errors.New("the server closed the connection"), Kind: remote.Broken}
	}
	return nil, err
}

// failure is an answer of a server other than success.
type failure struct {
	status        int
	code, message string
	region        string // where the bucket is
	after         time.Duration
}

const (
	renewTime   = time.Minute
	mostError   = 64 << 10
	mostMessage = 300
)

func answered(a *nethttp.Response) error {
	defer a.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(a.Body, mostError))
	var x struct {
		XMLName               xml.Name `xml:"Error"`
		Code, Message, Region string
	}
	if xml.NewDecoder(bytes.NewReader(b)).Decode(&x) != nil {
		x.Code, x.Message, x.Region = "", "", ""
	}
	f := &failure{status: a.StatusCode, code: strings.TrimSpace(x.Code), message: strings.TrimSpace(x.Message), after: http.RetryAfter(a.Header)}
	f.region = cmp.Or(a.Header.Get("X-Amz-Bucket-Region"), strings.TrimSpace(x.Region))
	return f.kind()
}

// kind says whether to try again.
func (f *failure) kind() error {
	switch f.code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling", "ThrottlingException", "RequestLimitExceeded", "OperationAborted", "ConditionalRequestConflict":
		return &remote.Error{Err: f, Kind: remote.Busy, After: f.after}
	}
	if http.Kind(f.status) == http.ErrBusy {
		return &remote.Error{Err: f, Kind: remote.Busy, After: f.after}
	}
	return f
}

func failureOf(err error) *failure {
	var f *failure
	errors.As(err, &f)
	return f
}

// expired: the credentials are no longer valid, others may be there.
func (f *failure) expired() bool {
	switch f.code {
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired":
		return true
	}
	return false
}

func (f *failure) Error() string {
	what := cmp.Or(f.code, nethttp.StatusText(f.status))
	if f.message != "" {
		what += ": " + f.message[:min(len(f.message), mostMessage)]
	}
	if f.code == "RequestTimeTooSkewed" {
		what += " (is the clock of this machine right?)"
	}
	return fmt.Sprintf("the server answers %d %s", f.status, what)
}

// Is makes fs.ErrNotExist and fs.ErrPermission of what means that.
func (f *failure) Is(target error) bool {
	kind := http.Kind(f.status)
	return kind != nil && kind == target
}
