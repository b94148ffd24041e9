// Package netfault puts delays and faults between clients and servers, for tests: Faults in
// the answers of an HTTP server, Link in a TCP connection of any protocol.
package netfault

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Kind is what goes wrong with an answer.
type Kind string

// The kinds of faults of HTTP answers. Clients can notice all but Flip.
const (
	Unavailable Kind = "503" // with Retry-After: 0
	TooMany     Kind = "429"
	Internal    Kind = "500"
	Reset       Kind = "reset"     // the connection ends before an answer
	Short       Kind = "short"     // it ends in the middle of the body
	NoLength    Kind = "no length" // half of a body whose length is not given
	WrongRange  Kind = "wrong range"
	Stall       Kind = "stall" // half of the body, and nothing for longer than clients wait
	Flip        Kind = "flip"  // of one bit of the body
)

// Kinds are those that clients can notice.
var Kinds = []Kind{Unavailable, TooMany, Internal, Reset, Short, NoLength, WrongRange, Stall}

// Faults are those of a server. Set the fields before the first request.
type Faults struct {
	Rate  float64 // of answers that have one
	Kinds []Kind
	Least int // bytes of a body that may be flipped
	Seed  uint64
	Delay time.Duration
	// Body is that of an error, "" for none.
	Body string

	mu       sync.Mutex
	random   *rand.Rand
	counts   map[Kind]int
	requests int
	bytes    int64
}

// Counts are the faults so far, the requests, and the bytes of bodies.
func (f *Faults) Counts() (faults int, requests int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.counts {
		faults += n
	}
	return faults, f.requests, f.bytes
}

// Of counts the faults of a kind.
func (f *Faults) Of(k Kind) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[k]
}

func (f *Faults) pick(ranged bool, body int) Kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requests++; f.random == nil {
		f.random, f.counts = rand.New(rand.NewPCG(f.Seed, 1)), map[Kind]int{}
	}
	if len(f.Kinds) == 0 || f.random.Float64() >= f.Rate {
		return ""
	}
	k := f.Kinds[f.random.IntN(len(f.Kinds))]
	if k == WrongRange && (!ranged || body < 2) || k == Flip && body < max(f.Least, 1) {
		return ""
	}
	f.counts[k]++
	return k
}

func (f *Faults) bit(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(8 * n)
}

// Handler is a server with faults in its answers to GET requests.
func (f *Faults) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(f.Delay)
		if r.Method != http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		a := httptest.NewRecorder()
		h.ServeHTTP(a, r)
		body := a.Body.Bytes()
		ranged := a.Code == http.StatusPartialContent
		switch k := f.pick(ranged, len(body)); {
		case a.Code >= 300 || k == "":
			f.send(w, a, body, a.Code)
		default:
			f.fail(k, w, r, a, body)
		}
	})
}

func (f *Faults) send(w http.ResponseWriter, a *httptest.ResponseRecorder, body []byte, code int) {
	for name, v := range a.Header() {
		w.Header()[name] = v
	}
	w.WriteHeader(code)
	n, _ := w.Write(body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += int64(n)
}

func (f *Faults) fail(k Kind, w http.ResponseWriter, r *http.Request, a *httptest.ResponseRecorder, body []byte) {
	switch k {
	case Unavailable, TooMany, Internal:
		code, _ := strconv.Atoi(string(k))
		if k != Internal {
			w.Header().Set("Retry-After", "0")
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, f.Body)
	case Reset:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Close()
		}
	case NoLength:
		c, b, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(b, "HTTP/1.1 %d X\r\nConnection: close\r\n", a.Code)
		a.Header().Del("Content-Length")
		_ = a.Header().Write(b)
		_, _ = b.WriteString("\r\n")
		_, _ = b.Write(body[:len(body)/3])
		b.Flush()
	case WrongRange:
		var lo, hi, size int64
		fmt.Sscanf(a.Header().Get("Content-Range"), "bytes %d-%d/%d", &lo, &hi, &size)
		a.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", lo+1, hi, size))
		a.Header().Set("Content-Length", strconv.Itoa(len(body)-1))
		f.send(w, a, body[1:], a.Code)
	case Flip:
		body = bytes.Clone(body)
		bit := f.bit(len(body))
		body[bit/8] ^= 1 << (bit % 8)
		f.send(w, a, body, a.Code)
	case Short, Stall:
		a.Header().Set("Content-Length", strconv.Itoa(len(body)))
		f.send(w, a, body[:len(body)/2], a.Code)
		w.(http.Flusher).Flush()
		if k == Stall {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}
}
