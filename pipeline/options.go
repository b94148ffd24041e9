package pipeline

import (
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/writers"
)

// Owners are the formats that declare an option.
func Owners(option string) (formats []string) {
	add := func(kind string, decl []format.Option) {
		has := slices.ContainsFunc(decl, func(o format.Option) bool { return o.Name == option })
		if has && !slices.Contains(formats, kind) { // wds and mmap are read and written
			formats = append(formats, kind)
		}
	}
	for i := range readers.Formats {
		add(readers.Formats[i].Name, readers.Formats[i].Options)
	}
	for i := range writers.Formats {
		add(writers.Formats[i].Name, writers.Formats[i].Options)
	}
	return formats
}

// Pick is the options of one format among those given, complete with defaults.
func Pick(given format.Options, decl []format.Option) (format.Options, error) {
	mine := format.Options{}
	for i := range decl {
		if v, ok := given[decl[i].Name]; ok {
			mine[decl[i].Name] = v
		}
	}
	full, err := format.CheckOptions(decl, mine)
	if err != nil {
		return nil, shardify.Usage("%v", err)
	}
	return full, nil
}

// Belong refuses an option that neither the source nor any of the sinks has.
func Belong(given format.Options, src *format.Input, sinks ...format.Output) error {
	has := func(decl []format.Option, name string) bool {
		return slices.ContainsFunc(decl, func(o format.Option) bool { return o.Name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if has(src.Options, name) || slices.ContainsFunc(sinks, func(s format.Output) bool { return has(s.Options, name) }) {
			continue
		}
		does := "this reads " + src.Name
		if len(sinks) == 1 {
			does += " and writes " + sinks[0].Name
		}
		return without(name, shardify.Usage("--%s is an option of %s; %s", name, strings.Join(Owners(name), ", "), does))
	}
	return nil
}

// compiler makes the transforms.
func (s *Settings) compiler() flow.Compile {
	if s.compile != nil {
		return s.compile
	}
	return transform.CompileWith(s.beside.side)
}
