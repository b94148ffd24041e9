package endtoend

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/pipeline"
)

// TestSetsComeBackFromExportsAsTheyWere: set -> export -> set has the bytes of the first set: every value,
// name, type and mark of a missing value.
func TestSetsComeBackFromExportsAsTheyWere(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	text := []byte(`{"a": 1, "b": 0.5, "l": [1, 2, 3], "s": "one", "k": ["x", ""]}
{"a": null, "b": null, "l": [], "s": null, "k": []}
{"a": 3, "b": -1.5, "l": null, "s": "", "k": null}
{"a": -4, "b": 2, "l": [4], "s": "vier", "k": ["ü"]}
`)
	if err := os.WriteFile(rows, text, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		from pipeline.Settings
	}{
		{"numbers", pipeline.Settings{From: "synth", Options: map[string]string{"samples": "2500", "schema": "x:f32[3],m:f32[2,3],y:i64,t:txt*12,l:f32*5,u:u8,b:bool,i:i16*4,h:f16,z:u64"}, Where: []string{"float(z) < 9.2e18"}}},
		{"missing values", pipeline.Settings{Inputs: []string{rows}, Cast: []string{"b=f32"}}},
	} {
		for _, format := range []string{"parquet", "tfrecord", "arrow"} {
			t.Run(c.name+"/"+format, func(t *testing.T) {
				dir := t.TempDir()
				convert := func(s pipeline.Settings, out, format string) {
					s.Output, s.Format, s.Sync = filepath.Join(dir, out), format, "none"
					if _, err := pipeline.Convert(context.Background(), s); err != nil {
						t.Fatal(err)
					}
				}
				convert(c.from, "a", "mmap")
				convert(pipeline.Settings{Inputs: []string{filepath.Join(dir, "a")}, ShardSamples: 700}, "b", format)
				convert(pipeline.Settings{Inputs: []string{filepath.Join(dir, "b")}}, "c", "mmap")
				var shards [2][]byte
				for i, set := range []string{"a", "c"} {
					b, err := os.ReadFile(filepath.Join(dir, set, "shard-000000.safetensors"))
					if err != nil {
						t.Fatal(err)
					}
					shards[i] = b
				}
				if !bytes.Equal(shards[0], shards[1]) {
					t.Errorf("shards of %d and %d bytes differ", len(shards[0]), len(shards[1]))
				}
			})
		}
	}
}

// TestSetsOfSplitsForOthersAreShown: by their manifest, and by what reads their shards.
func TestSetsOfSplitsForOthersAreShown(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"arrayrecord", "mds"} {
		set := filepath.Join(dir, format)
		run(t, "shardify", "convert", "--from", "synth", "--samples", "100", "--schema", "x:f32", "-o", set, "--format", format, "--split", "train=0.5,val=0.5", "-q")
		if out := run(t, "shardify", "inspect", set); !strings.Contains(out, "data set of "+format+" shards, 100 samples") || !strings.Contains(out, "val/") {
			t.Errorf("%s: %s", format, out)
		}
	}
	set := filepath.Join(dir, "mds")
	table, shown := filepath.Join(dir, "a.csv"), filepath.Join(dir, "csv")
	if err := os.WriteFile(table, []byte("a,b\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, "shardify", "convert", table, "-o", shown, "-q")
	if out := run(t, "shardify", "inspect", shown); strings.Contains(out, " \n") || !strings.Contains(out, "recipe:") {
		t.Errorf("a setting without a value: %q", out)
	}
	if out := run(t, "shardify", "diff", set, set); !strings.Contains(out, "100 equal") && !strings.Contains(out, "the same") {
		t.Error(out)
	}
	for _, split := range []string{"train", "val"} {
		run(t, "shardify", "convert", filepath.Join(set, split), "-o", filepath.Join(dir, split), "--format", "mmap", "-q")
	}
	if out := run(t, "shardify", "diff", set, "--by", "x", filepath.Join(dir, "train")); !strings.Contains(out, " 0 changed, 0 added") {
		t.Error(out)
	}
	if out, err := exec.Command(bin+"shardify", "remove", set, "--where", "x < 1").CombinedOutput(); err == nil || !strings.Contains(string(out), "mds shards are neither removed nor changed") {
		t.Errorf("%v: %s", err, out)
	}
}
