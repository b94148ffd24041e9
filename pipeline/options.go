package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/writers"
)

// Owners are the formats that declare an option.
func Owners(option string) (formats []string) {
	add := func(format string, decl []shardify.Option) {
		has := slices.ContainsFunc(decl, func(o shardify.Option) bool { return o.Name == option })
		if has && !slices.Contains(formats, format) { // wds and mmap are read and written
			formats = append(formats, format)
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
func Pick(given shardify.Options, decl []shardify.Option) (shardify.Options, error) {
	mine := shardify.Options{}
	for i := range decl {
		if v, ok := given[decl[i].Name]; ok {
			mine[decl[i].Name] = v
		}
	}
	full, err := shardify.CheckOptions(decl, mine)
	if err != nil {
		return nil, shardify.Usage("%v", err)
	}
	return full, nil
}

// Belong refuses an option that neither the source nor any of the sinks has.
func Belong(given shardify.Options, src *shardify.SourceFormat, sinks ...shardify.SinkFormat) error {
	has := func(decl []shardify.Option, name string) bool {
		return slices.ContainsFunc(decl, func(o shardify.Option) bool { return o.Name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if has(src.Options, name) || slices.ContainsFunc(sinks, func(s shardify.SinkFormat) bool { return has(s.Options, name) }) {
			continue
		}
		does := "this reads " + src.Name
		if len(sinks) == 1 {
			does += " and writes " + sinks[0].Name
		}
		return shardify.Hint(shardify.Usage("--%s is an option of %s; %s", name, strings.Join(Owners(name), ", "), does),
			fmt.Sprintf("leave --%s out, or choose another format with --from or --format", name))
	}
	return nil
}

// operations is what is done to samples.
func (s *Settings) operations() transform.Settings {
	out := transform.Settings{}
	for name, texts := range map[string][]string{
		transform.Set: s.Set, transform.Fraction: s.Fraction, transform.Where: s.Where, transform.Augment: s.Augment, transform.Define: s.Define, transform.NaN: s.NaN, transform.Encode: s.Encode,
		transform.Sort: s.Sort, transform.Stack: s.Stack, transform.Pad: s.Pad, transform.Rename: s.Rename, transform.Cast: s.Cast, transform.Pack: s.Pack,
	} {
		if len(texts) > 0 {
			out[name] = texts
		}
	}
	if s.CheckImages {
		out[transform.Augment] = append([]string{"check"}, s.Augment...)
	}
	if s.Copies > 0 {
		out[transform.Copies] = []string{strconv.Itoa(s.Copies)}
	}
	return out
}

// compiler makes the transforms.
func (s *Settings) compiler() flow.Compile {
	if s.compile != nil {
		return s.compile
	}
	return transform.Compile
}
