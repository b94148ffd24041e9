package http

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// mostListing is the size of the largest listing.
const mostListing = 64 << 20

var errListing = errors.New("the server's listing is damaged")

// entries yields what a folder has, whose URL ends in a slash.
func (f *Files) entries(ctx context.Context, u *url.URL) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		list, err := f.folders.get(ctx, u.String(), func() (list []storage.Entry, err error) {
			err = f.host(u).Do(ctx, func(ctx context.Context) (err error) {
				list, err = f.listing(ctx, u)
				return err
			})
			slices.SortFunc(list, func(a, b storage.Entry) int { return cmp.Compare(a.Name, b.Name) })
			return slices.CompactFunc(list, func(a, b storage.Entry) bool { return a.Name == b.Name }), err
		})
		if err != nil {
			yield(storage.Entry{}, err)
			return
		}
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// listings are those of a moment ago: a folder is looked at, opened and listed by one command.
type listings struct {
	mu  sync.Mutex
	all map[string]*listed
}

type listed struct {
	turn  chan struct{} // has room for who asks for it, or looks at it
	until time.Time
	list  []storage.Entry
}

const (
	listingTime = 10 * time.Second
	mostFolders = 64
)

// get is the listing of a folder, by ask unless it is there. Nothing is kept after an error.
func (l *listings) get(ctx context.Context, folder string, ask func() ([]storage.Entry, error)) ([]storage.Entry, error) {
	l.mu.Lock()
	x := l.all[folder]
	if x == nil {
		if len(l.all) >= mostFolders || l.all == nil {
			l.all = map[string]*listed{}
		}
		x = &listed{turn: make(chan struct{}, 1)}
		l.all[folder] = x
	}
	l.mu.Unlock()
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if time.Now().Before(x.until) {
		return x.list, nil
	}
	list, err := ask()
	if err == nil {
		x.list, x.until = list, time.Now().Add(listingTime)
	}
	return list, err
}

// listing asks for a list with sizes, and for the page of the folder if the server has no
// such list.
func (f *Files) listing(ctx context.Context, u *url.URL) ([]storage.Entry, error) {
	a, err := f.ask(ctx, "PROPFIND", u, http.Header{"Depth": {"1"}})
	if err != nil {
		return nil, err
	}
	defer a.close()
	if a.StatusCode == http.StatusMultiStatus {
		return a.list(u, webdav)
	}
	switch err := a.status(); a.StatusCode {
	case http.StatusNotFound, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, err
	}
	page, err := f.ask(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	defer page.close()
	if err := page.status(http.StatusOK); err != nil {
		return nil, err
	}
	switch kind, _, _ := strings.Cut(page.Header.Get("Content-Type"), ";"); kind {
	case "application/json":
		return page.list(u, autoindex)
	case "text/html", "application/xhtml+xml":
		return page.list(u, links)
	}
	return nil, shardify.Unsupported("the server does not list this folder: name the files, or give a list of them with --files-from")
}

// list reads the body and the names in it.
func (a answer) list(u *url.URL, parse func(u *url.URL, raw bool, b []byte) ([]storage.Entry, error)) ([]storage.Entry, error) {
	b, err := io.ReadAll(io.LimitReader(a.Body, mostListing+1))
	switch {
	case err != nil:
		return nil, broken(err)
	case len(b) > mostListing:
		return nil, fmt.Errorf("the listing has more than %d bytes", mostListing)
	}
	// XRootD escapes nothing in its listings.
	return parse(u, strings.EqualFold(a.Header.Get("Server"), "XrootD"), b)
}

// below is the name of what a link leads to, if that is in the folder itself. raw: the link
// is not escaped.
func below(u *url.URL, raw bool, href string) (name string, folder, ok bool) {
	raw = raw || strings.ContainsFunc(href, func(c rune) bool { return c <= ' ' || c > '~' })
	if raw {
		href = (&url.URL{Path: href}).EscapedPath()
	}
	to, err := url.Parse(href)
	if err != nil || to.RawQuery != "" || to.ForceQuery || to.Fragment != "" {
		return "", false, false
	}
	to = u.ResolveReference(to)
	rest, ok := strings.CutPrefix(to.Path, u.Path)
	if !ok || to.Host != u.Host {
		return "", false, false
	}
	rest = strings.TrimLeft(rest, "/") // of XRootD
	rest, folder = strings.CutSuffix(rest, "/")
	if rest == "" || rest == "." || rest == ".." || strings.ContainsFunc(rest, func(c rune) bool { return c == '/' || c < ' ' || c == 0x7f }) {
		return "", false, false
	}
	return inAddress.Replace(rest), folder, true
}

// inAddress escapes what a name cannot have in an address.
var inAddress = strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23")

func entry(name string, folder bool, size int64, modified string) storage.Entry {
	e := storage.Entry{Name: name, Type: storage.Regular, Size: size}
	if folder {
		e.Type, e.Size = storage.Folder, -1
	}
	if t, err := http.ParseTime(modified); err == nil {
		e.ModTime = t.UnixNano()
	}
	return e
}

// webdav reads the answer to PROPFIND.
func webdav(u *url.URL, raw bool, b []byte) (out []storage.Entry, err error) {
	var all struct {
		Response []struct {
			Href string `xml:"href"`
			Prop []struct {
				Size     *int64    `xml:"prop>getcontentlength"`
				Modified string    `xml:"prop>getlastmodified"`
				Folder   *struct{} `xml:"prop>resourcetype>collection"`
			} `xml:"propstat"`
		} `xml:"response"`
	}
	if err := xml.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%w: %v", errListing, err)
	}
	for _, r := range all.Response {
		name, folder, ok := below(u, raw, r.Href)
		if !ok {
			continue
		}
		size, modified := int64(-1), ""
		for _, p := range r.Prop {
			if p.Size != nil && *p.Size >= 0 {
				size = *p.Size
			}
			modified, folder = cmp.Or(modified, p.Modified), folder || p.Folder != nil
		}
		out = append(out, entry(name, folder, size, modified))
	}
	return out, nil
}

// autoindex reads the JSON of nginx.
func autoindex(u *url.URL, _ bool, b []byte) (out []storage.Entry, err error) {
	var all []struct {
		Name, Type string
		MTime      string
		Size       *int64
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%w: %v", errListing, err)
	}
	for _, x := range all {
		name, _, ok := below(u, true, strings.TrimSuffix(u.Path, "/")+"/"+x.Name)
		if !ok {
			continue
		}
		size := int64(-1)
		if x.Size != nil && *x.Size >= 0 {
			size = *x.Size
		}
		out = append(out, entry(name, x.Type == "directory", size, x.MTime))
	}
	return out, nil
}

var anchor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`)
})

// links reads a page for people. Sizes in it are rounded: they are asked for one by one.
func links(u *url.URL, raw bool, b []byte) (out []storage.Entry, err error) {
	for _, m := range anchor().FindAllSubmatch(b, -1) {
		href := html.UnescapeString(string(slices.Concat(m[1], m[2], m[3])))
		if name, folder, ok := below(u, raw, href); ok {
			out = append(out, entry(name, folder, -1, ""))
		}
	}
	return out, nil
}
