package labels

import (
	"maps"
	"testing"

	"github.com/shardify/shardify"
)

// TestAgain: what auto has found out among the first inputs is said for further ones; what
// was asked for stays.
func TestAgain(t *testing.T) {
	classes := []shardify.Field{{Name: ClassField, Attrs: map[string]string{"labels": "cat\ndog"}}}
	numbers := []shardify.Field{{Name: ClassField}}
	for _, c := range []struct {
		name   string
		f      func(shardify.Options, []shardify.Field, bool) shardify.Options
		o      shardify.Options
		schema []shardify.Field
		keyed  bool
		want   shardify.Options
	}{
		{"arrays in folders", Again, nil, classes, true, shardify.Options{"keys": "path", "labels": "folder"}},
		{"arrays by their files", Again, nil, nil, true, shardify.Options{"keys": "path"}},
		{"arrays of rows", Again, nil, classes, false, nil},
		{"a table of labels", Again, shardify.Options{"labels": "a.csv"}, classes, true, shardify.Options{"keys": "path"}},
		{"files in folders", ClassesAgain, nil, classes, true, shardify.Options{"labels": "folder"}},
		{"files that are numbered", ClassesAgain, nil, classes, false, shardify.Options{"labels": "folder"}},
		{"a field of the same name", ClassesAgain, nil, numbers, true, nil},
	} {
		if got := c.f(c.o, c.schema, c.keyed); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
