package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/spf13/pflag"
)

// Group is the annotation that puts a flag under a heading in the help.
const Group = "group"

// GroupFormats is the heading of the formats' own options.
const GroupFormats = "Options of formats"

// FormatFlags are the flags made from the options that formats declare.
type FormatFlags struct {
	fs     *pflag.FlagSet
	owners map[string][]string // option -> formats
}

// AddFormatFlags adds a flag for every option of the formats. One that several
// declare is one flag.
func AddFormatFlags(fs *pflag.FlagSet, sources []shardify.SourceFormat, sinks []shardify.SinkFormat) *FormatFlags {
	f := &FormatFlags{fs: fs, owners: map[string][]string{}}
	for i := range sources {
		f.add(sources[i].Name, sources[i].Options)
	}
	for i := range sinks {
		f.add(sinks[i].Name, sinks[i].Options)
	}
	for name, owners := range f.owners {
		fl := fs.Lookup(name)
		fl.Usage += " (" + strings.Join(owners, ", ") + ")"
		fs.SetAnnotation(name, Group, []string{GroupFormats})
	}
	return f
}

func (f *FormatFlags) add(format string, decl []shardify.Option) {
	for i := range decl {
		o := &decl[i]
		owners, known := f.owners[o.Name]
		if !known {
			fl := f.fs.VarPF(&optionValue{o, o.Values, o.Default}, o.Name, "", o.Help)
			if o.Kind == shardify.KindBool {
				fl.NoOptDefVal = "true"
			}
		} else {
			f.fs.Lookup(o.Name).Value.(*optionValue).also(o.Values)
		}
		if !slices.Contains(owners, format) { // wds and mmap are read and written
			f.owners[o.Name] = append(owners, format)
		}
	}
}

// Given is the options that were set, by name.
func (f *FormatFlags) Given() shardify.Options {
	given := shardify.Options{}
	for name := range f.owners {
		if fl := f.fs.Lookup(name); fl.Changed {
			given[name] = fl.Value.String()
		}
	}
	return given
}

type optionValue struct {
	o      *shardify.Option
	values []string // of all formats that declare it
	s      string
}

// also adds the values that another format knows.
func (v *optionValue) also(values []string) {
	for _, s := range values {
		if !slices.Contains(v.values, s) {
			v.values = append(slices.Clip(v.values), s)
		}
	}
}

func (v *optionValue) Set(s string) error { v.s = s; return nil } // checked by Split, when the formats are known
func (v *optionValue) String() string     { return v.s }

func (v *optionValue) Type() string {
	switch v.o.Kind {
	case shardify.KindBool:
		return "bool"
	case shardify.KindInt:
		return "N"
	case shardify.KindSize:
		return "SIZE"
	case shardify.KindEnum:
		return strings.Join(v.values, "|")
	}
	return "TEXT"
}

// Owners tells which formats declare each option.
func (f *FormatFlags) Owners() map[string][]string { return f.owners }

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
		return nil, Usage("%v", err)
	}
	return full, nil
}

// Belong refuses an option that neither the source nor any of the sinks has.
func Belong(given shardify.Options, owners map[string][]string, src *shardify.SourceFormat, sinks ...shardify.SinkFormat) error {
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
		return Hint(Usage("--%s is an option of %s; %s", name, strings.Join(owners[name], ", "), does),
			fmt.Sprintf("leave --%s out, or choose another format with --from or --format", name))
	}
	return nil
}
