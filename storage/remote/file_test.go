package remote

import (
	"context"
	"testing"

	"github.com/shardify/shardify/storage"
	_ "github.com/shardify/shardify/tests/race"
)

// closing is an object that counts how often it was closed.
type closing struct{ times int }

func (o *closing) Fetch(_ context.Context, b []byte, _ int64) (int, error) { return len(b), nil }

func (o *closing) Stamp() storage.Stamp { return storage.Stamp{Size: 1, Version: "v"} }

func (o *closing) Close() error {
	o.times++
	return nil
}

// TestAFileClosesItsObjectOnce: a second Close would be that of a file which was opened since.
func TestAFileClosesItsObjectOnce(t *testing.T) {
	o := &closing{}
	f := New("a", "a", o, NewHost(), NewPool(1<<20), nil)
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if o.times != 1 {
		t.Errorf("closed %d times", o.times)
	}
}
