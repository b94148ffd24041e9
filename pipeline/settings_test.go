package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
	"go.yaml.in/yaml/v3"
)

func TestRange(t *testing.T) {
	for text, want := range map[string]Range{"3:9": {3, 9}, ":9": {0, 9}, "3:": {3, 0}, ":": {}} {
		var v Range
		if err := v.Set(text); err != nil || v != want {
			t.Errorf("%s: %v %v", text, v, err)
		}
	}
	for _, text := range []string{"", "3", "a:b", "-1:3", "3:3", "9:3", ":0", "1:2:3"} {
		var v Range
		if err := v.Set(text); err == nil {
			t.Errorf("%q was taken as %v", text, v)
		}
	}
}

func TestRecipeMistakesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "line 1: the recipe is empty",
		"- a\n":                          "line 1: want lines",
		"limit: 1\nlimit: 2\n":           "line 2: key \"limit\" is in line 1",
		"limit: 1\n\ncolumns: {a: b}\n":  "line 3: key \"columns\"",
		"limit: [1]\n":                   "line 1: key \"limit\": want one value",
		"limit:\n":                       "line 1: key \"limit\": want one value",
		"columns: [a, [b]]\n":            "line 1: key \"columns\": want a list",
		"limit: 1\ncolumns: [\n":         "line 2",
		"limit: 1\n---\nlimit: 2\n":      "more than one document",
		"columns: &x a\nlimit: *x\n":     "line 2: key \"limit\": want one value",
		"limmit: [1]\n":                  "line 1: unknown key \"limmit\"",
		"limit: 1\nlimmit: 2\n":          "line 2: unknown key \"limmit\"",
		"limit: 1\nrecipe: other.yaml\n": "line 2: unknown key \"recipe\"",
		"columns: x\nlimit: -3\n":        "line 2: limit: \"-3\": want a whole number",
	} {
		var s Settings
		err := s.ReadRecipe(strings.NewReader(text), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzRecipe: no text makes the parser panic or accept what is not a setting, and what is read can be written.
func FuzzRecipe(f *testing.F) {
	f.Add("inputs: [a]\nlimit: 3\n")
	f.Add("a: &x [1]\nb: *x\n")
	f.Add("? [a]\n: b\n")
	f.Add("a: !!binary x\n")
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Settings
		if s.ReadRecipe(strings.NewReader(text), nil) != nil {
			return
		}
		b, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != "{}\n" {
			err = again.ReadRecipe(bytes.NewReader(b), nil)
		}
		for i := range Keys {
			if x, y := Keys[i].Of(&s), Keys[i].Of(&again); x.String() != y.String() {
				t.Fatalf("%q became %q (%v)", x, y, err)
			}
		}
	})
}

func TestOutputThatDoesNotFitNamesBothNumbers(t *testing.T) {
	prepared := func(free int64) *Prepared {
		return &Prepared{Output: "out", Store: local.NewDir(t.TempDir(), local.SyncNone), room: room{"out", host.Space{Bytes: free, Inodes: -1}, nil}, Job: &convert.Job{},
			Plan: &plan.Plan{Pack: plan.Packing{OutputBytes: 3 << 20}, In: plan.Inputs{Table: &format.Table{}}}}
	}
	err := (&Settings{}).space(prepared(1 << 20))
	if err == nil || err.Error() != "the output needs about 3 MiB and 32 inodes in out: out has 1 MiB free, 2 MiB too few" || len(shardify.Hints(err)) == 0 {
		t.Errorf("too little space: %v, hints %q", err, shardify.Hints(err))
	}
	for _, free := range []int64{-1, 3 << 20} {
		if err := (&Settings{}).space(prepared(free)); err != nil {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
	if err := (&Settings{MaxOutput: 1 << 20}).space(prepared(-1)); err == nil || !strings.Contains(err.Error(), "about 3 MiB, --max-output is 1 MiB") {
		t.Errorf("over --max-output: %v", err)
	}
}

// TestWhatDoesNotFitIsNamedAtOnce: bytes and inodes, of the file system and of every
// quota, with what is missing of each.
func TestWhatDoesNotFitIsNamedAtOnce(t *testing.T) {
	r := room{"out", host.Space{Bytes: 2 << 30, Inodes: 10}, []host.Quota{{Of: "user 7", Bytes: 1 << 30, Inodes: -1}, {Of: "project 9", Bytes: -1, Inodes: 20}}}
	err := r.fits(need{what: "the output", bytes: 3 << 30, beside: 1 << 30, inodes: 21})
	for _, w := range []string{"out has 2 GiB free, 2 GiB too few", "out has 10 inodes free, 11 too few", "user 7 has 1 GiB left, 3 GiB too few", "project 9 has 20 inodes left, 1 too few"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in %v", w, err)
		}
	}
	if err := r.fits(need{bytes: 1 << 30, inodes: 10}); err != nil {
		t.Error(err)
	}
	r = room{"out", host.Space{Bytes: -1, Inodes: -1}, nil}
	if err := r.fits(need{bytes: 1 << 60, inodes: 1 << 60}); err != nil {
		t.Error(fmt.Errorf("nothing known: %w", err))
	}
}
