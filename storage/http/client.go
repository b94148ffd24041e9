package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/version"
	"github.com/shardify/shardify/storage/remote"
)

const redirects = 5

func newClient(stall time.Duration) (*http.Client, error) {
	t := NewTransport()
	t.Stall = stall
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

// answer is a response to be read.
type answer struct{ *http.Response }

// ask makes one request. Its errors say whether it may be made again.
func (f *Files) ask(ctx context.Context, method string, u *url.URL, header http.Header) (answer, error) {
	c, err := f.client()
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return answer{}, err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "shardify/"+version.String())
	if err := authorize(r); err != nil {
		return answer{}, err
	}
	x, err := c.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the URL may be signed
		}
		return answer{}, err
	}
	a := answer{x}
	if e := a.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		a.close()
		return a, shardify.Unsupported("the server sends the file compressed (%s)", e)
	}
	return a, nil
}

func (a answer) close() {
	// A body that was read to its end leaves the connection to the next request.
	_, _ = io.CopyN(io.Discard, a.Body, 4<<10)
	a.Body.Close()
}

// read fills b.
func (a answer) read(b []byte) (int, error) { return ReadFull(a.Body, b) }

// status is nil for one of these, else what the answer means.
func (a answer) status(wanted ...int) error {
	if slices.Contains(wanted, a.StatusCode) {
		return nil
	}
	err := fmt.Errorf("the server answers %s", a.Status)
	switch kind := Kind(a.StatusCode); kind {
	case fs.ErrNotExist:
		return kind
	case fs.ErrPermission:
		return fmt.Errorf("%w: %w", kind, err)
	case ErrBusy:
		return &remote.Error{Err: err, Kind: remote.Busy, After: RetryAfter(a.Header)}
	}
	return err
}

// ErrBusy is the kind of a status that asks for the request again, later.
var ErrBusy = errors.New("the server is busy")

// Kind is what a status says in all protocols: fs.ErrNotExist, fs.ErrPermission, ErrBusy; nil if
// it is another one.
func Kind(status int) error {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ErrBusy
	}
	return nil
}
