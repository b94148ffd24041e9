package plan

import (
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

var someFields = []shardify.Field{{Name: "x", DType: shardify.I64}, {Name: "y", DType: shardify.F32, Shape: []int{2}}}

// partsOf is a plan of two parts with the plain bytes of their blocks.
func partsOf(f testing.TB) (p *Plan, names, spans []byte) {
	p = &Plan{Version: Version, In: Inputs{Table: &format.Table{Roots: []string{"r"}}, Listed: &index.Inputs{Count: 4}}, Sample: Sample{Schema: someFields}, Pack: Packing{Samples: 8}}
	t := &format.Table{Roots: []string{"r"}}
	t.Append(0, "a/1", 10, 5)
	t.Append(0, "a/2", 10, 7)
	content := appendNames(nil, t)
	names = appendTimes(append(binary.AppendUvarint(nil, uint64(len(content))), content...), t)
	spans = appendSpans(nil, []shardify.Span{{Hi: 3, Bytes: 32}, {Lo: 3, Hi: 4, Bytes: 8}})
	for range 2 {
		p.Pack.blocks = append(p.Pack.blocks, Block{
			files: 2, samples: 4, bytes: 40, largest: 32, listed: index.DigestOf(names), shards: 2, units: 1,
			names: packed{index.DigestOf(content), int64(planHead), 40, int64(len(names))},
			spans: packed{index.DigestOf(spans), int64(planHead) + 40, 40, int64(len(spans))},
		})
		p.Pack.Shards = append(p.Pack.Shards, Shard{0, 1, 3}, Shard{1, 2, 1})
		p.Pack.shardBytes = append(p.Pack.shardBytes, 32, 8)
	}
	p.Pack.Units = []Unit{{0, 2}, {2, 4}}
	return p, names, spans
}

// TestTasksOfAPlanInPartsTakeNeighbours: each unit has a task, in order, of a like size.
func TestTasksOfAPlanInPartsTakeNeighbours(t *testing.T) {
	p := &Plan{Pack: Packing{blocks: make([]Block, 2)}}
	for u := range 1000 {
		p.Pack.Shards = append(p.Pack.Shards, Shard{0, 1, 1})
		p.Pack.shardBytes = append(p.Pack.shardBytes, int64(1+u%7)<<20)
		p.Pack.Units = append(p.Pack.Units, Unit{u, u + 1})
	}
	for _, n := range []int{1, 3, 100, 1000, 3000} {
		of := p.Pack.TasksOf(n)
		if !slices.IsSorted(of) || of[0] < 0 || int(of[999]) >= n {
			t.Fatalf("%d tasks: %v", n, of)
		}
		load := make([]int64, n)
		for u, k := range of {
			load[k] += p.Pack.UnitBytes(u)
		}
		if most, fair := slices.Max(load), int64(4000<<20)/int64(n); most > fair+8<<20 {
			t.Errorf("%d tasks: one has %d bytes, each should have %d", n, most, fair)
		}
	}
}

// onePlan is a plan of one block with the plain bytes of that.
func onePlan(f testing.TB) (p *Plan, names, spans []byte) {
	p = &Plan{Version: Version, In: Inputs{Table: &format.Table{Roots: []string{"r"}}}, Sample: Sample{Schema: someFields}, Pack: Packing{Samples: 4}}
	p.In.Table.Append(0, "a", 1, 2)
	p.Pack.Spans = []shardify.Span{{Hi: 4, Bytes: 32}}
	p.Pack.Shards = []Shard{{0, 1, 4}}
	p.Pack.Units = []Unit{{0, 1}}
	if err := Seal(p); err != nil {
		f.Fatal(err)
	}
	var err error
	if p.Pack.blocks, _, err = write(f.Context(), p, io.Discard); err != nil { // where they stay
		f.Fatal(err)
	}
	content := appendNames(nil, p.In.Table)
	return p, appendTimes(append(binary.AppendUvarint(nil, uint64(len(content))), content...), p.In.Table), appendSpans(nil, p.Pack.Spans)
}

func FuzzPlan(f *testing.F) {
	for _, of := range []func(testing.TB) (*Plan, []byte, []byte){onePlan, partsOf, pagedPlan} {
		p, names, spans := of(f)
		sched, err := schedule(p, p.Pack.blocks, p.In.pages.list)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := parsePlan(content(p), sched, 1<<10); err != nil {
			f.Fatal(err)
		}
		f.Add(content(p), sched, names, spans)
	}
	f.Fuzz(func(t *testing.T, content, sched, names, spans []byte) {
		q, err := parsePlan(content, sched, 1<<10)
		if err != nil {
			return
		}
		q.Pack.Task(1, 3)
		q.stored.open = nil
		for i := range q.Pack.Shards {
			if q.Pack.BlockOf(i) < 0 {
				t.Fatalf("shard %d is in no block", i)
			}
		}
		for i := range q.Pack.blocks {
			x := q.Pack.blocks[i]
			r := varint.Reader{B: names} // finding bytes with the wanted digest is not feasible
			x.listed = index.DigestOf(names)
			x.names.digest, x.spans.digest = index.DigestOf(r.Bytes(r.U())), index.DigestOf(spans)
			parseNamesBlock(&format.Table{Roots: q.In.Table.Roots, FS: q.In.Table.FS}, names, &x)
			parseSpansBlock(spans, &x)
		}
	})
}
