package netfault

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Link forwards TCP connections to a server. Set the fields before the first connection.
type Link struct {
	To    string
	Delay time.Duration // of each direction
	Rate  int64         // bytes a second from the server, over all connections; 0: as fast as it can
	Seed  uint64

	// What went through.
	Connections, Up, Down, Faults atomic.Int64
	// Turns is how often a client sent something after it had got something: round trips, if
	// it waits for each answer.
	Turns atomic.Int64

	chances atomic.Pointer[Chances]
	mu      sync.Mutex
	free    time.Time // when all that came so far is on its way, by Rate
}

// Chances are those of a fault in each 64 KiB or less that come from the server.
type Chances struct {
	Reset float64 // an end of the connection
	Stall float64 // silence from then on
	Flip  float64 // one bit
}

// Fail begins with faults.
func (x *Link) Fail(c Chances) { x.chances.Store(&c) }

// NewLink listens on a port of this machine, until the test ends.
func NewLink(t testing.TB, to string) (x *Link, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	x = &Link{To: to}
	go x.Serve(l)
	return x, l.Addr().String()
}

// Serve takes connections until the listener is closed.
func (x *Link) Serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go x.connect(c)
	}
}

func (x *Link) connect(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", x.To)
	if err != nil {
		return
	}
	defer s.Close()
	n := x.Connections.Add(1)
	var got atomic.Bool // by the client, since it sent something
	var wg sync.WaitGroup
	wg.Go(func() {
		x.pump(s, c, func(b []byte) bool {
			if x.Up.Add(int64(len(b))); got.Swap(false) {
				x.Turns.Add(1)
			}
			return true
		}, nil, 0)
	})
	r := rand.New(rand.NewPCG(x.Seed, uint64(n)))
	wg.Go(func() {
		quiet := false
		x.pump(c, s, func(b []byte) bool {
			x.Down.Add(int64(len(b)))
			is := x.chances.Load()
			if is == nil {
				return true
			}
			switch p := r.Float64(); {
			case quiet:
				return false
			case p < is.Reset:
				x.Faults.Add(1)
				c.Close()
				s.Close()
				return false
			case p < is.Reset+is.Stall:
				x.Faults.Add(1)
				quiet = true
				return false
			case p < is.Reset+is.Stall+is.Flip:
				x.Faults.Add(1)
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			return true
		}, func() { got.Store(true) }, x.Rate)
	})
	wg.Wait()
}

// ahead is how far readers may be ahead of Rate: they wake late by less.
const ahead = 5 * time.Millisecond

// leaves returns when n more bytes are on their way, at a rate.
func (x *Link) leaves(n int, rate int64) time.Time {
	now := time.Now()
	if rate == 0 {
		return now
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.free.Before(now) {
		x.free = now
	}
	x.free = x.free.Add(time.Duration(int64(n) * int64(time.Second) / rate))
	return x.free
}

// pump forwards what take lets through, and calls sent after each piece.
func (x *Link) pump(to, from net.Conn, take func([]byte) bool, sent func(), rate int64) {
	type piece struct {
		due time.Time
		b   *[pieceBytes]byte
		n   int
	}
	q := make(chan piece, 1<<12)
	go func() {
		defer close(q)
		for {
			b := pieces.Get().(*[pieceBytes]byte)
			n, err := from.Read(b[:])
			if n > 0 && take(b[:n]) {
				at := x.leaves(n, rate)
				q <- piece{at.Add(x.Delay), b, n}
				time.Sleep(time.Until(at) - ahead)
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range q {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.b[:p.n]); err != nil {
			from.Close()
		}
		pieces.Put(p.b)
		if sent != nil {
			sent()
		}
	}
	to.Close()
}

const pieceBytes = 64 << 10

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}
