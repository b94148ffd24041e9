package verify

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/verify/problem"
)

// What helps with a problem; fix turns it into words.
const (
	fixRepair = "repair" // rebuild the file from the shards
	fixRemake = "remake" // convert the shard again
	fixRemove = "remove"
	// fixCollect deletes what a stopped change of the set has left.
	fixCollect = "collect"
)

// remedies gather what helps, by file, for the command at the end.
type remedies struct {
	rebuild, remake, remove map[string]bool
	collect                 string // the command that removes what a stopped change has left
}

func newRemedies() remedies {
	return remedies{map[string]bool{}, map[string]bool{}, map[string]bool{}, ""}
}

// whole is the set, or the one that it is a split of: splits have no versions of their own.
func (s *set) whole() (string, *index.Manifest) {
	if dir, err := storage.Abs(s.o.Dir); s.o.Dir != "" && err == nil {
		up := storage.Dir(dir)
		b, err := dataset.ReadManifest(context.Background(), storages.Files, storage.Join(up, index.ManifestName))
		if err == nil {
			if m, err := index.DecodeManifest(b); err == nil && m.Splits[filepath.Base(dir)].Digest != "" {
				return up, m
			}
		}
	}
	return s.o.Dir, s.top().manifest
}

// fix says what helps with a problem and remembers it.
func (s *set) fix(p *problem.Problem) string {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	name := s.prefix + p.File
	switch p.Fix {
	case fixRepair:
		s.c.rebuild[name] = true
		return s.o.repairCommand()
	case fixRemake:
		s.c.remake[name] = true
		return s.o.remakeCommand(name)
	case fixCollect:
		if s.c.collect == "" {
			dir, m := s.whole()
			s.c.collect = fmt.Sprintf("shardify gc %s --keep %d", printable.Quote(dir), m.VersionNumber())
		}
		return s.c.collect
	case fixRemove:
		s.c.remove[name] = true
		return s.o.removeCommand("rm -i", name) // it may be the user's
	}
	return p.Fix
}

// rewritten is names of shards that a change of a set has written, and of what belongs to these.
var rewritten = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^shard-[0-9]+-[0-9a-f]{16}[.]`) })

func (o *Options) repairCommand() string {
	c := o.Command
	if c == "" {
		c = "shardify verify"
	}
	return c + " " + printable.Quote(o.Dir) + " --repair"
}

func (o *Options) removeCommand(rm string, names ...string) string {
	words := []string{rm}
	for _, n := range names {
		words = append(words, printable.Quote(filepath.Join(o.Dir, filepath.FromSlash(n))))
	}
	return strings.Join(words, " ")
}

// remakeCommand makes shards again from the inputs. The manifest goes first: a
// folder that has one is left unchanged.
func (o *Options) remakeCommand(names ...string) string {
	if changed(o.Store) {
		return "take it from a copy of the set, or convert its inputs again: parts in " + index.ManifestName + " lists them (its first plan covers only a part)"
	}
	if !o.hasPlan() {
		return "convert the inputs again into a new folder (this one has no plan any more)"
	}
	dir := printable.Quote(o.Dir)
	return o.removeCommand("rm -f", append([]string{index.ManifestName}, names...)...) + " && " + againCommand(dir)
}

func againCommand(dir string) string { return "shardify work " + dir + " && shardify merge " + dir }

// maxNamed is how many files one command names.
const maxNamed = 20

// next is the command that helps most.
func next(c *collector, o *Options) string {
	switch {
	case c.report.State == StateUnfinished && changed(o.Store):
		return "take " + index.ManifestName + " from a copy of the set"
	case len(c.remake) > 0:
		// Other damaged files would be in the way: nothing is overwritten.
		names := slices.Sorted(maps.Keys(c.remake))
		for _, n := range slices.Sorted(maps.Keys(c.rebuild)) {
			if n != index.ManifestName {
				names = append(names, n)
			}
		}
		if len(names) > maxNamed {
			if changed(o.Store) || !o.hasPlan() {
				return o.remakeCommand()
			}
			return fmt.Sprintf("remove %s and the %d damaged files, then %s", index.ManifestName, len(names), againCommand(printable.Quote(o.Dir)))
		}
		return o.remakeCommand(names...)
	case len(c.rebuild) > 0 && !o.Repair:
		return o.repairCommand()
	case c.collect != "":
		return "what a stopped change has left: " + c.collect
	case len(c.remove) > maxNamed:
		return fmt.Sprintf("remove the %d files that do not belong to the data set", len(c.remove))
	case len(c.remove) > 0:
		return "keep what is yours elsewhere: " + o.removeCommand("rm -i", slices.Sorted(maps.Keys(c.remove))...)
	case c.report.State == StateUnfinished && o.hasPlan():
		return againCommand(printable.Quote(o.Dir)) + " (or the same convert command again)"
	case c.report.State == StateUnfinished:
		return "run the same convert command again"
	}
	return ""
}

// hasPlan looks for a plan, which remaking needs.
func (o *Options) hasPlan() bool {
	return !changed(o.Store) && there(o.Store, plan.FileName)
}

func there(s storage.Store, name string) bool {
	b, err := s.Open(name)
	if err != nil {
		return false
	}
	b.Close()
	return true
}

// changed reports whether a set has had versions, or may have had some: its plan is not that of the last one.
func changed(s storage.Store) bool {
	found, err := index.Changed(s)
	return found || err != nil
}

// loadPlan is the plan of the whole set, if it has one.
func loadPlan(s storage.Store) (*plan.Plan, error) {
	if changed(s) {
		return nil, &fs.PathError{Op: "open", Path: plan.FileName, Err: fs.ErrNotExist}
	}
	return plan.Load(s)
}
