package pipeline

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/shardify/shardify/internal/servertest"
)

// bursts forwards connections to a server, and holds back what a client sends until it sends no
// more: it counts how often the client waits for the server.
type bursts struct {
	net.Listener
	to string

	mu     sync.Mutex
	timer  *time.Timer
	held   map[net.Conn][]byte // by the connection to the server
	rounds int
}

func (s *bursts) accept() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		d, err := net.Dial("tcp", s.to)
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 1<<20)
			for {
				n, err := d.Read(b)
				if c.Write(b[:n]); err != nil {
					return
				}
			}
		}()
		go func() {
			defer d.Close()
			b := make([]byte, 1<<20)
			for {
				n, err := c.Read(b)
				if n > 0 {
					s.hold(d, b[:n])
				}
				if err != nil {
					return
				}
			}
		}()
	}
}

func (s *bursts) hold(d net.Conn, b []byte) {
	const quiet = 50 * time.Millisecond
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 {
		s.timer.Reset(quiet)
	} else {
		s.held = map[net.Conn][]byte{}
		s.timer = time.AfterFunc(quiet, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.rounds++
			for d, b := range s.held {
				d.Write(b)
			}
			s.held = nil
		})
	}
	s.held[d] = append(s.held[d], b...)
}

// TestAFileOfXRootDTakesFewRoundTrips: some columns of a ROOT file, planned and converted. They are:
// login, open, beginning and end of the file, a basket that the survey looks at, the other
// baskets, and what the file is afterwards.
func TestAFileOfXRootDTakesFewRoundTrips(t *testing.T) {
	server := servertest.NewXRootD(t)
	b, err := os.ReadFile("../testdata/demo/HZZ.root")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(server.Dir, "HZZ.root"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &bursts{Listener: l, to: server.Host}
	go s.accept()
	_, err = Convert(context.Background(), Settings{
		Inputs: []string{"root://" + l.Addr().String() + "//pub/HZZ.root"}, Output: filepath.Join(t.TempDir(), "set"),
		Columns: []string{"NJet", "Jet_Px", "Jet_Py", "MET_px", "NMuon"}, Jobs: 2, Sync: "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("%d round trips", s.rounds)
	if s.rounds > 6 {
		t.Errorf("%d round trips", s.rounds)
	}
}
