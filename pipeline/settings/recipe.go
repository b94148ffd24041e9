package settings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/storages"
)

// Override is called for every key of a recipe before it is used. It reports that the key is dealt
// with: the command line overrides it, or it is not a setting of a conversion.
type Override func(key string, words []string) (done bool, err error)

// LoadRecipe reads a recipe from a file: keys of settings, options of formats.
//
//	inputs: [train.npz]
//	output: out
//	columns: [x, y]
//	shard-size: 256MiB
func (s *Settings) LoadRecipe(name string, o Override) error {
	f, err := storages.Stream(context.Background(), name)
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
			return shardify.Usage("line %d: key %q is in line %d already", k.Line, k.Value, first)
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
	words, bad := values(v)
	if o != nil {
		if done, err := o(k.Value, words); err != nil {
			return shardify.Usage("line %d: %s: %v", k.Line, k.Value, err)
		} else if done && bad == 0 {
			return nil
		}
	}
	if known(k.Value) && (bad > 0 || v.Kind == yaml.SequenceNode && !several(k.Value) && !isList(k.Value)) {
		want := "one value"
		if (several(k.Value) || isList(k.Value)) && v.Kind == yaml.SequenceNode {
			want = "a list of words"
		}
		return shardify.Usage("line %d: key %q: want %s", max(bad, k.Line), k.Value, want)
	}
	if err := s.Put(k.Value, words...); err != nil {
		return fmt.Errorf("line %d: %w", k.Line, err)
	}
	return nil
}

// Put sets what a key of a recipe names: a setting, or an option of a format. Several words
// are added to a list.
func (s *Settings) Put(key string, words ...string) error {
	if !known(key) {
		return unknownKey(key)
	}
	if len(words) != 1 && !several(key) && !isList(key) {
		return shardify.Usage("key %q: want one value", key)
	}
	k := Lookup(key)
	if k == nil {
		if s.Options == nil {
			s.Options = map[string]string{}
		}
		s.Options[key] = strings.Join(words, ",")
		return nil
	}
	for _, w := range words {
		if err := k.Of(s).Set(w); err != nil {
			return shardify.Usage("%s: %v", key, err)
		}
	}
	return nil
}

func known(key string) bool { return Lookup(key) != nil || len(Owners(key)) > 0 }

// several reports whether a key is a list.
func several(key string) bool {
	k := Lookup(key)
	if k == nil {
		return false
	}
	_, ok := k.Of(new(Settings)).(Several)
	return ok
}

func unknownKey(key string) error {
	var known []string
	for i := range Keys {
		known = append(known, Keys[i].Name)
	}
	err := shardify.Usage("unknown key %q", key)
	if m := Meant(key, known, ""); m != "" {
		return shardify.Hint(err, m)
	}
	return err
}

// Several is a setting that has several values.
type Several interface{ All() []string }

// values are the words of a value, and the line of what is not a word.
func values(v *yaml.Node) (words []string, bad int) {
	list := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		list = v.Content
	}
	for _, e := range list {
		if e.Kind != yaml.ScalarNode || e.Tag == "!!null" {
			return nil, e.Line
		}
		words = append(words, e.Value)
	}
	return words, 0
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
		switch list, several := v.(Several); {
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
