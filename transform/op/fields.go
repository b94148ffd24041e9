package op

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/suggest"
)

// Lookup finds a field, or names the one that was meant.
func Lookup(in []shardify.Field, name string) (int, error) {
	if i := format.FieldNamed(in, name); i >= 0 {
		return i, nil
	}
	known := make([]string, len(in))
	for i := range in {
		known[i] = in[i].Name
	}
	return -1, &format.UnknownField{Name: name, Suggest: suggest.Word(name, known)}
}

// IsCounter reports whether a name means a counter: nJet of NanoAOD is also called Jet.
func IsCounter(counter, name string) bool {
	return counter != "" && (counter == name || counter == "n"+name || counter == "N"+name)
}

// Free refuses a name that a field has already.
func Free(in []shardify.Field, name string) error {
	if shardify.FieldIndex(in, name) >= 0 {
		return fmt.Errorf("there is a field %s already", name)
	}
	return shardify.ValidName(name)
}

// Holds describes the values of a field.
func Holds(f *shardify.Field) string {
	if f.Media != "" {
		return f.Media
	}
	return f.DType.String()
}

// NoNumbers describes the values of a field that has a medium, or belongs to another field.
func NoNumbers(f *shardify.Field) string {
	if f.Media != "" {
		return f.Media
	}
	return "facts about another field"
}
