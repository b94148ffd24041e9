package pipeline

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/suggest"
	"go.yaml.in/yaml/v3"
)

// Override is asked about every key of a recipe before it counts. It tells that the key is
// dealt with: the command line says otherwise, or it is no setting of a conversion.
type Override func(key string, words []string) (done bool, err error)

// LoadRecipe reads a recipe from a file: keys of settings, options of formats.
//
//	inputs: [train.npz]
//	output: out
//	columns: [x, y]
//	shard-size: 256MiB
func (s *Settings) LoadRecipe(name string, o Override) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.ReadRecipe(f, o); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

// maxRecipe bounds the text of a recipe.
const maxRecipe = 16 << 20

// ReadRecipe reads a recipe, which may also be JSON. Errors begin with the line. o may be
// nil.
func (s *Settings) ReadRecipe(r io.Reader, o Override) error {
	top, err := mapping(r)
	if err != nil {
		return err
	}
	seen := map[string]int{}
	for i := 0; i < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		if first, ok := seen[k.Value]; ok {
			return shardify.Usage("line %d: key %q stands in line %d already", k.Line, k.Value, first)
		}
		seen[k.Value] = k.Line
		if err := s.read(k, v, o); err != nil {
			return err
		}
	}
	return nil
}

// mapping is the only value of a document, which is a mapping.
func mapping(r io.Reader) (*yaml.Node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(io.LimitReader(r, maxRecipe))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, shardify.Usage("line 1: the recipe is empty")
	} else if err != nil {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		if !strings.HasPrefix(text, "line ") {
			text = "is not YAML: " + text
		}
		return nil, shardify.Usage("%s", text)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, shardify.Usage("line 1: more than one document")
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, shardify.Usage("line %d: want lines of the form \"flag: value\"", top.Line)
	}
	return top, nil
}

// read takes over one key.
func (s *Settings) read(k, v *yaml.Node, o Override) error {
	words, bad := values(k, v)
	if o != nil {
		if done, err := o(k.Value, words); err != nil || done && bad == nil {
			return wrong(k, err)
		}
	}
	key, option := Lookup(k.Value), len(Owners(k.Value)) > 0
	if key == nil && !option {
		return unknownKey(k)
	}
	if bad != nil {
		return bad
	}
	if option {
		if s.Options == nil {
			s.Options = map[string]string{}
		}
		s.Options[k.Value] = strings.Join(words, ",")
		return nil
	}
	for _, w := range words {
		if err := key.Of(s).Set(w); err != nil {
			return wrong(k, err)
		}
	}
	return nil
}

// wrong says which key has a wrong value.
func wrong(k *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return shardify.Usage("line %d: %s: %v", k.Line, k.Value, err)
}

func unknownKey(k *yaml.Node) error {
	var known []string
	for i := range Keys {
		known = append(known, Keys[i].Name)
	}
	err := shardify.Usage("line %d: unknown key %q", k.Line, k.Value)
	if m := suggest.Word(k.Value, known); m != "" && m != k.Value {
		err = shardify.Hint(err, "did you mean: "+m)
	}
	return err
}

// all is a setting that has several values.
type all interface{ All() []string }

// values are the words of a key.
func values(k, v *yaml.Node) ([]string, error) {
	several := false
	if key := Lookup(k.Value); key != nil {
		_, several = key.Of(new(Settings)).(all)
	}
	switch {
	case v.Kind == yaml.ScalarNode && v.Tag != "!!null":
		return []string{v.Value}, nil
	case v.Kind == yaml.SequenceNode && several:
		var out []string
		for _, e := range v.Content {
			if e.Kind != yaml.ScalarNode || e.Tag == "!!null" {
				return nil, shardify.Usage("line %d: key %q: want a list of words", e.Line, k.Value)
			}
			out = append(out, e.Value)
		}
		return out, nil
	}
	return nil, shardify.Usage("line %d: key %q: want one value", k.Line, k.Value)
}

// MarshalYAML is the recipe of the settings: all that are not the default.
func (s Settings) MarshalYAML() (any, error) {
	top := &yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, v *yaml.Node) {
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, v)
	}
	var none Settings
	for i := range Keys {
		k := &Keys[i]
		v := k.Of(&s)
		switch list, several := v.(all); {
		case several && len(list.All()) > 0:
			node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, w := range list.All() {
				node.Content = append(node.Content, text(w))
			}
			add(k.Name, node)
		case several || v.String() == k.Of(&none).String():
		case v.Type() == "string":
			add(k.Name, text(v.String()))
		default:
			add(k.Name, &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		add(name, text(s.Options[name]))
	}
	return top, nil
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
