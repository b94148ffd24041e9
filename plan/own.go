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
func Clear(p *Plan, s storage.Store, output *format.Output) (folders []string, err error) {
	if err := s.Remove(index.ManifestName); err != nil {
		return nil, err
	}
	var ours []string
	for f, err := range s.List("") {
		if err != nil {
			return nil, err
		}
		if owns(p, f.Name, output) {
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
func owns(p *Plan, name string, output *format.Output) bool {
	if name == FileName {
		return false // removed last
	}
	if strings.HasPrefix(name, storage.Private+"/") {
		return true
	}
	for _, split := range p.Splits.Names() {
		if rest, ok := strings.CutPrefix(name, split+"/"); ok {
			return rest == index.ManifestName || ownsInSet(p, rest, output)
		}
	}
	return ownsInSet(p, name, output)
}

// Makes reports whether a file of the output folder is one that this conversion makes before
// its manifest: a shard or what belongs to it, or in the private folder.
func Makes(p *Plan, name string, output *format.Output) bool {
	if strings.HasPrefix(name, storage.Private+"/") {
		return true
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(path.Base(name), "shard-"), ".")
	i, err := strconv.Atoi(digits)
	n := len(p.Pack.Shards)
	if p.Order.Shuffle == ShuffleGlobal {
		n = p.Order.Gathers
	}
	return owns(p, name, output) && (err == nil && i < n || name == index.StaticName)
}

// ownsInSet is owns for a name below the folder of one data set.
func ownsInSet(p *Plan, name string, output *format.Output) bool {
	if p.Asked.Provenance && name == index.InputsName || p.Asked.Static != nil && name == index.StaticName || output.Owns != nil && output.Owns(name) {
		return true
	}
	return strings.HasPrefix(path.Base(name), "shard-") && strings.HasSuffix(name, p.Out.Ext)
}
