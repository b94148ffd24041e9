package pipeline

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

type pieces struct {
	shardify.Source
	bytes int64
}

func (p pieces) LargestPiece() (string, int64) { return "a chunk of /x in a.h5", p.bytes }

// TestNotesNameWhatTheMemoryIsShortOf, and the memory that would do: with it nothing is
// noted.
func TestNotesNameWhatTheMemoryIsShortOf(t *testing.T) {
	const mib = 1 << 20
	table := &format.Table{}
	table.Roots = []string{""}
	table.Append(0, "b.root", 1, 1)
	for _, c := range []struct {
		piece, span, samples, memory int64
		want                         []string
	}{
		{10 * mib, 10 * mib, 100, 128 * mib, nil},
		{60 * mib, 10 * mib, 100, 128 * mib, []string{"a chunk of /x in a.h5 is decoded whole, 60 MiB", "--memory 192MiB"}},
		{60 * mib, 10 * mib, 100, 192 * mib, nil},
		{10 * mib, 300 * mib, 100, 128 * mib, []string{"300 MiB that must be read together in b.root", "--memory 512MiB"}},
		{10 * mib, 300 * mib, 100, 512 * mib, nil},
		{10 * mib, 300 * mib, 1, 128 * mib, nil}, // one sample passes alone
	} {
		p := &Prepared{Memory: c.memory}
		p.Plan = &plan.Plan{In: plan.Inputs{Table: table}, Pack: plan.Packing{Spans: []shardify.Span{{Hi: c.samples, Bytes: c.span}}}}
		p.Job = &convert.Job{Source: pieces{bytes: c.piece}}
		got := strings.Join(p.tight(), "\n")
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%+v: %q", c, got)
			}
		}
		if c.want == nil && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
