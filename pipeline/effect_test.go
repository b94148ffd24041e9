package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/writers"
)

// TestOptionsOfWritersHaveAnEffect: each of another value than its default makes other files, beside
// the manifest, which has all options.
func TestOptionsOfWritersHaveAnEffect(t *testing.T) {
	for i := range writers.Formats {
		f := &writers.Formats[i]
		for _, o := range f.Options {
			if o.Idle != format.Always {
				t.Errorf("--%s of %s has no test of when it has an effect", o.Name, f.Name)
				continue
			}
			values := o.Values
			if o.Kind == format.KindBool {
				values = []string{"false", "true"}
			}
			made := map[string]string{}
			for _, v := range values {
				out := filepath.Join(t.TempDir(), "out")
				if _, err := Convert(t.Context(), synth(out, func(s *Settings) { s.Format, s.Options[o.Name] = f.Name, v })); err != nil {
					t.Fatalf("--%s %s: %v", o.Name, v, err)
				}
				files := contents(t, out)
				if twin, ok := made[files]; ok {
					t.Errorf("--%s %s and %s make the same files", o.Name, twin, v)
				}
				made[files] = v
			}
			if len(values) < 2 {
				t.Errorf("--%s of %s: which values are there?", o.Name, f.Name)
			}
		}
	}
}

// contents are the names and the bytes of the files of a set, without the manifest.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range filesOf(t, dir) {
		if filepath.Base(name) == index.ManifestName {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, name)
		fmt.Fprintf(&all, "%s %x\n", rel, b)
	}
	return all.String()
}

// TestSettingsWithoutEffectAreErrors: but a default that is given explicitly is not an error.
func TestSettingsWithoutEffectAreErrors(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"--seed 5 has no effect: nothing is random":               func(s *Settings) { s.Seed = 5 },
		"--seed 6 has no effect":                                  func(s *Settings) { s.Seed, s.Where = 6, []string{"y > 3"} },
		"--cast: f64=f32: it changes no field":                    func(s *Settings) { s.Cast = []string{"f64=f32"} },
		"--cast: *=f32: it changes no field":                      func(s *Settings) { s.Options["schema"], s.Cast = "y:i64", []string{"*=f32"} },
		"--nan: drop: no field has floating numbers":              func(s *Settings) { s.Options["schema"], s.NaN = "y:i64", []string{"drop"} },
		`no field "z*"`:                                           func(s *Settings) { s.Columns = []string{"x", "z*"} },
		`no field "!z"`:                                           func(s *Settings) { s.Columns = []string{"!z"} },
		"--once goes with --group-rows":                           func(s *Settings) { s.Once = []string{"y"} },
		"--null-keys goes with --group-rows or --group-index":     func(s *Settings) { s.NullKeys = "drop" },
		"--identity goes with --split or --split-from":            func(s *Settings) { s.Identity, s.SplitFrom = []string{"y"}, "none" },
		"--stratify and --group-by exclude each other: a group":   func(s *Settings) { s.Split, s.Stratify, s.GroupBy = "a=1", "y", "x" },
		"--window and --copies exclude each other: the copies":    func(s *Settings) { s.Window, s.Copies = []string{"3+1"}, 2 },
		"--shard-size and --shard-samples exclude":                func(s *Settings) { s.ShardSize = 1 << 20 },
		"--mds-compression is an option of mds; this reads synth": func(s *Settings) { s.Format, s.Options["mds-compression"] = "wds", "zstd" },
		"no field * holds":                                        func(s *Settings) { s.CheckImages = true },
		"": func(s *Settings) {
			s.Seed, s.Shuffle, s.OnError, s.Range = 5, "block", "fail", Range{Hi: 10_000}
		},
	} {
		_, err := Convert(t.Context(), synth(filepath.Join(t.TempDir(), "out"), change))
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, shardify.ErrUsage) && !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
