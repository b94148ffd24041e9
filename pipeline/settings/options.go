package settings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
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

// isList reports whether an option may be given several times.
func isList(option string) bool {
	return slices.ContainsFunc(readers.Formats, func(f format.Input) bool {
		return slices.ContainsFunc(f.Options, func(o format.Option) bool { return o.Name == option && o.List })
	})
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
		err := shardify.Usage("--%s is an option of %s; %s", name, strings.Join(Owners(name), ", "), does)
		if hint := src.Elsewhere[name]; hint != "" {
			return shardify.Hint(err, hint)
		}
		return without(name, err)
	}
	return nil
}

// ChooseInput finds the format of inputs, unless it is asked for, or follows from an option. They are in from; nil means
// where their names say. With parsed, --parse reads fields of bytes.
func ChooseInput(ctx context.Context, from storage.FS, asked string, inputs []string, given format.Options, parsed bool) (format.Input, string, error) {
	if f, why := decided(given); asked == "" && f != nil {
		return *f, why, nil
	}
	if _, ok := readers.Lookup(asked); asked != "" && !ok {
		return format.Input{}, "", UnknownFormat("--from", asked, readers.Names())
	}
	f, why, err := readers.Choose(ctx, from, asked, inputs)
	switch {
	case errors.Is(err, readers.ErrSeveral):
		err = shardify.Hint(shardify.Usage("%v", err), "convert each format on its own; shardify merge-sets A B -o C joins sets of equal fields")
	case errors.Is(err, readers.ErrUndecided):
		err = shardify.Hint(shardify.Usage("%v", err), "name it with --from: "+strings.Join(readers.Names(), ", "))
	case err == nil && asked == "" && f.Bytes:
		if option := readers.WantsBytes(&f, given); parsed {
			f, why = readers.OfAnyKind(), "--"+transform.Parse
		} else if option != "" {
			f, why = readers.OfAnyKind(), "--"+option
		}
	}
	return f, why, err
}

// decided is the format that an option is for which decides about it; nil if none is given.
func decided(given format.Options) (*format.Input, string) {
	for i := range readers.Formats {
		for _, o := range readers.Formats[i].Options {
			if o.Decides && given[o.Name] != "" {
				return &readers.Formats[i], "--" + o.Name
			}
		}
	}
	return nil, ""
}

// UnknownFormat is an error that names the formats there are.
func UnknownFormat(flag, name string, names []string) error {
	err := shardify.Usage("%s %q: want one of %s", flag, name, strings.Join(names, ", "))
	if m := suggest.Word(name, names); m != "" {
		return shardify.Hint(err, fmt.Sprintf("did you mean: %s %s", flag, m))
	}
	return err
}
