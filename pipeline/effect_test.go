package pipeline

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestKeysAreComplete: each says what a set keeps of it, and when it has an effect.
func TestKeysAreComplete(t *testing.T) {
	for i := range Keys {
		k := &Keys[i]
		if k.Kept == 0 {
			t.Errorf("%s does not say whether a set keeps it", k.Name)
		}
		r := &k.Rules
		if r.Why == "" && r.With == nil && r.Useless == nil {
			t.Errorf("%s does not say when it has an effect", k.Name)
		}
		if r.Alone != "" && k.Kept == NotKept {
			t.Errorf("%s is not kept, so that a set does not show that it was made with it", k.Name)
		}
		for _, name := range slices.Concat(r.With, slices.Collect(maps.Keys(r.Not))) {
			if Lookup(name) == nil {
				t.Errorf("%s: no setting %s", k.Name, name)
			}
		}
	}
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
