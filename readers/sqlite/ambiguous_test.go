package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestTheTableOfMostBytesOrADoubt: not the one of most rows; and never one of several parts of
// a set, or one beside which most bytes are left out.
func TestTheTableOfMostBytesOrADoubt(t *testing.T) {
	fill := func(table, values string, n int) string { return fmt.Sprintf(count, n-1, table, values) }
	big := "hex(zeroblob(600))"
	name := made(t, "a.db", "CREATE TABLE images(label INTEGER, x TEXT)", "CREATE TABLE log(at INTEGER)", fill("images", "i, "+big, 200), fill("log", "i", 1000))
	src, err := openWith(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(t, src, 1<<20); len(got["label"]) != 200 {
		t.Errorf("%d rows", len(got["label"]))
	}
	if notes := strings.Join(src.(format.Describer).Describe(), "\n"); !strings.Contains(notes, "table images, the largest of") {
		t.Error(notes)
	}
	src.Close()
	for what, makes := range map[string]struct {
		tables []string
		ways   []string
	}{
		"parts of one set": {[]string{"signal(x TEXT)", fill("signal", big, 200), "background(x TEXT)", fill("background", big, 100)}, []string{"samples of signal, ", "samples of background, "}},
		"less than half": {[]string{"a(p TEXT)", fill("a", big, 100), "b(q TEXT)", fill("b", big, 105), "c(r TEXT)", fill("c", big, 90)},
			[]string{"samples of b, ", "samples of a, ", "samples of c, "}},
	} {
		for i, s := range makes.tables {
			if !strings.HasPrefix(s, "WITH") {
				makes.tables[i] = "CREATE TABLE " + s
			}
		}
		name := made(t, "b.db", makes.tables...)
		t.Run(what, func(t *testing.T) {
			readertest.Ways(t, func(_ []string, o format.Options) (shardify.Source, error) { return openWith(o, name) }, makes.ways...)
		})
	}
}
