package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/verify"
	"github.com/shardify/shardify/writers"
)

// filesOf are the files of a set, but for what stays of its conversion.
func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() && e.Name() == ".shardify" {
			return filepath.SkipDir
		}
		if err == nil && !e.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDamagedSetsAreNotConverted: what verify finds in a set, a conversion of the whole set finds,
// too, and publishes nothing: a flipped bit anywhere in a file that it reads, with one shard or
// several of each input shard, in order and shuffled.
func TestDamagedSetsAreNotConverted(t *testing.T) {
	flips := 7
	if os.Getenv("SHARDIFY_LONG") != "" {
		flips = 200
	}
	for name, c := range map[string]struct {
		format, schema string
		options        map[string]string
	}{
		"mmap":      {"mmap", "x:f32[300],t:txt*40,y:i32", nil},
		"wds":       {"wds", "x:f32[300],t:txt*40,y:i32", nil},
		"wds-large": {"wds", "img:jpg*200000,y:i32", nil},
		"mds":       {"mds", "x:f32[300],t:txt*40,y:i32", nil},
		"mds-zstd":  {"mds", "x:f32[300],t:txt*40,y:i32", map[string]string{"mds-compression": "zstd"}},
		"megatron":  {"megatron", "tokens:u16*900", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			set := filepath.Join(dir, "set")
			samples := "1200"
			if strings.Contains(c.schema, "200000") {
				samples = "9"
			}
			options := map[string]string{"samples": samples, "schema": c.schema}
			for k, v := range c.options {
				options[k] = v
			}
			if _, err := Convert(context.Background(), synth(set, func(s *Settings) {
				s.Format, s.Options, s.ShardSamples = c.format, options, 500
			})); err != nil {
				t.Fatal(err)
			}
			ways := []string{"in order", "to small shards", "shuffled"}
			convert := func(way string) error {
				s := Settings{Inputs: []string{set}, Format: c.format, Output: filepath.Join(dir, "out"), Memory: 64 << 20, Sync: "none"}
				switch way {
				case "in order":
					s.ShardSamples = 500
				case "to small shards":
					s.ShardSamples, s.Jobs = 37, 2
				default:
					s.Shuffle = "global"
				}
				_, err := Convert(context.Background(), s)
				if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
					t.Fatal(err)
				}
				return err
			}
			for _, way := range ways {
				if err := convert(way); err != nil {
					t.Fatalf("%s: %v", way, err)
				}
			}
			for _, file := range filesOf(t, set) {
				if c.format == "wds" && (strings.HasSuffix(file, ".json") && !strings.HasSuffix(file, index.ManifestName) || strings.HasSuffix(file, ".yaml")) {
					continue // for other programs: a conversion does not read them
				}
				good, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for i := range flips {
					at := i * (len(good) - 1) / (flips - 1)
					bad := slices.Clone(good)
					bad[at] ^= 1 << (i % 8)
					if err := os.WriteFile(file, bad, 0o666); err != nil {
						t.Fatal(err)
					}
					r, err := verify.Run(context.Background(), verify.Options{Dir: set, Sources: readers.Formats, Sinks: writers.Formats})
					if err == nil && r.OK() {
						t.Errorf("verify accepts %s with byte %d flipped", filepath.Base(file), at)
					}
					way := ways[i%len(ways)]
					err = convert(way)
					if hints := shardify.Hints(err); strings.Contains(fmt.Sprint(err), " bytes have xxh3p") && (len(hints) != 1 || hints[0] != "what is damaged, and how to repair it: shardify verify "+set) {
						t.Errorf("%s, byte %d: %v: hints %q", filepath.Base(file), at, err, hints)
					}
					switch {
					case err == nil:
						t.Errorf("%s, byte %d of %d: converted (%s)", filepath.Base(file), at, len(good), way)
					case !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema):
						t.Errorf("%s, byte %d: %v", filepath.Base(file), at, err)
					}
				}
				if err := os.WriteFile(file, good, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
