package plan

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// Clear removes what a conversion with this plan may have published, manifest
// first and plan last, and nothing else. output is the plan's. It returns the folders of
// published files, which may be empty now, the innermost first.
func (p *Plan) Clear(s storage.Store, output *format.Output) (folders []string, err error) {
	if err := s.Remove(index.ManifestName); err != nil {
		return nil, err
	}
	var ours []string
	for f, err := range s.List("") {
		if err != nil {
			return nil, err
		}
		if p.owns(f.Name, output) {
			ours = append(ours, f.Name)
		}
	}
	for _, n := range ours {
		if err := s.Remove(n); err != nil {
			return nil, err
		}
		for dir := path.Dir(n); dir != "." && !strings.HasPrefix(n, storage.Private+"/"); dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return strings.Compare(b, a) })
	return slices.Compact(folders), s.Remove(FileName)
}

// owns reports whether a published file is this conversion's.
func (p *Plan) owns(name string, output *format.Output) bool {
	if name == FileName {
		return false // removed last
	}
	if strings.HasPrefix(name, storage.Private+"/") {
		return true
	}
	for _, split := range p.SplitNames() {
		if rest, ok := strings.CutPrefix(name, split+"/"); ok {
			return rest == index.ManifestName || p.ownsInSet(rest, output)
		}
	}
	return p.ownsInSet(name, output)
}

// Makes reports whether a file of the output folder is one that this conversion makes before
// its manifest: a shard or what belongs to it, or in the private folder.
func (p *Plan) Makes(name string, output *format.Output) bool {
	if strings.HasPrefix(name, storage.Private+"/") {
		return true
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(path.Base(name), "shard-"), ".")
	i, err := strconv.Atoi(digits)
	n := len(p.Shards)
	if p.Shuffle == ShuffleGlobal {
		n = p.Gathers
	}
	return p.owns(name, output) && (err == nil && i < n || name == index.StaticName)
}

// ownsInSet is owns for a name below the folder of one data set.
func (p *Plan) ownsInSet(name string, output *format.Output) bool {
	if p.Provenance && name == InputsName || p.Static != nil && name == index.StaticName || output.Owns != nil && output.Owns(name) {
		return true
	}
	return strings.HasPrefix(path.Base(name), "shard-") && strings.HasSuffix(name, p.Ext)
}
