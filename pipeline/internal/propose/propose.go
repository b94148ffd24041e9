// Package propose finds settings that many people want for inputs like those at hand: a
// convention of names says what no setting has said yet. Nothing is read but names and the schema.
//
//	for _, p := range propose.For(src, table) {
//		fmt.Println(p.Why, p.Settings) // classes in the names of files: cat, dog  map[define:cls=...]
//	}
package propose

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage/walk"
)

// again is between the values of a setting that is given several times.
const again = "\n"

// Proposal is settings by the names of their flags, and what speaks for them. A flag that is given
// several times has a value a line.
type Proposal struct {
	Settings format.Options
	Why      string
	// Options: all settings are options of the input format.
	Options bool
	// Unless are settings that say what the inputs are, as the proposal does.
	Unless []string
	// Other: what the inputs say is lost without these settings.
	Other bool
	// Without are columns that say what the samples have already: names of their other files.
	Without []string
	// Missing are values of --missing, of which the first is meant with which the inputs can be read.
	Missing []string
}

// Look is what is proposed for a source and its inputs by their names, by the first rows of tables beside
// them, and by what some of the files hold. labelled: there is a table already.
func Look(ctx context.Context, src shardify.Source, t *format.Table, labelled bool) []Proposal {
	out := For(src, t)
	if labelled {
		out = slices.DeleteFunc(out, func(p Proposal) bool { return slices.Contains(p.Unless, "labels") })
	}
	if _, files := src.(format.Owner); !files || len(t.Roots) != 1 || t.Len() == 0 {
		if p := annotations(ctx, src, t); !files && p != nil && strings.HasSuffix(p.Settings["parse"], inTexts) {
			out = append(out, *p)
		}
		return out
	}
	if !labelled {
		out = append(append(out, cocoFiles(ctx, t)...), tables(ctx, src, t)...)
	}
	parse := annotations(ctx, src, t)
	if parse != nil {
		out = append(out, *parse)
	}
	if p := splitLists(ctx, src, t); p != nil {
		if parse != nil {
			maps.Copy(p.Settings, parse.Settings)
		}
		out = append(out, *p)
	}
	return out
}

// Flags are the settings as flags.
func (p *Proposal) Flags() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		for v := range strings.SplitSeq(p.Settings[name], again) {
			out = append(out, "--"+name+" "+printable.Quote(v))
		}
	}
	return strings.Join(out, " ")
}

// maxClasses bounds the classes that names of files are taken for.
const maxClasses = 100

// For is what is proposed for a source and its inputs.
func For(src shardify.Source, t *format.Table) (out []Proposal) {
	if len(t.Roots) == 1 {
		if p := splitFolders(src, t); p != nil {
			out = append(out, *p)
		}
		if p := classNames(src, t); p != nil {
			out = append(out, *p)
		}
		if p := ends(src, t); p != nil {
			out = append(out, *p)
		}
		if p := arrayFiles(src, t); p != nil {
			out = append(out, *p)
		}
	}
	if p := eventNumbers(src); p != nil {
		out = append(out, *p)
	}
	return out
}

// paths gives the parts of all names of inputs.
func paths(t *format.Table, f func(parts []string) bool) bool {
	for i := range t.Len() {
		if !f(strings.Split(string(t.NameBytes(i)), "/")) {
			return false
		}
	}
	return t.Len() > 0
}

// splitFolders are folders of splits below those of classes: cat/train/1.jpg.
func splitFolders(src shardify.Source, t *format.Table) *Proposal {
	schema := src.Schema()
	if _, files := src.(format.Owner); !files || shardify.FieldIndex(schema, "cls") < 0 {
		return nil
	}
	found := map[string]bool{}
	below := func(parts []string) bool {
		if len(parts) < 3 || walk.IsSplit(parts[0]) || !walk.IsSplit(parts[1]) {
			return false
		}
		found[parts[1]] = true
		return true
	}
	if !paths(t, below) || len(found) < 2 {
		return nil
	}
	var rules []string
	names := slices.Sorted(maps.Keys(found))
	for _, n := range names {
		rules = append(rules, fmt.Sprintf("%s=path(1) == %q", strings.ToLower(n), n))
	}
	return &Proposal{Other: true, Unless: []string{"split-from"}, Settings: format.Options{"split": strings.Join(rules, "; ")},
		Why: "the folders " + strings.Join(names, ", ") + " below those of the classes are named like splits"}
}

// named is a word, what ends it, and a number: cat.123, great_pyrenees_12.
var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z](?:[A-Za-z_-]*[A-Za-z])?)[._ -]?[0-9]+\.[A-Za-z0-9]+$`)
})

// classNames are classes in the names of images: cat.1.jpg, dog.1.jpg.
func classNames(src shardify.Source, t *format.Table) *Proposal {
	schema := src.Schema()
	image := slices.ContainsFunc(schema, func(f shardify.Field) bool { return filekind.IsImage(f.Media) })
	if _, files := src.(format.Owner); !files || !image || shardify.FieldIndex(schema, "cls") >= 0 {
		return nil
	}
	found, pattern := map[string]int{}, "^[a-z]+"
	all := paths(t, func(parts []string) bool {
		m := named().FindStringSubmatch(parts[len(parts)-1])
		if m == nil {
			return false
		}
		switch {
		case strings.ContainsAny(m[1], "_-"):
			pattern = "^[A-Za-z_-]*[A-Za-z]"
		case strings.ToLower(m[1]) != m[1] && pattern == "^[a-z]+":
			pattern = "^[A-Za-z]+"
		}
		found[m[1]]++
		return len(found) <= maxClasses
	})
	if !all || len(found) < 2 {
		return nil
	}
	for name, n := range found {
		if n < 2 || walk.IsSplit(name) {
			return nil
		}
	}
	names := slices.Sorted(maps.Keys(found))
	return &Proposal{Other: true, Unless: []string{"set", "join", "labels"}, Settings: format.Options{"define": fmt.Sprintf("cls=regex(stem(key), %q)", pattern), "encode": "cls"},
		Why: "the names of the files begin with " + some(names) + ", as classes do"}
}

// arrayFiles are files of arrays in folders, of which each may be a sample.
func arrayFiles(src shardify.Source, t *format.Table) *Proposal {
	a, ok := src.(format.Arrayed)
	if !ok || a.ByFile() {
		return nil
	}
	found := map[string]int{}
	all := paths(t, func(parts []string) bool {
		if len(parts) > 1 {
			found[parts[0]]++
		}
		return len(parts) > 1 && len(found) <= maxClasses
	})
	names := slices.Sorted(maps.Keys(found))
	if !all || len(found) < 2 || t.Len() < 2*len(found) || walk.OnlySplits(slices.Values(names)) {
		return nil
	}
	return &Proposal{Options: true, Other: true, Settings: format.Options{"sample": "file"},
		Why: "the files are in the folders " + some(names) + ", as samples in those of their classes are"}
}

// eventNumbers is a field that numbers events: splits by it are the same for all that know it.
func eventNumbers(src shardify.Source) *Proposal {
	for _, f := range src.Schema() {
		switch strings.ToLower(strings.ReplaceAll(f.Name, "_", "")) {
		case "event", "eventnumber", "evt", "evtnum":
		default:
			continue
		}
		if f.Levels == 0 && len(f.Shape) == 0 && f.DType.IsInt() && f.Labels() == nil && !strings.ContainsAny(f.Name, ".@ ") {
			return &Proposal{Settings: format.Options{"split": fmt.Sprintf("val=%s %% 5 == 0; train=rest", f.Name)},
				Why: "field " + f.Name + " has the numbers of events, by which they are often shared"}
		}
	}
	return nil
}

// some names the first of a list.
func some(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
