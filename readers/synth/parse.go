package synth

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// field is one entry of the schema with what its values follow from.
type field struct {
	shardify.Field
	most    int64 // elements of a list, at most
	inner   int64 // of a list within a list, at most
	seed    uint64
	lengths uint64
}

const (
	defaultMost  = 7
	defaultBytes = 255
	// largest bounds counts and dimensions: more is surely a mistake.
	largest = 1 << 32
)

// parse reads a schema.
func parse(s string) ([]field, error) {
	var fields []field
	for _, part := range splitFields(s) {
		f, err := parseField(strings.TrimSpace(part))
		if err != nil {
			return nil, shardify.Annotate(err, "schema", "", part)
		}
		fields = append(fields, f)
	}
	most := map[string]int64{}
	for _, f := range fields {
		if f.Counter == "" {
			continue
		}
		if n, ok := most[f.Counter]; ok && n != f.most {
			return nil, shardify.Mismatch("field %s: up to %d elements, others @%s up to %d", f.Name, f.most, f.Counter, n)
		}
		most[f.Counter] = f.most
	}
	return fields, shardify.ValidateSchema(schemaOf(fields))
}

func schemaOf(fields []field) []shardify.Field {
	var s []shardify.Field
	for i := range fields {
		s = append(s, fields[i].Field)
	}
	return s
}

// splitFields splits at commas outside brackets.
func splitFields(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	return append(parts, s[from:])
}

func parseField(s string) (field, error) {
	name, rest, ok := strings.Cut(s, ":")
	if !ok {
		return field{}, shardify.Mismatch("want NAME:TYPE")
	}
	f := field{Field: shardify.Field{Name: name}}
	rest, f.Nullable = strings.CutSuffix(rest, "?")
	rest, f.Counter, _ = strings.Cut(rest, "@")
	rest, dims, shaped := strings.Cut(rest, "[")
	if shaped {
		var err error
		if f.Shape, err = parseDims(dims); err != nil {
			return f, err
		}
	}
	typ, most, jagged := strings.Cut(rest, "*")
	if jagged {
		f.Levels = 1
		if most, ok = strings.CutPrefix(most, "*"); ok {
			f.Levels = 2
		}
	}
	var err error
	if f.DType, err = shardify.ParseDType(typ); err != nil {
		if f.DType, f.Media, err = shardify.U8, typ, validMedia(typ); err != nil {
			return f, err
		}
		f.Levels = max(f.Levels, 1)
	}
	return f, f.counts(most)
}

func (f *field) counts(most string) error {
	f.most, f.inner = defaultMost, defaultMost
	if f.Media != "" {
		f.most, f.inner = defaultBytes, 31
	}
	if f.Levels == 2 {
		f.most = defaultMost
	}
	if most == "" {
		return nil
	}
	n, err := strconv.ParseInt(most, 10, 64)
	if err != nil || n < 0 || n > largest {
		return shardify.Mismatch("%q is not a number of elements", most)
	}
	f.most = n
	return nil
}

func parseDims(s string) ([]int, error) {
	s, ok := strings.CutSuffix(s, "]")
	if !ok {
		return nil, shardify.Mismatch("no closing bracket")
	}
	var dims []int
	for d := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(d))
		if err != nil || n < 0 || n > largest {
			return nil, shardify.Mismatch("%q is not a dimension", d)
		}
		dims = append(dims, n)
	}
	return dims, nil
}

func validMedia(s string) error {
	ok := s != "" && s != "image" && len(s) <= 16
	for _, c := range s {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	}
	if !ok {
		return shardify.Mismatch("%q is neither a dtype nor a media type", s)
	}
	return nil
}

// project narrows the fields to the wanted ones.
func project(all []field, columns []string) ([]field, error) {
	if len(columns) == 0 {
		return all, nil
	}
	want := make([]bool, len(all))
	for _, glob := range columns {
		found := false
		for i := range all {
			ok, err := path.Match(glob, all[i].Name)
			if err != nil {
				return nil, shardify.Mismatch("column %q: %v", glob, err)
			}
			if ok || glob == all[i].Name {
				want[i], found = true, true
			}
		}
		if !found {
			return nil, shardify.Mismatch("no field %q", glob)
		}
	}
	i := -1
	return slices.DeleteFunc(all, func(field) bool { i++; return !want[i] }), nil
}
