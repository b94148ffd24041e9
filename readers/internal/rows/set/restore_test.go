package set

import (
	"errors"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
)

// TestStateThatBreaksWhatReadersRelyOnIsRefused sets what random damage seldom hits.
func TestStateThatBreaksWhatReadersRelyOnIsRefused(t *testing.T) {
	schema := []shardify.Field{{Name: "x", DType: shardify.F32}, {Name: "j", DType: shardify.I16, Levels: 1}}
	of := Of{Format: "made", Table: &format.Table{Roots: []string{"a"}}}
	of.Table.Append(0, "", 1000, 0)
	column := func(s *Set, i int) *column { return &s.found.Files.mappings[0].columns[i] }
	for name, damage := range map[string]func(s *Set){
		"":                                     func(*Set) {},
		"a missing field that is not nullable": func(s *Set) { column(s, 0).field, column(s, 0).how = -1, missing },
		"too many samples":                     func(s *Set) { s.found.Files.List[0].Samples = rows.MaxSamples + 1 },
		"a shape without a field":              func(s *Set) { column(s, 0).field, column(s, 0).how = -1, shapeOf },
		"a fixed field without a shape":        func(s *Set) { column(s, 1).how = fixed },
		"a type that does not widen":           func(s *Set) { column(s, 0).dtype = shardify.I64 },
		"borders of nothing":                   func(s *Set) { s.found.Files.borders.list[0] = []byte{0, 0, 0} },
		"shapes that no file has":              func(s *Set) { s.found.Files.shapes.list[0] = []byte{1} },
		"an input that is not there":           func(s *Set) { s.found.Files.List[0].Input = 1 },
	} {
		var files Files
		files.Add(File{Samples: 10, Size: 1000, Jagged: 100}, "", 0, []byte{1, 3, 0}, []byte{0, 7}, nil)
		m := NewMapping(schema, []From{{Field: 0, DType: shardify.F32}, {Field: 1, DType: shardify.I16}})
		files.Settle(func(*File, []byte) (*Mapping, []byte) { return m, nil })
		s, err := New(of, Found{Schema: schema, Files: files})
		if err != nil {
			t.Fatal(err)
		}
		damage(s)
		m.key = appendColumns(nil, m.columns)
		state, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(of, state); (err == nil) != (name == "") || err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
