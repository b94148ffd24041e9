package labels

import (
	"maps"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// TestAgain: what auto has found out among the first inputs is said for further ones; what
// was asked for stays.
func TestAgain(t *testing.T) {
	classes := []shardify.Field{{Name: ClassField, Attrs: map[string]string{"labels": "cat\ndog"}}}
	encoded := []shardify.Field{{Name: ClassField, Attrs: map[string]string{"labels": "cat\ndog", "vocab": "text"}}}
	numbers := []shardify.Field{{Name: ClassField}}
	for _, c := range []struct {
		name   string
		f      func(format.Options, []shardify.Field, bool) format.Options
		o      format.Options
		schema []shardify.Field
		keyed  bool
		want   format.Options
	}{
		{"arrays in folders", Again, nil, classes, true, format.Options{"keys": "path", "labels": "folder"}},
		{"arrays by their files", Again, nil, nil, true, format.Options{"keys": "path"}},
		{"arrays of rows", Again, nil, classes, false, nil},
		{"a table of labels", Again, format.Options{"labels": "a.csv"}, classes, true, format.Options{"keys": "path"}},
		{"files in folders", ClassesAgain, nil, classes, true, format.Options{"labels": "folder"}},
		{"files that are numbered", ClassesAgain, nil, classes, false, format.Options{"labels": "folder"}},
		{"codes of an operation", ClassesAgain, nil, encoded, true, nil},
		{"a field of the same name", ClassesAgain, nil, numbers, true, nil},
	} {
		if got := c.f(c.o, c.schema, c.keyed); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
