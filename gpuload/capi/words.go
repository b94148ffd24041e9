package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

var (
	flagIn = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(--[a-z][a-z0-9-]*|-o)(?:([ =])('(?:[^']|'\\'')*'|[^\s'()]+))?`)
	})
	commandIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bshardify [a-z][a-z-]* `) })
	reserved  = []string{"from", "with", "in", "is", "as"} // by Python, as far as settings are called so
)

// prose are words behind a flag that is not followed by a value.
var prose = []string{"out", "or", "and", "is", "are", "needs", "need", "alone"}

// inPython is a hint of the command line in the words of Python: where it names flags of
// convert, the keywords of shardify.convert. Whole commands stay: the program is installed
// with the package.
func inPython(hint string) string {
	end := len(hint)
	if at := commandIn().FindStringIndex(hint); at != nil {
		end = at[0]
	}
	text, command := hint[:end], hint[end:]
	if word, ok := strings.CutPrefix(text, "did you mean: "); ok && settingOf(word) != nil {
		return "did you mean: " + keyword(word) // of a key that is not there
	}
	text = strings.NewReplacer("the same command", "the same call", "the same conversion", "the same call").Replace(text)
	var out strings.Builder
	last, wasFlag := 0, false
	for _, m := range flagIn().FindAllStringSubmatchIndex(text, -1) {
		name, value, upTo := strings.TrimPrefix(text[m[2]:m[3]], "--"), "", m[3]
		set := settingOf(name)
		if set == nil {
			continue
		}
		if m[6] >= 0 {
			word := text[m[6]:m[7]]
			bare := strings.TrimRight(word, ",:;.")
			if !set.flag && (text[m[4]:m[5]] == "=" || word[0] == '\'' || !slices.Contains(prose, bare) && set.takes(bare)) {
				value, upTo = bare, m[7]-len(word)+len(bare)
			}
		}
		between := text[last:m[2]]
		if wasFlag && between == " " {
			between = ", "
		}
		out.WriteString(between + keyword(name) + "=" + literal(value, set.flag))
		last, wasFlag = upTo, true
	}
	return out.String() + text[last:] + command
}

// keyword is what a flag is called in Python.
func keyword(name string) string {
	if name == "-o" || name == "output" {
		return "out"
	}
	if slices.Contains(reserved, name) {
		return name + "_"
	}
	return strings.ReplaceAll(name, "-", "_")
}

// literal is a value as Python writes it. Words in capitals stand for what the user has.
func literal(value string, flag bool) string {
	if flag {
		return "True"
	}
	if value == "" || strings.ToUpper(value) == value && strings.ToLower(value) != value && value[0] != '\'' {
		return value
	}
	if _, err := strconv.ParseInt(value, 10, 64); err == nil {
		return value
	}
	if inner, ok := strings.CutPrefix(value, "'"); ok {
		value = strings.ReplaceAll(strings.TrimSuffix(inner, "'"), `'\''`, "'")
	}
	return strconv.Quote(value)
}

// setting is a setting of convert.
type setting struct {
	flag  bool // true or false
	takes func(value string) bool
}

func settingOf(name string) *setting {
	if name == "-o" {
		name = "output"
	}
	if k := settings.Lookup(name); k != nil && name != "inputs" {
		v := k.Of(new(pipeline.Settings))
		return &setting{v.Type() == "bool", func(s string) bool { return v.Set(s) == nil || strings.ToUpper(s) == s }}
	}
	var declared []format.Option
	for i := range readers.Formats {
		declared = append(declared, readers.Formats[i].Options...)
	}
	for i := range writers.Formats {
		declared = append(declared, writers.Formats[i].Options...)
	}
	i := slices.IndexFunc(declared, func(o format.Option) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	o := &declared[i]
	return &setting{o.Kind == format.KindBool, func(s string) bool { return o.Check(s) == nil }}
}
