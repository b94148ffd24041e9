package sets

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// labelsKey is the attribute with the names of codes.
const labelsKey = "labels"

// unify is the schema of a set that holds the shards of both: the labels of one may
// go on where those of the other end, all else must be equal. Every difference is
// named.
func unify(a, b *Set) ([]shardify.Field, error) {
	x, y := a.Manifest, b.Manifest
	if x.Format != y.Format {
		return nil, mismatch(b.Dir, "format is %s, but %s in %s", y.Format, x.Format, a.Dir)
	}
	if x.Keyed != y.Keyed {
		return nil, mismatch(b.Dir, "keyed is %v, but %v in %s: samples of one have names of their own", y.Keyed, x.Keyed, a.Dir)
	}
	var differ []string
	for i := range y.Schema {
		if shardify.FieldIndex(x.Schema, y.Schema[i].Name) < 0 {
			differ = append(differ, "field "+y.Schema[i].Name+" is not in "+a.Dir)
		}
	}
	out := slices.Clone(x.Schema)
	for i := range out {
		k := shardify.FieldIndex(y.Schema, out[i].Name)
		if k < 0 {
			differ = append(differ, "field "+out[i].Name+" is only in "+a.Dir)
			continue
		}
		if k != i && len(x.Schema) == len(y.Schema) {
			differ = append(differ, "field "+out[i].Name+" is at another position")
			continue
		}
		f, why := unifyField(&out[i], &y.Schema[k])
		if why != "" {
			differ = append(differ, "field "+out[i].Name+": "+why)
		}
		out[i] = f
	}
	if !maps.Equal(x.Members, y.Members) && len(differ) == 0 {
		differ = append(differ, "members of tars are named otherwise")
	}
	if provenance(x) != provenance(y) {
		differ = append(differ, "one was made with --provenance, the other was not")
	}
	if len(differ) > 0 {
		return nil, mismatch(b.Dir, "%s (in %s)", few(differ), a.Dir)
	}
	return out, nil
}

func few(list []string) string {
	const most = 8
	if len(list) > most {
		list = append(slices.Clone(list[:most]), "and more")
	}
	return strings.Join(list, "; ")
}

// unifyField is a field for both, or the reason why none fits both.
func unifyField(a, b *shardify.Field) (shardify.Field, string) {
	x, y := *a, *b
	x.Attrs, y.Attrs = without(a.Attrs), without(b.Attrs)
	if textOf(x) != textOf(y) {
		return *a, textOf(b) + " here, " + textOf(a) + " there"
	}
	la, lb := a.Labels(), b.Labels()
	short, long := la, lb
	if len(la) > len(lb) {
		short, long = lb, la
	}
	if (la == nil) != (lb == nil) {
		return *a, "one of the sets has labels for its codes, the other has none"
	}
	for i := range short {
		if la[i] != lb[i] {
			return *a, "code " + textOf(i) + " is " + textOf(lb[i]) + " here, " + textOf(la[i]) + " there: convert the inputs of both into one set"
		}
	}
	f := *a
	if len(long) != len(la) {
		f.Attrs = maps.Clone(a.Attrs)
		f.Attrs[labelsKey] = strings.Join(long, shardify.LabelSeparator)
	}
	return f, ""
}

// without is attributes without labels.
func without(attrs map[string]string) map[string]string {
	out := maps.Clone(attrs)
	delete(out, labelsKey)
	if len(out) == 0 {
		return nil
	}
	return out
}

// sameSurveys refuses parts whose values mean different things: normalised by other
// statistics. Vocabularies are compared with the labels.
func sameSurveys(where string, a, b []index.Survey) error {
	known := map[string]string{}
	for _, s := range a {
		known[s.What] = s.Result
	}
	for _, s := range b {
		r, ok := known[s.What]
		if strings.HasPrefix(s.What, "the values of ") {
			continue
		}
		if !ok || r != s.Result {
			return mismatch(where, "%s was found to be another: %s here, %s there: convert the inputs of both into one set", s.What, short(s.Result), short(cmp.Or(r, "unknown")))
		}
		delete(known, s.What)
	}
	for what := range known {
		if !strings.HasPrefix(what, "the values of ") {
			return mismatch(where, "%s is not known of it, but of the other set", what)
		}
	}
	return nil
}

func short(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
