package pipeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/settings"
)

// otherInputs are settings that tables of numbers do not have: tests of their own record them.
var otherInputs = []string{"group-rows", "group-rows-per-file", "group-index", "once", "static", "window"}

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
		maybe(func() { s.Range = Range{Lo: r.Int64N(50), Hi: 400 + r.Int64N(200)} })
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
		again := Settings{Recorded: true, Inputs: s.Inputs, Memory: s.Memory, Jobs: 1, Output: filepath.Join(t.TempDir(), "again")}
		if err := again.Restore(m, part); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range settings.Keys {
			k := &settings.Keys[i]
			if (k.Kept == settings.InRecipe || k.Kept == settings.InPlan) && k.Given(&s) {
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
	for i := range settings.Keys {
		k := &settings.Keys[i]
		if (k.Kept == settings.InPlan || k.Kept == settings.InRecipe) && !kept[k.Name] && !slices.Contains(otherInputs, k.Name) {
			t.Errorf("no plan has --%s", k.Name)
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
