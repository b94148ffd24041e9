package wds_test

import (
	"context"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/wds"
)

// TestRootOfSplitsNamesEveryShardInItsPart: Energon opens the root and asks for train,
// val and test, whatever the splits are.
func TestRootOfSplitsNamesEveryShardInItsPart(t *testing.T) {
	mem := memory.New()
	files, err := wds.Format.FinishSplits(context.Background(), mem, []format.FinishedSplit{
		{Name: "train", Shards: []shardify.Shard{{Name: "train/shard-000000.tar", Samples: 3}, {Name: "train/shard-000001.tar", Samples: 4}}},
		{Name: "fold2", Shards: []shardify.Shard{{Name: "fold2/shard-000000.tar", Samples: 5}}},
	})
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	want := `exclude: []
split_parts:
  train:
  - "train/shard-000000.tar"
  - "train/shard-000001.tar"
  fold2:
  - "fold2/shard-000000.tar"
  val: []
  test: []
`
	if got := string(mem.Files()[".nv-meta/split.yaml"]); got != want {
		t.Fatalf("split.yaml is\n%s", got)
	}
	if info := string(mem.Files()[".nv-meta/.info.json"]); !strings.Contains(info, `"train/shard-000001.tar": 4`) || !strings.Contains(info, `"fold2/shard-000000.tar": 5`) {
		t.Fatalf(".info.json is\n%s", info)
	}
}
