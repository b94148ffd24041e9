package sets

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

const (
	goneMark = "gone-" // begins the names of kept manifests whose version is being deleted
	// changedName stays when older versions are deleted: it says that the plan is not that of the set.
	changedName = index.KeptDir + "/changed"
)

// collect deletes older versions but the latest ones, and the files that these alone need; also shards of
// an edit that did not come to its end. A version is gone before the first of its files is.
func (x *editor) collect(ctx context.Context) error {
	if x.Version < 1 {
		return x.annotate(shardify.Misuse("keep %d versions: want 1 or more", x.Version))
	}
	all, err := x.base.versions()
	if err != nil {
		return err
	}
	stay := map[string]bool{index.ManifestName: true}
	for _, v := range all[:min(x.Version, int64(len(all)))] {
		v.files("", func(name string) { stay[name] = true })
	}
	for _, name := range x.base.splits() {
		stay[path.Join(name, index.ManifestName)] = true
		stay[index.PendingName(x.base.of(name).Manifest.Digest)] = true
	}
	last := x.base.Manifest.VersionNumber() - x.Version
	drop, err := x.drop(last)
	if err != nil {
		return err
	}
	for _, v := range drop {
		v.files(v.Dir, func(name string) {
			if !stay[name] {
				x.old[name] = -1
			}
		})
	}
	for f, err := range x.store.List("") {
		_, named := x.old[f.Name]
		switch {
		case err != nil:
			return err
		case named, !stay[f.Name] && (x.edited(f.Name) || strings.HasPrefix(f.Name, index.KeptDir+"/split-")), listed(f.Name, last), strings.HasPrefix(f.Name, index.KeptDir+"/"+goneMark):
			x.old[f.Name] = f.Size
		}
	}
	maps.DeleteFunc(x.old, func(_ string, size int64) bool { return size < 0 })
	for _, size := range x.old {
		x.Written, x.Bytes = x.Written+1, x.Bytes+size
	}
	if x.Dry || len(x.old) == 0 {
		return nil
	}
	return x.delete(ctx, drop)
}

// listed reports whether a file is the list of inputs of a version up to the last one.
func listed(name string, last int64) bool {
	var n int64
	_, err := fmt.Sscanf(path.Base(name), "%d.jsonl", &n)
	return err == nil && n <= last && name == keptInputs(n)
}

// delete removes what collect has found.
func (x *editor) delete(ctx context.Context, drop map[string]*Set) error {
	if err := storage.WriteFile(ctx, x.store, changedName, []byte("versions were deleted\n")); err != nil {
		return err
	}
	marked := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(drop)) {
		gone := path.Join(index.KeptDir, goneMark+strings.TrimPrefix(path.Base(name), goneMark))
		marked[gone] = true
		if gone == name {
			continue
		}
		if err := storage.WriteFile(ctx, x.store, gone, drop[name].text); err != nil {
			return err
		}
		if err := storage.Flush(ctx, x.store); err != nil {
			return err
		}
		if err := x.store.Remove(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.old)) {
		if marked[name] || drop[name] != nil {
			continue
		}
		if err := x.store.Remove(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(marked)) {
		if err := x.store.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// drop are the kept manifests up to a version, and those that an earlier call left, by name. Each is a Set by
// itself, whose Dir is the split.
func (x *editor) drop(last int64) (map[string]*Set, error) {
	list := map[string]*Set{}
	for name, err := range storage.Names(x.store, index.KeptDir) {
		if err != nil {
			return nil, err
		}
		var n int64
		base := path.Base(name)
		stem := strings.TrimSuffix(strings.TrimPrefix(base, goneMark), ".json")
		number, split, _ := strings.Cut(stem, "-")
		if _, err := fmt.Sscanf(number, "%d", &n); err != nil || !strings.HasSuffix(base, ".json") || n > last && !strings.HasPrefix(base, goneMark) {
			continue
		}
		b, err := plan.ReadFile(x.store, name)
		if err != nil {
			return nil, err
		}
		m, err := index.DecodeManifest(b)
		if err != nil {
			return nil, shardify.Annotate(err, "open", name, "")
		}
		list[name] = &Set{Dir: split, Manifest: m, text: b}
		x.old[name] = int64(len(b))
	}
	return list, nil
}

// files are those that a set consists of beside its manifests, with names below a folder.
func (s *Set) files(dir string, each func(name string)) {
	for name, one := range s.Splits {
		one.files(path.Join(dir, name), each)
	}
	for i := range s.Manifest.Shards {
		each(path.Join(dir, s.Manifest.Shards[i].Name))
		for _, f := range s.Manifest.Shards[i].Files {
			each(path.Join(dir, f.Name))
		}
	}
	for _, f := range s.Manifest.Files {
		each(path.Join(dir, f.Name))
	}
}

// edited reports whether a file is of a shard that an edit has written.
func (x *editor) edited(name string) bool {
	for _, split := range x.base.splits() {
		m := x.base.of(split).Manifest
		rest, ok := strings.CutPrefix(name, split)
		if rest = strings.TrimPrefix(rest, "/"); !ok || strings.HasPrefix(rest, storage.Private) || len(m.Shards) == 0 {
			continue
		}
		stem, ext, _ := cutStem(rest)
		_, want, _ := cutStem(m.Shards[0].Name)
		if numberOf(rest) >= 0 && editStem().MatchString(stem) && strings.HasPrefix(ext, want) {
			return true
		}
	}
	return false
}
