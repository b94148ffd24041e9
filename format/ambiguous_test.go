package format

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestDecide(t *testing.T) {
	way := func(name string, bytes int64, kind string) Way {
		return Way{Options: Options{"object": name}, Makes: "rows of " + name, Bytes: bytes, Kind: kind}
	}
	for _, c := range []struct {
		name  string
		ways  []Way
		total int64
		want  string // the object, or the error
	}{
		{"one", []Way{way("a", 10, "")}, 10, "a"},
		{"the largest, wherever it is listed", []Way{way("meta", 1, "m"), way("events", 99, "e")}, 100, "events"},
		{"exactly half", []Way{way("a", 50, ""), way("b", 49, "")}, 100, "a"},
		{"less than half", []Way{way("a", 30, ""), way("b", 49, "")}, 100,
			"several trees, none has half of the bytes: --object b makes rows of b, 49% of the bytes; --object a makes rows of a, 30% of the bytes"},
		{"one with little", []Way{way("/x/*", 3, "")}, 100, "several trees, none has half of the bytes: --object '/x/*' makes rows of /x/*, 3% of the bytes"},
		{"parts of one set", []Way{way("background", 40, "x y"), way("signal", 55, "x y"), way("meta", 5, "")}, 100, "several trees, of the same fields: --object signal makes"},
		{"parts beside the samples", []Way{way("a", 2, "x"), way("b", 3, "x"), way("events", 95, "e")}, 100, "events"},
		{"no bytes", []Way{way("a", 0, ""), way("b", 0, "")}, 0, "a"},
	} {
		w, err := Decide("trees", c.ways, c.total)
		var d *Ambiguous
		switch {
		case err == nil && w.Options["object"] != c.want:
			t.Errorf("%s: takes %v", c.name, w.Options)
		case err != nil && (!errors.As(err, &d) || !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.want) || len(d.Ways) != len(c.ways)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	many := make([]Way, 30)
	for i := range many {
		many[i] = way(string(rune('a'+i)), 1, "")
	}
	var d *Ambiguous
	if _, err := Decide("tables", many, 100); !errors.As(err, &d) || len(d.Ways) != mostWays || !strings.HasSuffix(err.Error(), "; and 22 more") {
		t.Errorf("many: %v", err)
	}
}

// TestWaysAreQuotedForAShell: values with quotes, too.
func TestWaysAreQuotedForAShell(t *testing.T) {
	d := NewAmbiguous("several", []Way{{Options: Options{"object": "it's"}, Makes: "one"}, {Options: Options{"object": "a,b/c"}, Makes: "two"}})
	if want := `several: --object 'it'\''s' makes one; --object a,b/c makes two`; d.Text != want {
		t.Errorf("%s, want %s", d.Text, want)
	}
}
