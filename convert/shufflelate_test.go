package convert_test

import (
	"context"
	"testing"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
)

// TestLateWorkerFindsTheShuffleDone: one worker has completed the set and removed the
// fragments while another one was on its way. That one does nothing any more, and
// above all does not take the receipts of the portions for those of lost fragments.
func TestLateWorkerFindsTheShuffleDone(t *testing.T) {
	dir := t.TempDir()
	first := shuffleRun{samples: 3000, memory: 8 << 20, schema: "i:i64,x:f32[9]", shuffle: plan.ShuffleGlobal, jobs: 2}.convert(t, dir)
	list := func() map[string]int64 {
		files := map[string]int64{}
		for f, err := range local.NewDir(dir, local.SyncNone).List("") {
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = f.Size
		}
		return files
	}
	before := list()
	late := &convert.Job{Plan: first.Plan, Source: first.Source, Sink: first.Sink, Store: local.NewDir(dir, local.SyncNone), Pool: first.Pool, Compile: first.Compile}
	ctx := context.Background()
	if err := late.Work(ctx, late.Plan.Pack.Task(0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := late.Gather(ctx, late.Plan.Order.GatherTask(0, 1)); err != nil {
		t.Fatal(err)
	}
	after := list()
	for name, size := range before {
		if after[name] != size {
			t.Errorf("%s had %d bytes, has %d", name, size, after[name])
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
	if _, err := late.Merge(ctx); err != nil {
		t.Error(err)
	}
}
