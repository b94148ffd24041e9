package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestLeftoversAreCutForPeople alone: of one reason the first few, with the count.
func TestLeftoversAreCutForPeople(t *testing.T) {
	list := []format.Leftover{{Name: "md", Reason: "no sample", Count: 40}}
	for i := range 50 {
		list = append(list, format.Leftover{Name: fmt.Sprint("r", i), Reason: "a reference"})
	}
	for i := range mostSame {
		list = append(list, format.Leftover{Name: fmt.Sprint("s", i), Reason: "a string"})
	}
	got := Leftovers(list)
	if len(got) != 1+mostSame+mostSame || got[1] != "r0: a reference" || got[mostSame] != "and 31 more: a reference (--json has all names)" || !slices.Contains(got, "s19: a string") {
		t.Errorf("%q", got)
	}
}
