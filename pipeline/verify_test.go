package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/verify"
)

// converted is a data set of eight tars with their indexes.
func converted(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	_, err := pipeline.Convert(context.Background(), pipeline.Settings{
		From: "synth", Options: map[string]string{"samples": "800", "schema": "x:f32[4]"}, ShardSamples: 100, Output: dir, Format: "wds",
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVerifyTellsWhatItReads(t *testing.T) {
	dir := converted(t)
	var read, all atomic.Int64
	var r *verify.Report
	var err error
	for range 20 { // on a machine that does other things it may end before its progress is looked at
		r, err = pipeline.Verify(t.Context(), []string{filepath.Join(dir, "shardify.json")}, verify.Options{}, pipeline.Hooks{Every: time.Microsecond, Progress: func(p pipeline.Progress) {
			read.Store(p.Bytes)
			all.Store(p.AllBytes)
		}})
		if err != nil || r.Err() != nil || r.Path != dir || r.Counts.ShardsRead != 8 {
			t.Fatalf("%+v, %v", r, err)
		}
		if read.Load() > 0 {
			break
		}
	}
	if read.Load() == 0 || all.Load() < 8*100*16 {
		t.Errorf("reported %d of %d bytes", read.Load(), all.Load())
	}
	// One shard by itself is a foreign file.
	r, err = pipeline.Verify(t.Context(), []string{filepath.Join(dir, "shard-000001.tar"), filepath.Join(dir, "shard-000002.tar")}, verify.Options{}, pipeline.Hooks{})
	if err != nil || r.State != verify.StateForeign || r.Counts.Shards != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	dir := converted(t)
	tar := filepath.Join(dir, "shard-000000.tar")
	for want, c := range map[string]struct {
		paths []string
		o     verify.Options
	}{
		"want a folder":   {nil, verify.Options{}},
		"want one folder": {[]string{dir, tar}, verify.Options{}},
		"--against, --repair, --public-key and --id": {[]string{tar}, verify.Options{Repair: true}},
	} {
		if _, err := pipeline.Verify(t.Context(), c.paths, c.o, pipeline.Hooks{}); !errors.Is(err, shardify.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestIndexRebuildsWhatFollowsFromShards: and nothing else; anything else that is missing is an
// error.
func TestIndexRebuildsWhatFollowsFromShards(t *testing.T) {
	dir := converted(t)
	idx := filepath.Join(dir, "shard-000003.tar.idx")
	want, err := os.ReadFile(idx)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(idx)
	r, err := pipeline.Index(t.Context(), dir, "")
	if got, e := os.ReadFile(idx); err != nil || e != nil || string(got) != string(want) || len(r.Done) != 1 {
		t.Fatalf("%+v, %v, %v", r, err, e)
	}
	os.Remove(filepath.Join(dir, "shard-000004.tar"))
	r, err = pipeline.Index(t.Context(), dir, "")
	if r == nil || err == nil || len(shardify.Hints(err)) != 1 || !strings.HasPrefix(shardify.Hints(err)[0], "what is wrong: shardify verify ") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestIndexOfTarsOfOthers: it is kept beside them or elsewhere, verify compares it, and bad tars are named with the place.
func TestIndexOfTarsOfOthers(t *testing.T) {
	dir, sets := t.TempDir(), converted(t)
	for _, name := range []string{"shard-000001.tar", "shard-000002.tar"} {
		b, err := os.ReadFile(filepath.Join(sets, name))
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	address := "file://" + filepath.ToSlash(t.TempDir())
	if r, err := pipeline.Index(t.Context(), "file://"+dir, address); err != nil || "file://"+r.Path != address {
		t.Errorf("%+v, %v", r, err)
	}
	for _, to := range []string{"", elsewhere} {
		r, err := pipeline.Index(t.Context(), dir, to)
		if err != nil || len(r.Done) == 0 || !strings.Contains(r.Done[0], "shardify.tars") {
			t.Fatalf("%+v, %v", r, err)
		}
		if entries, err := os.ReadDir(r.Path); err != nil || len(entries) != map[string]int{"": 3, elsewhere: 1}[to] {
			t.Errorf("%v, %v", entries, err)
		}
		if r, err = pipeline.Verify(t.Context(), []string{r.Path}, verify.Options{}, pipeline.Hooks{}); err != nil || r.Total != 0 || r.Counts.Shards != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if _, err := pipeline.Index(t.Context(), filepath.Join(dir, "shard-000001.tar"), ""); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("one tar: %v", err)
	}
	os.Remove(filepath.Join(dir, "shard-000002.tar"))
	for _, folder := range []string{dir, elsewhere} {
		r, err := pipeline.Verify(t.Context(), []string{folder}, verify.Options{Keep: 9}, pipeline.Hooks{})
		if err != nil || r.Total != 1 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].What, "is gone") || r.Next != "shardify index "+folder {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := pipeline.Index(t.Context(), folder, ""); err != nil { // as Next says
			t.Fatal(err)
		}
		if r, err = pipeline.Verify(t.Context(), []string{folder}, verify.Options{}, pipeline.Hooks{}); err != nil || r.Total != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	bad := filepath.Join(dir, "shard-000001.tar")
	if err := os.Truncate(bad, 700); err != nil {
		t.Fatal(err)
	}
	var e *shardify.Error
	if _, err := pipeline.Index(t.Context(), dir, ""); !errors.Is(err, shardify.ErrCorrupt) || !errors.As(err, &e) || e.File != bad || e.Offset < 0 {
		t.Errorf("%v", err)
	}
	for path, want := range map[string]string{t.TempDir(): "", sets: "-o is for tars of other programs"} {
		if _, err := pipeline.Index(t.Context(), path, elsewhere); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
