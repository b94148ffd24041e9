package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/storages"
)

// TestWhatArrivesDamagedIsFetchedAgain, and is an error when it stays so.
func TestWhatArrivesDamagedIsFetchedAgain(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 10000)
	bad := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := bytes.Clone(want)
		if bad--; bad >= 0 {
			b[70_000] ^= 1
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(b))
	}))
	defer s.Close()
	for n, fails := range map[int]bool{0: false, 2: false, 4: false, 100: true} {
		bad = n
		got := make([]byte, len(want))
		err := Fetch(context.Background(), storages.Files, s.URL+fmt.Sprint("/", n), Wanted{Digest: index.DigestOf(want)}, got)
		if fails != errors.Is(err, shardify.ErrCorrupt) || !fails && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("%d damaged answers: %v", n, err)
		}
	}
	if err := Fetch(context.Background(), storages.Files, s.URL+"/x", Wanted{}, make([]byte, 3)); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("another size: %v", err)
	}
}
