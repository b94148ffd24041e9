package pipeline

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestEachSettingSaysWhenItHasNoEffect, or that it always has one.
func TestEachSettingSaysWhenItHasNoEffect(t *testing.T) {
	for i := range Keys {
		if _, ok := effects[Keys[i].Name]; !ok {
			t.Errorf("%s has no line in effects", Keys[i].Name)
		}
	}
	if len(effects) != len(Keys) {
		t.Errorf("%d lines for %d settings", len(effects), len(Keys))
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
		"--group-rows-per-file, --group-order, --once":            func(s *Settings) { s.Once = []string{"y"} },
		"--identity, --stratify and --group-by go with --split":   func(s *Settings) { s.Identity = []string{"y"} },
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
