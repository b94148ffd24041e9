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
	Delay time.Duration // of each direction
	Seed  uint64

	// What went through.
	Connections, Up, Down, Faults atomic.Int64
	// Turns is how often the client sent something after it had got something: round trips, if
	// it waits for each answer.
	Turns atomic.Int64

	to      string
	l       net.Listener
	chances atomic.Pointer[Chances]
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
func NewLink(t testing.TB, to string) *Link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &Link{to: to, l: l}
	x.Fail(Chances{})
	t.Cleanup(func() { l.Close() })
	go x.accept()
	return x
}

// Address is where it listens.
func (x *Link) Address() string { return x.l.Addr().String() }

func (x *Link) accept() {
	for {
		c, err := x.l.Accept()
		if err != nil {
			return
		}
		go x.connect(c)
	}
}

func (x *Link) connect(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", x.to)
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
		}, nil)
	})
	r := rand.New(rand.NewPCG(x.Seed, uint64(n)))
	wg.Go(func() {
		quiet := false
		x.pump(c, s, func(b []byte) bool {
			x.Down.Add(int64(len(b)))
			switch p, is := r.Float64(), x.chances.Load(); {
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
		}, func() { got.Store(true) })
	})
	wg.Wait()
}

// pump forwards what take lets through, and calls sent after each piece.
func (x *Link) pump(to, from net.Conn, take func([]byte) bool, sent func()) {
	type piece struct {
		due time.Time
		b   []byte
	}
	q := make(chan piece, 1<<16)
	go func() {
		defer close(q)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 && take(b[:n]) {
				q <- piece{time.Now().Add(x.Delay), b[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range q {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.b); err != nil {
			from.Close()
		}
		if sent != nil {
			sent()
		}
	}
	to.Close()
}
