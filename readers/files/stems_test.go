package files

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/tests/race"
)

// TestStemsWhateverTheOrder: files group as a map of stems groups them, in the
// order of a walk and in any other, over roots that share a folder or do not.
func TestStemsWhateverTheOrder(t *testing.T) {
	race.Sequential(t)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		table := &format.Table{Roots: []string{"/a", "/a/", "/b", ""}[:1+rng.IntN(4)]}
		var files []string
		for range rng.IntN(2000) {
			dir := ""
			for range rng.IntN(3) {
				dir = path.Join(dir, fmt.Sprintf("%c%d", 'x'+rng.IntN(2), rng.IntN(12)))
			}
			f := path.Join(dir, fmt.Sprintf("s%d%s", rng.IntN(300), []string{"", ".jpg", "-m.png", ".seg.png", ".txt"}[rng.IntN(5)]))
			if rng.IntN(20) == 0 || seed%7 == 0 && rng.IntN(2) == 0 {
				f = "/" + f
			}
			if seed%7 == 0 {
				f = path.Join(path.Dir(f), "deep", path.Base(f)) // no file at the top
			}
			files = append(files, f)
		}
		if rng.IntN(3) > 0 {
			slices.SortFunc(files, func(a, b string) int { return walk.ComparePaths([]byte(a), []byte(b)) })
		}
		root := 0
		for i, f := range files {
			if rng.IntN(3) == 0 {
				root = (root + i) % len(table.Roots)
			}
			table.Append(root, f, 1, 1)
		}
		n := labels.NewPaths(table, labels.Stem(seed%3))
		g, err := group(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]uint32{}
		for i := range table.Len() {
			key := fmt.Sprint(n.Roots[table.Root(i)].Space, " ", string(n.Stem(i)))
			k, ok := want[key]
			if !ok {
				k = uint32(len(want))
				want[key] = k
				if int(g.first[k]) != i {
					t.Fatalf("seed %d: sample %d begins with file %d, want %d", seed, k, g.first[k], i)
				}
			}
			if g.of[i] != k {
				t.Fatalf("seed %d: file %d (%s) is of sample %d, want %d", seed, i, key, g.of[i], k)
			}
		}
		if len(g.first) != len(want) {
			t.Fatalf("seed %d: %d samples, want %d", seed, len(g.first), len(want))
		}
	}
}

// TestManyNumbersAreNoExtensions: cat.1.jpg to cat.9999.jpg would have as many extensions.
func TestManyNumbersAreNoExtensions(t *testing.T) {
	tables := []*format.Table{{Roots: []string{t.TempDir()}}, {Roots: []string{t.TempDir()}}}
	for i := range 2 * (exts.Max + 10) {
		tables[i%2].Append(0, fmt.Sprintf("%s.%d.jpg", []string{"cat", "dog"}[i%2], i), 3, 1)
	}
	src := openTable(t, tables[0], nil)
	equal(t, describe(src), []string{"jpg:u8:jpg"})
	if notes := src.(format.Noter).Notes(); len(notes) != 1 || !strings.Contains(notes[0], "as in cat.0") {
		t.Error(notes)
	}
	_, err := Format.Open(t.Context(), format.OpenArgs{Table: tables[0], Options: opts("stem", "first")})
	if err == nil || !strings.Contains(err.Error(), "different extensions") {
		t.Error(err)
	}
	for _, half := range []int{exts.Max + 10, exts.Max/2 + 10} { // too many in a part, and in all
		survey, err := parts.Survey(format.OpenArgs{})
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			part := &format.Table{Roots: table.Roots}
			for i := range half {
				part.Append(0, table.Name(i), 3, 1)
			}
			src, _, err := survey.Add(t.Context(), part)
			if err != nil {
				t.Fatal(half, err)
			}
			equal(t, describe(src), []string{"jpg:u8:jpg"})
			src.Close()
		}
	}
}
