package dataset

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/columns"
)

// NoField is the error about fields that an option names and that are not there.
func NoField(option string, all []shardify.Field, names ...string) error {
	var there []string
	for i := range all {
		if !shardify.Companion(all, i) {
			there = append(there, all[i].Name)
		}
	}
	return fmt.Errorf("%s: %w", option, columns.NotFound(names, there))
}

// owner is the field that a companion belongs to.
func owner(companion string) string {
	return strings.TrimSuffix(strings.TrimSuffix(companion, shardify.ShapeSuffix), shardify.ExtSuffix)
}

// Project keeps the fields that match one of the globs, with their companions, and returns
// their places among all. No globs keep everything.
func Project(all []shardify.Field, globs []string) (fields []shardify.Field, places []int, err error) {
	choice, err := columns.New(globs)
	if err != nil {
		return nil, nil, err
	}
	want := make([]bool, len(all))
	for i := range all {
		want[i], _ = choice.Match(all[i].Name)
		want[i] = want[i] && !(shardify.Companion(all, i) && choice.Excluded(owner(all[i].Name)))
	}
	if left := choice.Unmatched(); len(left) > 0 {
		return nil, nil, NoField("columns", all, left...)
	}
	for i := range all {
		if !want[i] {
			continue
		}
		if j := shardify.FieldIndex(all, all[i].Name+shardify.ShapeSuffix); j >= 0 && all[i].Ragged {
			want[j] = true
		}
		if j := shardify.FieldIndex(all, all[i].Name+shardify.ExtSuffix); j >= 0 && all[i].Media == "image" {
			want[j] = true
		}
	}
	for i := range all {
		if want[i] {
			fields, places = append(fields, all[i]), append(places, i)
		}
	}
	return fields, places, nil
}

// GlobOf is a glob that matches one name only.
func GlobOf(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// Alike is what two fields must have in common to be the same one in several sets. The codes of
// file extensions mean nothing without their labels.
func Alike(f *shardify.Field) string {
	x := *f
	x.Attrs = nil
	if strings.HasSuffix(x.Name, shardify.ExtSuffix) {
		x.Attrs = map[string]string{"labels": f.Attrs["labels"]}
	}
	b, _ := json.Marshal(x)
	return string(b)
}
