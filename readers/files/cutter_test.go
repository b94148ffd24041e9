package files

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/walk"
)

// TestNoStemIsInTwoParts: names in either order, cut wherever the cutter allows it. It
// gives up only where a stem is in an earlier part indeed.
func TestNoStemIsInTwoParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	folders := []string{"", "a/", "a-/", "a.b/", "a1/", "a1/b/"}
	cuts, apart := 0, 0
	for range 3000 {
		var list [][]byte
		for range 40 {
			name := []byte(folders[r.IntN(len(folders))])
			for range 1 + r.IntN(5) {
				name = append(name, "a.-01"[r.IntN(5)])
			}
			list = append(list, append(name, 'x')) // no file has the name of a folder, nor is hidden by dots alone
		}
		by, sorted := labels.Stem(r.IntN(3)), r.IntN(2) == 0
		order := walk.ComparePaths
		if sorted {
			order = bytes.Compare
		}
		slices.SortFunc(list, order)
		list = slices.CompactFunc(list, bytes.Equal)
		c := &cutter{by: by, sorted: sorted}
		parts := map[string]int{}   // of stems
		numbers := map[string]int{} // of those that go on behind digits
		part := 0
		for i, name := range list {
			d := bytes.LastIndexByte(name, '/') + 1
			stem := string(name[:d+by.End(name[d:])])
			was, seen := parts[stem]
			begins, err := c.Next(name)
			if err != nil {
				if !errors.Is(err, format.ErrNotInParts) || !seen || was == part {
					t.Fatalf("%q after %q: %v", name, list[:i], err)
				}
				apart++
				break
			}
			if begins == seen || seen && was != part {
				t.Fatalf("stem %v, sorted %v: %q after %q: begins %v, seen %v in part %d of %d", by, sorted, name, list[:i], begins, seen, was, part)
			}
			if begins && r.IntN(3) == 0 {
				c.Begin()
				part++
				cuts++
			}
			parts[stem] = part
			longer := string(name[:d+labels.Number.End(name[d:])])
			if was, seen := numbers[longer]; by == labels.First && seen && was != part {
				t.Fatalf("sorted %v: the stem %q of %q is in part %d and in part %d", sorted, longer, name, was, part)
			}
			numbers[longer] = part
		}
	}
	if cuts < 1000 || apart < 10 {
		t.Errorf("%d cuts, %d times in two parts", cuts, apart)
	}
	t.Logf("%d cuts, %d times in two parts", cuts, apart)
}

// TestOrderOfListsIsChecked: a list that is declared as sorted is sorted, or gives an error.
func TestOrderOfListsIsChecked(t *testing.T) {
	for _, list := range [][]string{{"b", "a"}, {"a", "a"}, {"ab", "a"}, {"a/b", "a-b"}} {
		c := &cutter{sorted: true}
		if _, err := c.Next([]byte(list[0])); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next([]byte(list[1])); !errors.Is(err, format.ErrNotInParts) {
			t.Errorf("%q: %v", list, err)
		}
	}
}
