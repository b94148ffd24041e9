package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/storage/storagetest"
)

// TestInputsMayBeAddresses: a storage is a line of the table, and inputs, patterns, lists
// and objects in files are named by its addresses.
func TestInputsMayBeAddresses(t *testing.T) {
	ctx := context.Background()
	m := storagetest.Scheme(t, "mem")
	b, err := os.ReadFile("../readers/root/testdata/events-0.root")
	if err != nil {
		t.Fatal(err)
	}
	local := t.TempDir()
	for _, name := range []string{"a/one.root", "a/b/two.root"} {
		m.Set("data/"+name, b)
		os.MkdirAll(filepath.Dir(filepath.Join(local, name)), 0o777)
		os.WriteFile(filepath.Join(local, name), b, 0o666)
	}
	digest := func(inputs ...string) string {
		t.Helper()
		r, err := pipeline.Convert(ctx, pipeline.Settings{Inputs: inputs, Options: map[string]string{"object": "Events"}, Jobs: 1, Output: filepath.Join(t.TempDir(), "out")})
		if err != nil {
			t.Fatal(err)
		}
		return r.Manifest.Digest
	}
	for _, c := range []struct{ addresses, paths []string }{
		{[]string{"mem://data"}, []string{local}},
		{[]string{"mem://data/"}, []string{local}},
		{[]string{"mem://data/**/*.root"}, []string{local + "/**/*.root"}},
		{[]string{"mem://data/a/one.root", "mem://data/a/b/two.root"}, []string{local + "/a/one.root", local + "/a/b/two.root"}},
		{[]string{"file://" + local}, []string{local}},
	} {
		if got, want := digest(c.addresses...), digest(c.paths...); got != want {
			t.Errorf("%s: %s, %s: %s", c.addresses, got, c.paths, want)
		}
	}
	for _, s := range []pipeline.Settings{{Inputs: []string{"s3://bucket/x"}}} {
		if s.Output == "" {
			s.Output = t.TempDir()
		}
		_, err := pipeline.Convert(ctx, s)
		if err == nil || !strings.Contains(err.Error(), "no storage has the scheme s3://: there is file://, mem://") || !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%+v: %v", s.Inputs, err)
		}
	}
}
