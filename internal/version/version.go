// Package version is the one place that says which version of shardify this is.
package version

import (
	"runtime/debug"
	"strings"
)

// release is the release that this source is, or will become. Wheels, citations and the
// changelog follow it: a test compares them.
const release = "0.1.0"

// String is Release for builds of its tag, and otherwise Release with the commit:
// 0.1.0-dev+1a2b3c4d5e6f. It depends on the source alone, not on flags of the linker.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return of("", nil)
	}
	return of(info.Main.Version, info.Settings)
}

// of makes the version from those of the module and of the checkout.
func of(module string, settings []debug.BuildSetting) string {
	if module == "v"+release {
		return release
	}
	commit, changed := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ".changed"
		}
	}
	// go install of a commit has no checkout; the commit ends the module's version.
	if i := strings.LastIndexByte(module, '-'); commit == "" && i >= 0 {
		commit = module[i+1:]
	}
	if commit == "" {
		return release + "-dev"
	}
	return release + "-dev+" + commit + changed
}
