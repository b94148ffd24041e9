package verify

import (
	"strings"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/verify/problem"
)

// older are the files of older versions of the set that are kept. unknown: the set has had some, and this
// is one split of it, whose folder does not have their manifests.
func (s *set) older() (names map[string]bool, unknown bool) {
	top, split := s.top(), strings.TrimSuffix(s.prefix, "/")
	if s.manifest == nil || s.manifest.Previous == "" || top.manifest == nil {
		return nil, false
	}
	names = map[string]bool{}
	n := top.manifest.VersionNumber()
	for n--; n > 0; n-- {
		name := index.KeptName(n, split)
		b, err := plan.ReadFile(top.store, name)
		if err != nil {
			break
		}
		m, err := index.DecodeManifest(b)
		if err != nil {
			p := problem.Of(problem.LevelManifest, name, err)
			s.add(p)
			continue
		}
		for i := range m.Shards {
			names[m.Shards[i].Name] = true
			for _, f := range m.Shards[i].Files {
				names[f.Name] = true
			}
		}
		for _, f := range m.Files {
			names[f.Name] = true
		}
	}
	return names, len(names) == 0 && s.root == nil && !changed(top.store)
}
