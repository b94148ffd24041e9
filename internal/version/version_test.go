package version

import (
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	changed := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		module   string
		settings []debug.BuildSetting
		want     string
	}{
		{"v" + release, []debug.BuildSetting{revision}, release},
		{"(devel)", nil, release + "-dev"},
		{"", []debug.BuildSetting{revision}, release + "-dev+0123456789ab"},
		{"v0.0.0-20261123000000-0123456789ab+dirty", []debug.BuildSetting{revision, changed}, release + "-dev+0123456789ab.changed"},
		{"v0.0.0-20261123000000-fedcba987654", nil, release + "-dev+fedcba987654"},
	} {
		if got := of(c.module, c.settings); got != c.want {
			t.Errorf("%s: %s, want %s", c.module, got, c.want)
		}
	}
}

// TestOneVersion compares the files that cannot import it.
func TestOneVersion(t *testing.T) {
	for file, pattern := range map[string]string{
		"python/shardify/__init__.py":                     `(?m)^__version__ = "(.*)"$`,
		"CITATION.cff":                                    `(?m)^version: (.*)$`,
		"CHANGELOG.md":                                    `(?m)^## ([0-9.]+)`,
		"packaging/conda/recipe.yaml":                     `(?m)^  version: "(.*)"$`,
		"packaging/easybuild/shardify-" + release + ".eb": `(?m)^version = '(.*)'$`,
		"packaging/homebrew/shardify.rb":                  `tag: "v(.*)"`,
		"packaging/spack/packages/shardify/package.py":    `tag="v(.*)"`,
	} {
		b, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(b)
		if m == nil || string(m[1]) != release {
			t.Errorf("%s has %q, and the release is %s", file, m, release)
		}
	}
}
