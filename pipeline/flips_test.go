package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify"
	"github.com/shardify/shardify/writers"
)

// TestFlippedBitsAreFetchedAgain: what a checksum of the set shows to have been damaged on its way
// from a server is fetched again, by verify and by stage.
func TestFlippedBitsAreFetchedAgain(t *testing.T) {
	race.Sequential(t)
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
		sameFiles(t, set, copied)
	}
}

// TestConversionsFetchAgain what arrives damaged: bytes of a format that are checked when they
// are read, and tensors whose checksum is known when they were read to their end.
func TestConversionsFetchAgain(t *testing.T) {
	for format, schema := range map[string]string{"mmap": "x:f32[64],y:i32", "wds": "y:i32"} {
		dir := t.TempDir()
		if _, err := Convert(context.Background(), synth(filepath.Join(dir, "set"), func(s *Settings) {
			s.Format, s.Options, s.ShardSamples = format, map[string]string{"samples": "600", "schema": schema}, 50
		})); err != nil {
			t.Fatal(err)
		}
		again := func(input, out string) error {
			_, err := Convert(context.Background(), Settings{Inputs: []string{input}, Format: format, Output: filepath.Join(dir, out), ShardSamples: 50})
			return err
		}
		if err := again(filepath.Join(dir, "set"), "local"); err != nil {
			t.Fatal(err)
		}
		for times, ok := range map[int]bool{2: true, 1000: false} {
			files := &flipping{files: http.FileServer(http.Dir(dir)), most: times, only: func(path string) bool {
				return strings.HasSuffix(path, "0003.tar") || strings.HasSuffix(path, "0003.safetensors")
			}}
			server := httptest.NewServer(files)
			defer server.Close()
			out := fmt.Sprint("remote", times)
			err := again(server.URL+"/set", out)
			switch {
			case ok && err != nil:
				t.Errorf("%s: %v", format, err)
			case ok:
				sameFiles(t, filepath.Join(dir, "local"), filepath.Join(dir, out))
			case err == nil || !strings.Contains(err.Error(), "tried 4 times") || !strings.Contains(err.Error(), server.URL+"/set/") || !errors.Is(err, shardify.ErrCorrupt):
				t.Errorf("%s: %v", format, err)
			}
			if format == "mmap" && ok { // tensors of which several shards are made
				var err error
				for k := 0; k < 8 && err == nil; k++ { // what is read ahead and not used may be what was damaged
					files := &flipping{files: files.files, most: 1, only: files.only}
					server := httptest.NewServer(files)
					_, err = Convert(context.Background(), Settings{Inputs: []string{server.URL + "/set"}, Format: format, Output: filepath.Join(dir, fmt.Sprint("cut", k)), ShardSamples: 30})
					server.Close()
				}
				if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(fmt.Sprint(shardify.Hints(err)), "on its way") {
					t.Error(err, shardify.Hints(err))
				}
			}
			if files.flips < 2 {
				t.Errorf("%s: %d flips", format, files.flips)
			}
		}
	}
}

// flipping is a web server that damages the first answers about each file.
type flipping struct {
	files http.Handler
	most  int // of a file; 0 is two
	only  func(path string) bool
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
	if a.Code == http.StatusPartialContent && len(body) > 100 && s.times[r.URL.Path] < cmp.Or(s.most, 2) && (s.only == nil || s.only(r.URL.Path)) {
		s.times[r.URL.Path]++
		s.flips++
		body[len(body)/2] ^= 4
	}
	maps.Copy(w.Header(), a.Header())
	w.WriteHeader(a.Code)
	w.Write(body)
}

// sameFiles compares what two data sets have, but for what stays of their conversions.
func sameFiles(t *testing.T, set, copied string) {
	t.Helper()
	err := filepath.WalkDir(set, func(path string, e os.DirEntry, err error) error {
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
			t.Errorf("%s: another copy of %s: %v", set, rel, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
