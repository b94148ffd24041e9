package wds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/wds"
	"github.com/shardify/shardify/writers/writertest"
)

// set writes shards of these sample counts.
func set(t *testing.T, s writertest.Schema, counts ...int) (*memory.Store, []shardify.Shard) {
	t.Helper()
	mem := memory.New()
	var shards []shardify.Shard
	for i, n := range counts {
		name := fmt.Sprintf("000%d/shard-%06d.tar", i%2, i)
		if n == 0 {
			shards = append(shards, shardify.Shard{Name: name}) // a receipt, no file
			continue
		}
		sink, err := wds.Format.New(mem, format.ShardSpec{Name: name, Schema: s.Fields, Keyed: s.Keyed})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range writertest.Batches(s, n, uint64(i), n) {
			if err := sink.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		sh, err := sink.Commit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, sh)
	}
	return mem, shards
}

func finish(t *testing.T, mem storage.Store, fields []shardify.Field, shards []shardify.Shard, dali string) []shardify.File {
	t.Helper()
	files, err := wds.Format.Finish(context.Background(), mem, format.FinishedSet{Schema: fields, Shards: shards, Options: format.Options{"dali": dali}})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFinishWritesWhatLoadersOpen pins the texts and checks the records. A
// second call finds them there.
func TestFinishWritesWhatLoadersOpen(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{field("cls", shardify.I64)}}
	mem, shards := set(t, s, 3, 0, 2)
	files := finish(t, mem, s.Fields, shards, "false")
	finish(t, mem, s.Fields, shards, "false")
	have := mem.Files()
	for i, want := range []struct{ name, text string }{
		{"index.json", `{
  "__kind__": "wids-shard-index-v1",
  "wids_version": 1,
  "shardlist": [
    {
      "url": "0000/shard-000000.tar",
      "nsamples": 3,
      "filesize": 4096
    },
    {
      "url": "0000/shard-000002.tar",
      "nsamples": 2,
      "filesize": 3072
    }
  ]
}
`},
		{".nv-meta/.info.json", `{
  "energon_version": "7.0.0",
  "shard_counts": {
    "0000/shard-000000.tar": 3,
    "0000/shard-000002.tar": 2
  }
}
`},
		{".nv-meta/split.yaml", `exclude: []
split_parts:
  test: []
  train:
  - "0000/shard-000000.tar"
  - "0000/shard-000002.tar"
  val: []
`},
		{".nv-meta/dataset.yaml", "__class__: CrudeWebdataset\n__module__: megatron.energon\n"},
	} {
		if i >= len(files) || files[i].Name != want.name || files[i].Digest != index.DigestOf([]byte(want.text)) || files[i].Bytes != int64(len(want.text)) {
			t.Errorf("record %d of %+v, want %s", i, files, want.name)
		}
		if got := string(have[want.name]); got != want.text {
			t.Errorf("%s is\n%swant\n%s", want.name, got, want.text)
		}
		if strings.HasSuffix(want.name, ".json") && !json.Valid(have[want.name]) {
			t.Errorf("%s is no JSON", want.name)
		}
	}
	if len(files) != 4 {
		t.Errorf("%d files", len(files))
	}
}

// TestFinishOfNothing: a set without samples is legal and opens.
func TestFinishOfNothing(t *testing.T) {
	mem := memory.New()
	finish(t, mem, nil, nil, "true")
	for _, name := range []string{"index.json", ".nv-meta/.info.json"} {
		if b := mem.Files()[name]; !json.Valid(b) {
			t.Errorf("%s is %q", name, b)
		}
	}
}

// TestDALIIndexPointsAtTheData: every line is a sample, every offset the first
// data byte of the member it names.
func TestDALIIndexPointsAtTheData(t *testing.T) {
	s := kinds()
	s.Keyed = true
	mem, shards := set(t, s, 5, 4)
	files := finish(t, mem, s.Fields, shards, "true")
	if len(files) != 6 || files[4].Name != "0000/shard-000000.idx" || files[5].Name != "0001/shard-000001.idx" {
		t.Fatalf("files %+v", files)
	}
	for i, sh := range shards {
		tarred := mem.Files()[sh.Name]
		all := untar(t, tarred)
		lines := strings.Split(strings.TrimSuffix(string(mem.Files()[files[4+i].Name]), "\n"), "\n")
		if lines[0] != fmt.Sprintf("v1.2 %d", sh.Samples) || len(lines) != int(sh.Samples)+1 {
			t.Fatalf("%d lines, the first %q", len(lines), lines[0])
		}
		for _, line := range lines[1:] {
			for f := strings.Split(line, " "); len(f) > 0; f = f[4:] {
				var at, size int
				if _, err := fmt.Sscan(f[1]+" "+f[2], &at, &size); err != nil || at%512 != 0 {
					t.Fatalf("%q: %v", line, err)
				}
				m := all[0]
				all = all[1:]
				if f[3] != m.name || !strings.HasSuffix(m.name, "."+f[0]) || size != len(m.data) || !bytes.Equal(tarred[at:at+size], m.data) {
					t.Errorf("%v, want %s of %d bytes", f[:4], m.name, len(m.data))
				}
			}
		}
		if len(all) > 0 {
			t.Errorf("%d members are not in the index", len(all))
		}
	}
}

// TestFinishFailsWithoutItsShard: a missing or changed tar is no index.
func TestFinishFailsWithoutItsShard(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{field("cls", shardify.I64)}}
	for name, damage := range map[string]func(mem *memory.Store, sh *shardify.Shard){
		"missing":       func(mem *memory.Store, sh *shardify.Shard) { mem.Remove(sh.Name) },
		"longer":        func(mem *memory.Store, sh *shardify.Shard) { mem.Set(sh.Name, append(mem.Files()[sh.Name], 0)) },
		"other samples": func(mem *memory.Store, sh *shardify.Shard) { sh.Samples++ },
		"flipped": func(mem *memory.Store, sh *shardify.Shard) {
			b := bytes.Clone(mem.Files()[sh.Name])
			b[0] ^= 1
			mem.Set(sh.Name, b)
		},
	} {
		mem, shards := set(t, s, 3)
		damage(mem, &shards[0])
		_, err := wds.Format.Finish(context.Background(), mem, format.FinishedSet{Schema: s.Fields, Shards: shards, Options: format.Options{"dali": "true"}})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
