package mds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/mds"
	"github.com/shardify/shardify/writers/writertest"
)

// written publishes one shard, and index.json.
func written(t *testing.T, s writertest.Schema, n int, name string, exact bool, o format.Options) (map[string][]byte, shardify.Shard) {
	t.Helper()
	ctx := context.Background()
	mem := memory.New()
	sink, err := mds.Format.New(mem, format.ShardSpec{Name: name, Schema: s.Fields, Samples: int64(n), Exact: exact, Keyed: s.Keyed, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range writertest.Batches(s, n, 3, 7) {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	sh, err := sink.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mds.Format.Finish(ctx, mem, format.FinishedSet{Schema: s.Fields, Keyed: s.Keyed, Shards: []shardify.Shard{sh}, Options: o}); err != nil {
		t.Fatal(err)
	}
	return mem.Files(), sh
}

// TestCompressedShardsAreTheShards: what a decoder makes of them, byte for byte, with
// both sizes in index.json, whether or not the number of samples was known.
func TestCompressedShardsAreTheShards(t *testing.T) {
	zip := format.Options{"mds-compression": "zstd"}
	if ext := mds.Format.ExtOf(zip); ext != ".mds.zstd" || mds.Format.ExtOf(nil) != ".mds" {
		t.Errorf("extension %s", ext)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	for _, s := range writertest.Schemas() {
		if mds.Format.Check(s.Fields, s.Keyed, nil) != nil {
			continue
		}
		plain, _ := written(t, s, 40, "shard-000000.mds", true, nil)
		for _, exact := range []bool{true, false} {
			files, sh := written(t, s, 40, "shard-000000.mds.zstd", exact, zip)
			file := files[sh.Name]
			raw, err := dec.DecodeAll(file, nil)
			if err != nil || string(raw) != string(plain["shard-000000.mds"]) {
				t.Fatalf("%s: other bytes: %v", s.Name, err)
			}
			if sh.Bytes != int64(len(file)) || sh.Digest != index.PieceDigestOf(file) {
				t.Errorf("%s: record %+v of a file of %d bytes", s.Name, sh, len(file))
			}
			var set struct {
				Shards []struct {
					Compression string
					Raw         struct {
						Name  string `json:"basename"`
						Bytes int    `json:"bytes"`
					} `json:"raw_data"`
					Zip struct {
						Name  string `json:"basename"`
						Bytes int    `json:"bytes"`
					} `json:"zip_data"`
				}
			}
			if err := json.Unmarshal(files["index.json"], &set); err != nil {
				t.Fatal(err)
			}
			c := set.Shards[0]
			if c.Compression != "zstd" || c.Raw.Name != "shard-000000.mds" || c.Raw.Bytes != len(raw) || c.Zip.Name != sh.Name || c.Zip.Bytes != len(file) {
				t.Errorf("%s: index.json says %+v", s.Name, c)
			}
		}
	}
}

// TestUnzippedReadsAnyPlace forwards and backwards, and damage is an error.
func TestUnzippedReadsAnyPlace(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.U8, Shape: []int{900}}}}
	n := 12_000 // several times what is kept
	plain, _ := written(t, s, n, "shard-000000.mds", true, nil)
	zipped, _ := written(t, s, n, "shard-000000.mds.zstd", true, format.Options{"mds-compression": "zstd"})
	want, file := plain["shard-000000.mds"], zipped["shard-000000.mds.zstd"]
	mem := memory.New()
	mem.Set("z", file)
	b, _ := mem.Open("z")
	u, err := mds.OpenUnzipped(b, b.Size())
	if err != nil || u.Size() != int64(len(want)) {
		t.Fatalf("%d bytes, want %d: %v", u.Size(), len(want), err)
	}
	defer u.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	at := 0
	for range 60 {
		buf := make([]byte, 1+rng.IntN(3<<20))
		at = max(0, min(at+rng.IntN(6<<20)-2<<20, len(want)-1))
		n, err := u.ReadAt(buf, int64(at))
		if string(buf[:n]) != string(want[at:min(at+len(buf), len(want))]) {
			t.Fatalf("[%d, +%d): other bytes, error %v", at, len(buf), err)
		}
		if (err != nil) != (at+len(buf) > len(want)) {
			t.Fatalf("[%d, +%d) of %d: error %v", at, len(buf), len(want), err)
		}
	}
	cut := file[:len(file)/2]
	mem.Set("cut", cut)
	b, _ = mem.Open("cut")
	u2, err := mds.OpenUnzipped(b, b.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer u2.Close()
	if _, err := u2.ReadAt(make([]byte, 1), int64(len(want)-1)); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a cut file: %v", err)
	}
}

// TestSmallShardsTellTheirLength: a zstd frame holds a length below 256 bytes only if it is
// a single segment.
func TestSmallShardsTellTheirLength(t *testing.T) {
	zip := format.Options{"mds-compression": "zstd"}
	s := writertest.Schema{Name: "tiny", Fields: []shardify.Field{{Name: "y", DType: shardify.U8}}}
	seen := map[bool]int{}
	for n := range 40 {
		for _, exact := range []bool{true, false} {
			plain, _ := written(t, s, n*7, "shard-000000.mds", true, nil)
			files, _ := written(t, s, n*7, "shard-000000.mds.zstd", exact, zip)
			raw, packed := plain["shard-000000.mds"], files["shard-000000.mds.zstd"]
			seen[len(raw) < 256]++
			if got, err := mds.ZippedBytes(bytes.NewReader(packed), int64(len(packed))); err != nil || got != int64(len(raw)) {
				t.Errorf("%d samples, %d bytes: %d, %v", n*7, len(raw), got, err)
			}
			dec, err := zstd.NewReader(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := dec.DecodeAll(packed, nil); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%d samples: %d bytes, want %d: %v", n*7, len(got), len(raw), err)
			}
			dec.Close()
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("shards on one side of 256 bytes only: %v", seen)
	}
}
