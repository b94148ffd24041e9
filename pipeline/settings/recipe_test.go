package settings

import (
	"bytes"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"
)

// filled has a value in every field that a recipe knows.
func filled(t *testing.T) Settings {
	t.Helper()
	s := Settings{Options: map[string]string{"labels": "folder", "stem": "last"}}
	for i := range Keys {
		texts := map[string][]string{
			"N": {"3"}, "SIZE": {"64MiB"}, "LO:HI": {"2:9"}, "uint64": {"7"}, "bool": {"true"},
			"string": {"some: text"}, "stringArray": {"a > 1, b", "- c"}, "stringSlice": {"x", "y_*"},
			"fail|skip": {"skip"}, "fail|drop": {"drop"}, "auto|adjacent": {"adjacent"}, "none|block|global": {"global"}, "shard|end|none": {"end"},
		}[Keys[i].Of(&s).Type()]
		if texts == nil {
			t.Fatalf("no text for %s", Keys[i].Name)
		}
		for _, x := range texts {
			if err := Keys[i].Of(&s).Set(x); err != nil {
				t.Fatal(Keys[i].Name, err)
			}
		}
	}
	return s
}

// TestEveryFieldHasAKey: what is not part of a recipe is listed here.
func TestEveryFieldHasAKey(t *testing.T) {
	v := reflect.ValueOf(filled(t))
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch f.Name {
		case "Stdin", "Dry", "Whole", "Recorded", "Splits":
			continue
		}
		if f.IsExported() && v.Field(i).IsZero() {
			t.Errorf("no key sets %s", f.Name)
		}
	}
}

func TestARecipeIsReadAsItWasWritten(t *testing.T) {
	for name, s := range map[string]Settings{"all": filled(t), "sizes": {Inputs: []string{"a", "true", "1e3"}, ShardSize: 1<<20 + 1, Memory: 3<<30 + 7}, "commas": {Columns: []string{"a,b", `"c"`, "d"}, Once: []string{""}}} {
		b, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again Settings
		if err := again.ReadRecipe(bytes.NewReader(b), nil); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, b)
		}
		for i := range Keys { // sets the defaults of words
			Keys[i].Of(&s)
			Keys[i].Of(&again)
		}
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%s: %+v\nbecame %+v\nby\n%s", name, s, again, b)
		}
	}
}
