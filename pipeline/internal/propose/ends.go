package propose

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// ended is a name whose end says which part of a sample the file is: sub-01_T1w.nii.gz.
var ended = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)_([A-Za-z][A-Za-z0-9]*)(\.[A-Za-z0-9]+(?:\.gz)?)$`)
})

// maxEnds bounds the parts of a sample.
const maxEnds = 8

// ends proposes pairs where names of files in one folder differ in their ends alone.
func ends(src shardify.Source, t *format.Table) *Proposal {
	if _, files := src.(format.Owner); !files || len(src.Schema()) != 1 { // each sample is one file
		return nil
	}
	samples, found := map[string]int{}, map[string]string{}
	all := paths(t, func(parts []string) bool {
		m := ended().FindStringSubmatch(parts[len(parts)-1])
		if m == nil {
			return false
		}
		if ext, ok := found[m[2]]; ok && ext != m[3] {
			return false
		}
		found[m[2]] = m[3]
		samples[path.Join(path.Join(parts[:len(parts)-1]...), m[1])]++
		return len(found) <= maxEnds
	})
	if !all || len(found) < 2 || len(samples) < 2 {
		return nil
	}
	complete := 0
	for _, n := range samples {
		if n == len(found) {
			complete++
		}
	}
	if 2*complete < len(samples) {
		return nil
	}
	missing := []string{""}
	if complete < len(samples) {
		missing = []string{"drop", "fill"}
	}
	var pairs []string
	names := slices.Sorted(maps.Keys(found))
	for _, n := range names {
		pairs = append(pairs, n+"=.:_"+n)
	}
	return &Proposal{Options: true, Other: true, Missing: missing, Settings: format.Options{"pair": strings.Join(pairs, ",")},
		Why: "names of files differ in their ends alone: " + some(names)}
}
