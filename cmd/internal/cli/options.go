package cli

import (
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/spf13/pflag"
)

// Group is the annotation that puts a flag under a heading in the help.
const Group = "group"

// formatsOf is the annotation of the options of formats: the names of those that declare it.
const formatsOf = "formats"

// formatFlags are the flags made from the options that formats declare.
type formatFlags struct {
	fs     *pflag.FlagSet
	owners map[string][]string // option -> formats
	given  map[string]string
}

// AddFormatFlags adds a flag for every option of the formats. One that several
// declare is one flag. Those that are used are added to given.
func AddFormatFlags(fs *pflag.FlagSet, sources []format.Input, sinks []format.Output, given map[string]string) {
	f := &formatFlags{fs: fs, owners: map[string][]string{}, given: given}
	for i := range sources {
		f.add(sources[i].Name, sources[i].Options)
	}
	for i := range sinks {
		f.add(sinks[i].Name, sinks[i].Options)
	}
	for name, owners := range f.owners {
		fs.SetAnnotation(name, formatsOf, owners)
	}
}

func (f *formatFlags) add(kind string, decl []format.Option) {
	for i := range decl {
		o := &decl[i]
		owners, known := f.owners[o.Name]
		if !known {
			v := &optionValue{o, o.Values, o.Default, f.given}
			var value pflag.Value = v
			if o.List {
				value = listValue{v}
			}
			fl := f.fs.VarPF(value, o.Name, "", o.Help)
			if o.Kind == format.KindBool {
				fl.NoOptDefVal = "true"
			}
		} else {
			f.fs.Lookup(o.Name).Value.(interface{ also(values []string) }).also(o.Values)
		}
		if !slices.Contains(owners, kind) { // wds and mmap are read and written
			f.owners[o.Name] = append(owners, kind)
		}
	}
}

type optionValue struct {
	o      *format.Option
	values []string // of all formats that declare it
	s      string
	given  map[string]string
}

// also adds the values that another format knows.
func (v *optionValue) also(values []string) {
	for _, s := range values {
		if !slices.Contains(v.values, s) {
			v.values = append(slices.Clip(v.values), s)
		}
	}
}

func (v *optionValue) Set(s string) error { v.s, v.given[v.o.Name] = s, s; return nil } // checked when the formats are known
func (v *optionValue) String() string     { return v.s }

// listValue is an option that may be given several times.
type listValue struct{ *optionValue }

// Repeats says that values add up.
func (v listValue) Repeats() {}

func (v listValue) Set(s string) error {
	if before := v.given[v.o.Name]; before != "" {
		s = before + "," + s
	}
	return v.optionValue.Set(s)
}

func (v *optionValue) Type() string {
	switch v.o.Kind {
	case format.KindBool:
		return "bool"
	case format.KindInt:
		return "N"
	case format.KindSize:
		return "SIZE"
	case format.KindEnum:
		return strings.Join(v.values, "|")
	}
	return "TEXT"
}
