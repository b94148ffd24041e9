package settings

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

var update = flag.Bool("update", false, "rewrite python/shardify/settings.py")

// pythonHead is the part of settings.py that does not depend on settings.
const pythonHead = `"""The keywords of shardify.convert, for editors and type checkers. Made of the settings of the program by
go test ./pipeline/settings -run Python -update."""

from __future__ import annotations

import os
from typing import Any, Literal, Mapping, Optional, Sequence, SupportsIndex, TypedDict, Union

Text = Union[str, float, "os.PathLike[str]"]
Pairs = Union[Text, Mapping[str, Any]]  # NAME=VALUE,...
Texts = Union[Pairs, Sequence[Any]]
Size = Union[str, SupportsIndex]  # "256MiB", or bytes

`

// pythonType is the type of a keyword.
func pythonType(k *Key) string {
	switch v := k.Of(new(Settings)).(type) {
	case *value.Bool:
		return "bool"
	case *value.Text:
		if form, _, _ := strings.Cut(k.Help, "`: "); strings.Contains(form, "=") {
			return "Pairs"
		}
		return "Text"
	case *value.Texts, *value.List:
		return "Texts"
	case *value.Size, *value.Memory:
		return "Size"
	case *value.Enum:
		return pythonWords(strings.Split(v.Type(), "|"))
	case *value.Count, *value.Jobs, *value.Seed, *Copies:
		return "SupportsIndex"
	}
	return "str"
}

// pythonOption is the type of the keyword of an option that several formats may declare.
func pythonOption(decl []format.Option) string {
	var words []string
	for i := range decl {
		switch o := &decl[i]; {
		case o.List:
			return "Texts"
		case o.Kind != decl[0].Kind:
			return "Text"
		case o.Kind == format.KindBool:
			return "bool"
		case o.Kind == format.KindInt:
			return "SupportsIndex"
		case o.Kind == format.KindSize:
			return "Size"
		case o.Kind == format.KindEnum:
			words = append(words, o.Values...)
		default:
			return "Text"
		}
	}
	slices.Sort(words)
	return pythonWords(slices.Compact(words))
}

func pythonWords(words []string) string { return `Literal["` + strings.Join(words, `", "`) + `"]` }

// python is the text of settings.py.
func python() string {
	var b strings.Builder
	var pairs []string
	b.WriteString(pythonHead)
	b.WriteString("\nclass Settings(TypedDict, total=False):\n")
	add := func(name, kind string) {
		if name = strings.ReplaceAll(name, "-", "_"); name == "from" { // a keyword of the language
			name += "_"
		}
		fmt.Fprintf(&b, "    %s: Optional[%s]\n", name, kind)
	}
	for i := range Keys {
		k := &Keys[i]
		if k.Name == "inputs" || k.Name == "output" {
			continue // the arguments without names
		}
		kind := pythonType(k)
		if kind == "Pairs" {
			pairs = append(pairs, fmt.Sprintf("%q", k.Name))
		}
		add(k.Name, kind)
	}
	options := map[string][]format.Option{}
	for i := range readers.Formats {
		for _, o := range readers.Formats[i].Options {
			options[o.Name] = append(options[o.Name], o)
		}
	}
	for i := range writers.Formats {
		for _, o := range writers.Formats[i].Options {
			options[o.Name] = append(options[o.Name], o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		add(name, pythonOption(options[name]))
	}
	fmt.Fprintf(&b, "\n\n# Of these a dict is one text, NAME=VALUE,...; of others it is a list of such words.\nPAIRS = frozenset([%s])\n", strings.Join(pairs, ", "))
	return b.String()
}

// TestPythonHasAllSettings: settings.py is the list of settings and of the options of formats.
func TestPythonHasAllSettings(t *testing.T) {
	const name = "../../python/shardify/settings.py"
	if *update {
		if err := os.WriteFile(name, []byte(python()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil || string(have) != python() {
		t.Errorf("%s is not the list of settings (%v): go test ./pipeline/settings -run Python -update", name, err)
	}
}
