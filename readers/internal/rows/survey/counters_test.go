package survey_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// TestListsAlikeShareACounter: only those that are alike in every file, in any order.
func TestListsAlikeShareACounter(t *testing.T) {
	list := func(name, class string) survey.Field {
		return survey.Field{Field: shardify.Field{Name: name, DType: shardify.F32, Levels: 1, Counter: "n" + name}, Bytes: 8, LengthClass: class}
	}
	files := map[string][]survey.Field{
		"a": {list("x", "1"), list("y", "1"), list("z", "1"), list("p", "2"), list("q", "2"), list("r", "")},
		"b": {list("x", "7"), list("y", "7"), list("z", "8"), list("p", "7"), list("q", "7"), list("r", "")},
		"c": {list("q", "u"), list("x", "v"), list("y", "v"), list("z", "v"), list("p", "u"), list("r", "")},
		"d": {list("x", "1"), list("y", ""), list("z", "1"), list("p", "2"), list("q", "2"), list("r", "")},
	}
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{"a"}, "[p:np q:np r:nr x:nx y:nx z:nx]"},
		{[]string{"a", "b"}, "[p:np q:np r:nr x:nx y:nx z:nz]"},
		{[]string{"b", "a"}, "[p:np q:np r:nr x:nx y:nx z:nz]"},
		{[]string{"a", "c", "a"}, "[p:np q:np r:nr x:nx y:nx z:nx]"},
		{[]string{"c", "b"}, "[p:nq q:nq r:nr x:nx y:nx z:nz]"},
		{[]string{"a", "d"}, "[p:np q:np r:nr x:nx y:ny z:nx]"},
	} {
		table := &format.Table{}
		for i, name := range c.in {
			table.Roots = append(table.Roots, name)
			table.Append(i, "", format.SizeUnknown, 0)
		}
		s, err := survey.Open(context.Background(), format.OpenArgs{Table: table, Jobs: 2}, survey.Format{Name: "T", Look: func(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
			return &survey.Facts{Samples: 2, Size: 1, Fields: files[path], Borders: set.Borders{Every: 1}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range s.Schema() {
			got = append(got, f.Name+":"+f.Counter)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v: %v, want %s", c.in, got, c.want)
		}
	}
}
