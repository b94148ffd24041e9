package pipeline

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/verify"
	"github.com/shardify/shardify/writers"
)

// TestFlippedBitsAreFetchedAgain: what a checksum of the set shows to have been damaged on its way
// from a server is fetched again, by verify and by stage.
func TestFlippedBitsAreFetchedAgain(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"mmap", "wds"} {
		set := filepath.Join(dir, format)
		if _, err := Convert(context.Background(), synth(set, func(s *Settings) {
			s.Format, s.Options, s.ShardSamples = format, map[string]string{"samples": "600", "schema": "x:f32[64],y:i32"}, 50
		})); err != nil {
			t.Fatal(err)
		}
		check := &flipping{files: http.FileServer(http.Dir(dir))}
		server := httptest.NewServer(check)
		defer server.Close()
		r, err := verify.Run(context.Background(), verify.Options{Dir: server.URL + "/" + format, Sources: readers.Formats, Sinks: writers.Formats})
		if err != nil || !r.OK() {
			t.Errorf("%s: %v, %+v", format, err, r)
		}
		fetch := &flipping{files: check.files}
		other := httptest.NewServer(fetch)
		defer other.Close()
		copied := filepath.Join(dir, format+"-copy")
		if _, err := stage.Run(context.Background(), stage.Options{Source: other.URL + "/" + format, Dest: copied, Verify: verifierOf}); err != nil {
			t.Error(err)
		}
		if check.flips < 20 || fetch.flips < 20 {
			t.Errorf("%s: %d flips in verify, %d in stage", format, check.flips, fetch.flips)
		}
		err = filepath.WalkDir(set, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() && e.Name() == ".shardify" {
				return filepath.SkipDir
			}
			if e.IsDir() {
				return nil
			}
			rel, _ := filepath.Rel(set, path)
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if got, err := os.ReadFile(filepath.Join(copied, rel)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: another copy of %s: %v", format, rel, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// flipping is a web server that damages the first two answers about each file.
type flipping struct {
	files http.Handler
	mu    sync.Mutex
	times map[string]int
	flips int
}

func (s *flipping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "PROPFIND" {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	a := httptest.NewRecorder()
	s.files.ServeHTTP(a, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[string]int{}
	}
	body := a.Body.Bytes()
	if a.Code == http.StatusPartialContent && len(body) > 100 && s.times[r.URL.Path] < 2 {
		s.times[r.URL.Path]++
		s.flips++
		body[len(body)/2] ^= 4
	}
	maps.Copy(w.Header(), a.Header())
	w.WriteHeader(a.Code)
	w.Write(body)
}
