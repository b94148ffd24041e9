package view

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
)

//go:embed page.html page.js page.css
var files embed.FS

// Bounds of answers, and of requests that read at the same time.
const (
	mostAnswer = 16 << 20 // of JSON
	mostFile   = 64 << 20 // of an image or a recording
	mostRows   = 200      // samples of a page
	mostNames  = 200      // of classes
	mostHits   = 500
	together   = 4
	endTime    = 2 * time.Second
)

// server answers for one or two sides.
type server struct {
	pool *shardify.Pool
	busy chan struct{}
	mu   sync.Mutex
	now  []*side
	old  []*side // replaced by what is on disk now; requests may still read them
}

// Serve shows inputs, one or two to compare, at an address of this machine until ctx ends. Port 0 takes a free
// one. It calls ready with the address, whose token lets a browser in, and returns nil when ctx has ended.
func Serve(ctx context.Context, inputs []inspect.Request, port int, ready func(address string)) error {
	s := &server{pool: shardify.NewPool(poolBytes), busy: make(chan struct{}, together)}
	defer s.close()
	for _, r := range inputs {
		one, err := openSide(ctx, r)
		if err != nil {
			return err
		}
		s.now = append(s.now, one)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	g := newGuard(strconv.Itoa(l.Addr().(*net.TCPAddr).Port), s.handler())
	h := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	ready("http://" + g.hosts[0] + "/?token=" + g.token)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if h.Shutdown(last) != nil {
		_ = h.Close() // what still reads has lost its context
	}
	<-ended
	return nil
}

func (s *server) close() {
	for _, x := range append(s.now, s.old...) {
		x.close()
	}
}

func (s *server) handler() http.Handler {
	m := http.NewServeMux()
	for name, kind := range map[string]string{"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"} {
		path := "/" + name
		if name == "page.html" {
			path = "/{$}"
		}
		m.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			b, _ := fs.ReadFile(files, name)
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write(b)
		})
	}
	for path, answer := range map[string]func(*http.Request, *query) (any, error){"facts": s.facts, "samples": s.samples, "find": s.find, "sort": s.sort, "order": s.order} {
		m.HandleFunc("/api/"+path, func(w http.ResponseWriter, r *http.Request) { s.json(w, r, answer) })
	}
	m.HandleFunc("/file", s.file)
	m.HandleFunc("/report", s.report)
	return m
}

// json writes an answer, or an error.
func (s *server) json(w http.ResponseWriter, r *http.Request, answer func(*http.Request, *query) (any, error)) {
	if !s.begin(r) {
		return
	}
	defer s.end()
	w.Header().Set("Content-Type", "application/json")
	out, err := answer(r, &query{Values: r.URL.Query(), s: s})
	var b []byte
	if err == nil {
		b, err = json.Marshal(out)
	}
	if err == nil && len(b) > mostAnswer {
		err = shardify.Unsupported("the answer takes %s, more than a page should have: show fewer samples", shardify.FormatSize(int64(len(b))))
	}
	if err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, shardify.ErrUsage) {
			code = http.StatusBadRequest
		}
		b, _ = json.Marshal(map[string]any{"error": shardify.Plain(err), "hints": shardify.Hints(err)})
		w.WriteHeader(code)
	}
	_, _ = w.Write(b)
}

// begin waits until few others read; it reports false when the browser has gone.
func (s *server) begin(r *http.Request) bool {
	select {
	case s.busy <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *server) end() { <-s.busy }

// side is one of the sides, as it is now.
func (s *server) side(i int64) *side {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= int64(len(s.now)) {
		return nil
	}
	return s.now[i]
}

// renew opens a set again that is another one than before, and reports whether it is.
func (s *server) renew(ctx context.Context, old *side) bool {
	if old.digest == "" {
		return false
	}
	_, m, err := pipeline.ManifestOf(old.name)
	if err != nil || m.Digest == old.digest {
		return false
	}
	fresh, err := openSide(context.WithoutCancel(ctx), old.request)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.now {
		if s.now[i] == old {
			s.old, s.now[i] = append(s.old, old), fresh
			return true
		}
	}
	s.old = append(s.old, fresh) // another request was faster
	return true
}
