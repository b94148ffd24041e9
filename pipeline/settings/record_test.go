package settings

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

// randomWord is text with separators, quotes and blanks.
func randomWord(r *rand.Rand) string {
	parts := []string{"x", "y_*", "Größe", "a b", ",", `"`, "!", "=", "0.5", " ", "'", "\\", ";"}
	out := parts[r.IntN(2)]
	for range r.IntN(4) {
		out += parts[r.IntN(len(parts))]
	}
	return strings.TrimSpace(out)
}

// randomSettings has a random value in about half of all settings.
func randomSettings(t *testing.T, r *rand.Rand) Settings {
	var s Settings
	for i := range Keys {
		if r.IntN(2) > 0 {
			continue
		}
		k := &Keys[i]
		v := k.Of(&s)
		switch p := v.(type) {
		case *value.List: // as the Go API takes it
			for range 1 + r.IntN(3) {
				*p = append(*p, randomWord(r))
			}
			continue
		case *value.Texts:
			for range 1 + r.IntN(3) {
				*p = append(*p, randomWord(r))
			}
			continue
		}
		lo := r.Int64N(1000)
		text, ok := map[string]string{
			"N": strconv.Itoa(1 + r.IntN(1000)), "SIZE": fmt.Sprint(1<<20 + r.Int64N(1<<40)), "LO:HI": fmt.Sprintf("%d:%d", lo, lo+1+r.Int64N(9)),
			"uint64": fmt.Sprint(r.Uint64()), "bool": "true", "string": randomWord(r),
		}[v.Type()]
		if choices := strings.Split(v.Type(), "|"); !ok && len(choices) > 1 {
			text, ok = choices[r.IntN(len(choices))], true
		}
		if !ok {
			t.Fatalf("%s: no text for %s", k.Name, v.Type())
		}
		if err := v.Set(text); err != nil {
			t.Fatal(k.Name, err)
		}
	}
	src, sink := readers.Formats[r.IntN(len(readers.Formats))], writers.Formats[r.IntN(len(writers.Formats))]
	s.From, s.Format, s.Options = src.Name, sink.Name, map[string]string{}
	for _, o := range slices.Concat(src.Options, sink.Options) {
		text := randomWord(r)
		if len(o.Values) > 0 {
			text = o.Values[r.IntN(len(o.Values))]
		}
		if text != o.Default && r.IntN(2) > 0 {
			s.Options[o.Name] = text
		}
	}
	return s
}

// recorded is what the manifest of a set has of settings. TestPlansRecordWhatKeysSay checks that
// plans write the keys InPlan in this way.
func recorded(s *Settings) (*index.Manifest, *index.Part) {
	part := &index.Part{Inputs: index.Inputs{Format: s.From}, Recipe: s.Recipe()}
	for i := range Keys {
		if k := &Keys[i]; k.Kept == InPlan && k.Given(s) {
			part.Recipe[k.Name] = value.Record(k.Of(s))
		}
	}
	maps.Copy(part.Recipe, s.Options)
	ops := s.Operations()
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		part.Operations = append(part.Operations, index.Operation{Op: name, Text: strings.Join(ops[name], "\n")})
	}
	return &index.Manifest{Format: s.Format}, part
}

// TestSettingsAreReadBackAsTheyWereRecorded, whatever they are: settings, record, settings, record.
func TestSettingsAreReadBackAsTheyWereRecorded(t *testing.T) {
	seeds, seen := uint64(300), map[string]bool{}
	if !testing.Short() {
		seeds = 3000
	}
	for seed := range seeds {
		s, again := randomSettings(t, rand.New(rand.NewPCG(seed, 33))), Settings{}
		m, part := recorded(&s)
		if err := again.Restore(m, part); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		src, _ := readers.Lookup(s.From)
		if src.Again != nil { // adds options by the fields of the set
			maps.DeleteFunc(again.Options, func(name, _ string) bool { return s.Options[name] == "" })
		}
		if _, p := recorded(&again); !reflect.DeepEqual(p, part) {
			t.Fatalf("seed %d: the record %+v\nbecame %+v", seed, part, p)
		}
		if s.CheckImages {
			s.Augment, s.CheckImages = slices.Insert(slices.Clone(s.Augment), 0, "check"), false
		}
		for i := range Keys {
			k := &Keys[i]
			seen[k.Name] = seen[k.Name] || k.Given(&s)
			if k.Kept == NotKept {
				if k.Given(&again) {
					t.Fatalf("seed %d: %s is not kept and became %q", seed, k.Name, k.Of(&again))
				}
			} else if a, b := k.Of(&s), k.Of(&again); !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d: %s is %#v and became %#v", seed, k.Name, a, b)
			}
		}
		if !maps.Equal(s.Options, again.Options) {
			t.Fatalf("seed %d: options %q became %q", seed, s.Options, again.Options)
		}
	}
	for i := range Keys {
		if name := Keys[i].Name; !seen[name] && name != "check-images" {
			t.Errorf("no seed gave --%s", name)
		}
	}
}

// TestOptionsAndSettingsHaveDifferentNames: both are keys of recipes.
func TestOptionsAndSettingsHaveDifferentNames(t *testing.T) {
	all := []format.Option{}
	for i := range readers.Formats {
		all = append(all, readers.Formats[i].Options...)
	}
	for i := range writers.Formats {
		all = append(all, writers.Formats[i].Options...)
	}
	for i := range all {
		if Lookup(all[i].Name) != nil {
			t.Errorf("%s is a setting and an option", all[i].Name)
		}
	}
}
