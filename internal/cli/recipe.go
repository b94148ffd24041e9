package cli

import (
	"errors"
	"fmt"
	"github.com/shardify/shardify/transform"
	"io"
	"os"
	"strings"

	"github.com/shardify/shardify/internal/suggest"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Recipe is a command line in a file: keys are flag names, and inputs and
// output.
//
//	inputs: [train.npz]
//	output: out
//	columns: [x, y]
//	shard-size: 256MiB
type Recipe struct {
	Inputs []string
	values []setting
}

type setting struct {
	key   string
	words []string
	line  int
	err   error // of its value
}

// list tells keys that may have several values.
func list(key string) bool { return key == "inputs" || key == "columns" || transform.Lists(key) }

// LoadRecipe reads a recipe.
func LoadRecipe(name string) (*Recipe, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ParseRecipe(f)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return r, nil
}

// ParseRecipe reads a recipe. Errors begin with the line.
func ParseRecipe(f io.Reader) (*Recipe, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(io.LimitReader(f, 1<<20))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, Usage("line 1: the recipe is empty")
	} else if err != nil {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		if !strings.HasPrefix(text, "line ") {
			text = "is not YAML: " + text
		}
		return nil, Usage("%s", text)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, Usage("line 1: more than one document")
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, Usage("line %d: want lines of the form \"flag: value\"", top.Line)
	}
	r := &Recipe{}
	seen := map[string]int{}
	for i := 0; i < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		if first, ok := seen[k.Value]; ok {
			return nil, Usage("line %d: key %q stands in line %d already", k.Line, k.Value, first)
		}
		seen[k.Value] = k.Line
		words, err := values(k, v)
		if k.Value != "inputs" { // err is told by Apply, which knows whether there is such a key
			r.values = append(r.values, setting{k.Value, words, k.Line, err})
			continue
		}
		if err != nil {
			return nil, err
		}
		r.Inputs = words
	}
	return r, nil
}

func values(k, v *yaml.Node) ([]string, error) {
	switch {
	case v.Kind == yaml.ScalarNode && v.Tag != "!!null":
		return []string{v.Value}, nil
	case v.Kind == yaml.SequenceNode && list(k.Value):
		var out []string
		for _, e := range v.Content {
			if e.Kind != yaml.ScalarNode || e.Tag == "!!null" {
				return nil, Usage("line %d: key %q: want a list of words", e.Line, k.Value)
			}
			out = append(out, e.Value)
		}
		return out, nil
	}
	return nil, Usage("line %d: key %q: want one value", k.Line, k.Value)
}

// Apply sets the flags that the command line left alone. Keys that are no flags
// are errors.
func (r *Recipe) Apply(name string, fs *pflag.FlagSet) error {
	for _, s := range r.values {
		f := fs.Lookup(s.key)
		if f == nil || s.key == "recipe" || s.key == "help" {
			err := Usage("%s line %d: unknown key %q", name, s.line, s.key)
			keys := []string{"inputs"}
			fs.VisitAll(func(f *pflag.Flag) { keys = append(keys, f.Name) })
			if m := suggest.Word(s.key, keys); m != "" && m != s.key {
				err = Hint(err, fmt.Sprintf("did you mean: %s", m))
			}
			return err
		}
		if s.err != nil {
			return fmt.Errorf("%s %w", name, s.err)
		}
		if f.Changed {
			continue // the command line wins
		}
		words := s.words
		if !transform.Lists(s.key) { // else each value is a flag of its own
			words = []string{strings.Join(words, ",")}
		}
		for _, w := range words {
			if err := fs.Set(s.key, w); err != nil {
				return Usage("%s line %d: %s: %s", name, s.line, s.key, wrongValue(f, w, errors.Unwrap(err)))
			}
		}
	}
	return nil
}
