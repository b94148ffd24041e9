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
			fl := f.fs.VarPF(&optionValue{o, o.Default}, o.Name, "", o.Help)
			if o.Kind == shardify.KindBool {
				fl.NoOptDefVal = "true"
			}
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
	o *shardify.Option
	s string
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
		return strings.Join(v.o.Values, "|")
	}
	return "TEXT"
}

// Split gives each of the two chosen formats its options, complete with
// defaults. An option that belongs to neither is refused. all are the formats
// that the option may belong to instead.
func Split(given shardify.Options, src *shardify.SourceFormat, sink *shardify.SinkFormat, owners map[string][]string) (in, out shardify.Options, err error) {
	in, out = shardify.Options{}, shardify.Options{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		used := false
		for _, side := range []struct {
			decl []shardify.Option
			to   shardify.Options
		}{{src.Options, in}, {sink.Options, out}} {
			if slices.ContainsFunc(side.decl, func(o shardify.Option) bool { return o.Name == name }) {
				side.to[name], used = given[name], true
			}
		}
		if !used {
			err := Usage("--%s is an option of %s; this reads %s and writes %s", name, strings.Join(owners[name], ", "), src.Name, sink.Name)
			return nil, nil, Hint(err, fmt.Sprintf("leave --%s out, or choose the format with --from or --format", name))
		}
	}
	if in, err = shardify.CheckOptions(src.Options, in); err == nil {
		out, err = shardify.CheckOptions(sink.Options, out)
	}
	if err != nil {
		return nil, nil, Usage("%v", err)
	}
	return in, out, nil
}

// Owners tells which formats declare each option.
func (f *FormatFlags) Owners() map[string][]string { return f.owners }
