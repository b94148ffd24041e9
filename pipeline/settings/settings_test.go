package settings

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
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
