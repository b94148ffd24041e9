package pipeline

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	part := &index.Part{Inputs: index.Inputs{Format: s.From}, Recipe: s.recipe()}
	for i := range Keys {
		if k := &Keys[i]; k.Kept == InPlan && k.given(s) {
			part.Recipe[k.Name] = value.Record(k.Of(s))
		}
	}
	maps.Copy(part.Recipe, s.Options)
	ops := s.operations()
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
		if err := again.restore(m, part); err != nil {
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
			seen[k.Name] = seen[k.Name] || k.given(&s)
			if k.Kept == NotKept {
				if k.given(&again) {
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

// TestPlansRecordWhatKeysSay: the manifest of a plan has each setting that its key says is kept,
// and settings read back from it make the same plan.
func TestPlansRecordWhatKeysSay(t *testing.T) {
	kept := map[string]bool{}
	prepared := func(s Settings) *index.Manifest {
		t.Helper()
		p, err := Prepare(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		m := p.Plan.Manifest()
		return &m
	}
	dir := t.TempDir()
	for _, name := range []string{"one.csv", "two.csv"} {
		var text strings.Builder
		text.WriteString("x,y,g\n")
		for i := range 300 {
			fmt.Fprintf(&text, "%d.5,%d,%d\n", i%7, i, i/30)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 34))
		s := Settings{Inputs: []string{dir}, Output: filepath.Join(t.TempDir(), "out"), Options: map[string]string{}, Memory: 256 << 20, Jobs: 1}
		maybe := func(change func()) bool {
			if r.IntN(2) > 0 {
				return false
			}
			change()
			return true
		}
		if !maybe(func() { s.ShardSamples = 1 + r.Int64N(500) }) {
			maybe(func() { s.ShardSize = 1<<12 + r.Int64N(1<<20) })
		}
		maybe(func() { s.Columns = strings.Fields([]string{"x y g", "?"}[r.IntN(2)]) })
		maybe(func() { s.Limit = 200 + r.Int64N(500) })
		maybe(func() { s.Range = Range{r.Int64N(50), 400 + r.Int64N(200)} })
		maybe(func() { s.OnError = "skip" })
		maybe(func() { s.Where = []string{"x > 0.25"} })
		maybe(func() { s.Define = []string{"z=x*2", "w=g+1"} })
		maybe(func() { s.Cast = []string{"x=f16"} })
		maybe(func() { s.Rename = []string{"gg=y"} })
		maybe(func() { s.Copies = 1 + r.IntN(3) })
		maybe(func() { s.Provenance = true })
		random := maybe(func() { s.Shuffle = []string{"block", "global"}[r.IntN(2)] })
		splits := []string{"train=0.8,val=0.2", "a=0.9,b=0.1", "a=0.5,b=0.25,c=0.25"}
		if maybe(func() { s.Split, random = splits[r.IntN(3)], true }) {
			switch r.IntN(4) {
			case 0:
				s.Identity = []string{"y", "x"}
			case 1:
				s.Stratify = "g"
			case 2:
				s.GroupBy = "g"
			}
		} else {
			maybe(func() { s.SplitFrom = "a=one*,b=two*" })
		}
		if random {
			s.Seed = r.Uint64()
		}
		m := prepared(s)
		part := &m.AsParts()[0]
		again := Settings{recorded: true, Inputs: s.Inputs, Memory: s.Memory, Jobs: 1, Output: filepath.Join(t.TempDir(), "again")}
		if err := again.restore(m, part); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range Keys {
			k := &Keys[i]
			if (k.Kept == InRecipe || k.Kept == InPlan) && k.given(&s) {
				kept[k.Name] = true
				if part.Recipe[k.Name] != value.Record(k.Of(&s)) {
					t.Errorf("seed %d: --%s %s is recorded as %q", seed, k.Name, k.Of(&s), part.Recipe[k.Name])
				}
			}
		}
		n := prepared(again)
		if !reflect.DeepEqual(m.Recipe, n.Recipe) || !reflect.DeepEqual(m.Operations, n.Operations) || m.Inputs.Digest != n.Inputs.Digest || !reflect.DeepEqual(m.Schema, n.Schema) {
			t.Errorf("seed %d: %+v\nbecame %+v", seed, m, n)
		}
	}
	for i := range Keys {
		if k := &Keys[i]; k.Kept == InPlan && !kept[k.Name] {
			t.Errorf("no plan has --%s", k.Name)
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

// TestNamesWithCommasAreReadBack: a set with the field a,b is extended by its name.
func TestNamesWithCommasAreReadBack(t *testing.T) {
	dir := t.TempDir()
	in, more, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "more.csv"), filepath.Join(dir, "out")
	for name, text := range map[string]string{in: "a,\"a,b\",\"say \"\"c\"\"\",d\n1,2,3,4\n5,6,7,8\n", more: "a,\"a,b\",\"say \"\"c\"\"\",d\n9,8,7,6\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := Settings{Inputs: []string{in}, Output: out, Columns: []string{"a,b", "a", `say "c"`}, Split: "all=1", Identity: []string{"a,b"}, Sync: "none"}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r, err := Extend(t.Context(), out, Settings{Inputs: []string{more}, Sync: "none"}, false)
	if err != nil || r.Manifest.Samples != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if last := r.Manifest.AsParts()[1].Recipe; last["columns"] != `"a,b",a,"say ""c"""` || last["identity"] != `"a,b"` {
		t.Errorf("recorded as %q", last)
	}
}
