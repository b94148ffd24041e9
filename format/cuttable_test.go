package format

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

var tables = []*Input{
	{Name: "csv", Options: []Option{{Name: "csv", Settings: []string{"sep", "header", "types"}}, {Name: "rows"}}},
	{Name: "parquet", Options: []Option{{Name: "types-as"}}},
}

func TestTableWithOptionsOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		text, name string
		own        []string
		want       Options
	}{
		{"a.csv", "a.csv", nil, Options{}},
		{"a b.csv sep=| header=none", "a b.csv", []string{"sep=|", "header=none"}, Options{"csv": "sep=|,header=none"}},
		{"a.csv  sep=, rows=named", "a.csv", []string{"sep=,", "rows=named"}, Options{"csv": "sep=,", "rows": "named"}},
		{"k=1 x=2.csv", "k=1 x=2.csv", nil, Options{}}, // names of files, not options
		{"a.csv csv=sep=|", "a.csv", []string{"csv=sep=|"}, Options{"csv": "sep=|"}},
	} {
		name, own := CutTable(c.text, tables)
		if name != c.name || !slices.Equal(own, c.own) {
			t.Errorf("%q: %q and %q", c.text, name, own)
		}
		if got, err := tables[0].TableOptions(own); err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
	for _, own := range [][]string{{"rows=a", "rows=b"}, {"types-as=x"}} {
		if _, err := tables[0].TableOptions(own); !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%q: %v", own, err)
		}
	}
}

func TestTableErrorAdvisesOptionsOfTheTable(t *testing.T) {
	err := shardify.Misuse("it seems to be separated by '|'; say so with --csv sep=pipe")
	got := tables[0].TableError(err, "labels", "m.csv header=none")
	if want := "it seems to be separated by '|'; say so with --labels 'm.csv header=none sep=pipe'"; !strings.HasPrefix(got.Error(), want+":") || !errors.Is(got, shardify.ErrUsage) {
		t.Errorf("%v", got)
	}
	err = shardify.Misuse("--csv header=none names the columns c0, c1, ...; --csv types=a:i64? lets cells be empty")
	if got := tables[0].TableError(err, "join", "m.csv").Error(); !strings.HasPrefix(got, "--join 'm.csv header=none' names the columns c0, c1, ...; --join 'm.csv types=a:i64?' lets cells be empty:") {
		t.Error(got)
	}
	if plain := shardify.Misuse("--csv wide: no"); tables[0].TableError(plain, "join", "m.csv") != error(plain) || tables[0].TableError(nil, "", "") != nil {
		t.Error("an error without advice is another one")
	}
}
