package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// Difference is a field that is not the same in all inputs.
type Difference struct {
	Field string `json:"field"`
	Type  string `json:"type"` // "f32 [8]", or "missing"
	Files int64  `json:"files"`
	// Examples are up to three of the files.
	Examples []string `json:"examples"`
}

// variant is a field as some of the files have it.
type variant struct {
	typ   string
	field Field
	files []string
}

// merger collects the fields of inputs that were opened one by one.
type merger struct {
	paths   map[string][]string // of files, by what fields they have
	names   []string            // of files
	order   []string            // of fields, as first met
	byField map[string][]variant
}

func (m *merger) add(file, path string, fields []Field) {
	m.names = append(m.names, file)
	var all []string
	for _, f := range fields {
		all = append(all, f.Name+" "+TypeOf(&f.Field))
	}
	slices.Sort(all)
	layout := strings.Join(all, "\n")
	m.paths[layout] = append(m.paths[layout], path)
	for _, f := range fields {
		list, known := m.byField[f.Name]
		if !known {
			m.order = append(m.order, f.Name)
		}
		typ := TypeOf(&f.Field)
		i := slices.IndexFunc(list, func(v variant) bool { return v.typ == typ })
		if i < 0 {
			list, i = append(list, variant{typ: typ, field: Field{Field: f.Field, SampleBytes: f.SampleBytes}}), len(list)
		}
		v := &list[i]
		v.files = append(v.files, file)
		v.field.Bytes = sum(v.field.Bytes, f.Bytes)
		m.byField[f.Name] = list
	}
}

// alike are the files whose fields are the same, the most first: those lists that a command
// can name.
func (m *merger) alike() (lists [][]string) {
	const mostLists, mostFiles = 8, 32
	for _, paths := range m.paths {
		if len(paths) <= mostFiles {
			lists = append(lists, paths)
		}
	}
	slices.SortFunc(lists, func(a, b []string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0], b[0]))
	})
	return lists[:min(len(lists), mostLists)]
}

func sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// result is the merged table, and how the files differ.
func (m *merger) result() (fields []Field, diff []Difference) {
	for _, name := range m.order {
		list := m.byField[name]
		slices.SortStableFunc(list, func(a, b variant) int { return cmp.Compare(len(b.files), len(a.files)) })
		have := map[string]bool{}
		for i := range list {
			f := list[i].field
			if len(list[i].files) < len(m.names) {
				f.Files = int64(len(list[i].files))
				diff = append(diff, difference(name, list[i].typ, list[i].files))
			}
			fields = append(fields, f)
			for _, n := range list[i].files {
				have[n] = true
			}
		}
		var missing []string
		for _, n := range m.names {
			if !have[n] {
				missing = append(missing, n)
			}
		}
		if missing != nil {
			diff = append(diff, difference(name, "missing", missing))
		}
	}
	return fields, diff
}

func difference(field, typ string, files []string) Difference {
	return Difference{Field: field, Type: typ, Files: int64(len(files)), Examples: files[:min(len(files), 3)]}
}

// TypeOf writes a field's type: "f32 [8]", "txt", "list of i64", "u8 [3] ragged".
func TypeOf(f *shardify.Field) string {
	s := f.DType.String()
	if f.Media != "" {
		s = f.Media
	}
	if len(f.Shape) > 0 {
		s += " " + strings.ReplaceAll(fmt.Sprint(f.Shape), " ", ", ")
	}
	levels := f.Levels
	if f.Media != "" {
		levels--
	}
	if f.Ragged {
		return s + " ragged"
	}
	for range levels {
		s = "list of " + s
	}
	if f.Nullable {
		s += " or nothing"
	}
	return s
}
