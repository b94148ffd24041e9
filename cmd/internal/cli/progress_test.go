package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/shardify/shardify/pipeline"
)

// TestBarOfAShuffleFillsTwice: with what is read, then with what is written; it counts the
// shards of all splits.
func TestBarOfAShuffleFillsTwice(t *testing.T) {
	var out bytes.Buffer
	b := (&IO{Out: &out, Err: &out, Terminal: true}).NewBar()
	p := pipeline.Progress{AllSamples: 1000, AllBytes: 64 << 20, AllShards: 1200, AllPortions: 4}
	for _, c := range []struct {
		samples, bytes, portions, gathered, shards int64
		want                                       string
	}{
		{0, 0, 0, 0, 0, `reading 0/4 portions +0%`},
		{1000, 64 << 20, 4, 0, 0, `reading 4/4 portions +99%.*iB/s`},
		{1000, 64 << 20, 4, 250, 300, `300/1,200 shards +25%`},
		{1000, 64 << 20, 4, 1000, 1200, `1,200/1,200 shards +99%`},
	} {
		out.Reset()
		p.Samples, p.Bytes, p.Portions, p.Gathered, p.Shards = c.samples, c.bytes, c.portions, c.gathered, c.shards
		b.Converting(p)
		if !regexp.MustCompile(c.want).Match(out.Bytes()) {
			t.Errorf("%+v: %q, want %s", p, &out, c.want)
		}
	}
}

// TestLinesWithoutATerminal: none at the beginning, when there is nothing to say.
func TestLinesWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	b := (&IO{Out: &out, Err: &out}).NewBar()
	p := pipeline.Progress{AllSamples: 1000, AllBytes: 64 << 20, AllShards: 2}
	b.Converting(p)
	b.Copying(p)
	b.Checking(p)
	if out.Len() > 0 {
		t.Errorf("at the beginning: %q", &out)
	}
	p.Samples, p.Bytes, p.Shards, p.Seconds = 500, 32<<20, 1, 60
	b.Converting(p)
	if want := "500 of 1,000 samples, 32 MiB of 64 MiB, 1 of 2 shards, 60 s\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	p.AllPortions, p.Gathered = 3, 250
	out.Reset()
	b.Converting(p)
	if !strings.HasPrefix(out.String(), "500 of 1,000 samples, 250 in their order, ") {
		t.Errorf("%q", &out)
	}
}
