package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestCountsThatDoNotAgreeAreRefused: the digests of such a plan may be right, since the
// program that wrote it made them too.
func TestCountsThatDoNotAgreeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"more samples than blocks have": {func(p *Plan) { p.Pack.Samples++ }, "8 of 9 samples"},
		"more inputs than blocks have":  {func(p *Plan) { p.In.Listed.Count++ }, "4 of 5 files"},
		"a shard of too many samples":   {func(p *Plan) { p.Pack.Shards[0].Samples = 5 }, "1 spans of 5 samples"},
		"samples in no shard":           {func(p *Plan) { p.Pack.Shards[1].Samples = 0 }, "1 samples in no shard"},
		"a shard without spans":         {func(p *Plan) { p.Pack.Shards[1].Hi = p.Pack.Shards[1].Lo }, "0 spans"},
		"shards that are not there":     {func(p *Plan) { p.Pack.blocks[1].shards++ }, "3 shards"},
		"a shard in no block":           {func(p *Plan) { p.Pack.blocks[1].shards-- }, "in no shard"},
		"a unit over two blocks":        {func(p *Plan) { p.Pack.Units[0].Hi = 3 }, "unit 0 has shards [0, 3)"},
		"an empty unit":                 {func(p *Plan) { p.Pack.Units[0].Hi = 0 }, "unit 0 has shards [0, 0)"},
		"operations on several blocks":  {func(p *Plan) { p.Asked.Provenance = true }, "operations on samples"},
		"no buckets":                    {func(p *Plan) { p.Order.Shuffle = ShuffleGlobal }, "buckets"},
		"two fields of one name":        {func(p *Plan) { p.Sample.Schema = append(p.Sample.Schema[:1:1], p.Sample.Schema[0]) }, "x"},
		"a block behind the end":        {func(p *Plan) { p.Pack.blocks[1].spans.off = 1 << 10 }, "do not fit"},
		"a block larger than any":       {func(p *Plan) { p.Pack.blocks[1].names.plain = maxBlock + 1 }, "do not fit"},
	} {
		p, _, _ := partsOf(t)
		c.change(p)
		sched, err := schedule(p, p.Pack.blocks, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parsePlan(content(p), sched, 1<<10)
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
