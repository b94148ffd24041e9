package pipeline

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/netfault"
	"github.com/shardify/shardify/tests/servertest"
)

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
	var trips int64
	for _, delay := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second} {
		// On a busy machine what is sent at the same time may come in two turns.
		if trips = roundTrips(t, server.Host, delay); trips <= 6 {
			break
		}
	}
	t.Logf("%d round trips", trips)
	if trips > 6 {
		t.Errorf("%d round trips", trips)
	}
}

// roundTrips converts HZZ.root from a server behind a line, and counts them.
func roundTrips(t *testing.T, server string, delay time.Duration) int64 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link := netfault.Link{To: server, Delay: delay}
	go link.Serve(l)
	_, err = Convert(context.Background(), Settings{
		Inputs: []string{"root://" + l.Addr().String() + "//pub/HZZ.root"}, Output: filepath.Join(t.TempDir(), "set"),
		Columns: []string{"NJet", "Jet_Px", "Jet_Py", "MET_px", "NMuon"}, Jobs: 2, Sync: "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	return 1 + link.Turns.Load() // the first is the login
}
