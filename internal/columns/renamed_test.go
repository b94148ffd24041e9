package columns

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestReservedNames: a field is wanted by the name that it has in the input, and by that
// which it gets.
func TestReservedNames(t *testing.T) {
	for _, c := range []struct {
		pattern    string
		hit, other bool // of ccd#1, and of ccd_1
	}{{"ccd#1", true, false}, {"ccd_1", true, true}, {"!ccd#1", false, true}, {"ccd*", true, true}, {"!!ccd#1", true, true}} {
		w, err := New([]string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if c.pattern[:2] == "!!" {
			c.other = true // helpers alone: all others are wanted
		}
		hit, _ := w.Match("ccd#1")
		other, _ := w.Match("ccd_1")
		if hit != c.hit || other != c.other {
			t.Errorf("%s: %v %v", c.pattern, hit, other)
		}
		notes := strings.Join(w.Renamed([]shardify.Field{{Name: "y"}, {Name: "ccd_1"}}), "\n")
		if strings.Contains(notes, "ccd#1 is named ccd_1") != hit || w.Original("y") != "y" {
			t.Errorf("%s: %q", c.pattern, notes)
		}
	}
}
