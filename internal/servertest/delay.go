package servertest

import (
	"net"
	"sync"
	"time"
)

// Delay forwards connections to an address, each byte so much later in each direction, until
// the listener is closed.
func Delay(l net.Listener, to string, each time.Duration) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			s, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer s.Close()
			var wg sync.WaitGroup
			wg.Go(func() { later(s, c, each) })
			later(c, s, each)
			wg.Wait()
		}()
	}
}

type late struct {
	due time.Time
	b   []byte
}

// later copies from one connection to the other, until it ends.
func later(to, from net.Conn, each time.Duration) {
	pieces := make(chan late, 1024)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- late{time.Now().Add(each), b[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.b); err != nil {
			from.Close()
			break
		}
	}
	for range pieces { // until the reader has seen that it is closed
	}
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
