// Package writers is the table of output formats.
package writers

import (
	"errors"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/writers/arrow"
	"github.com/shardify/shardify/writers/mds"
	"github.com/shardify/shardify/writers/megatron"
	"github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/parquet"
	"github.com/shardify/shardify/writers/tfrecord"
	"github.com/shardify/shardify/writers/wds"
)

// Formats is every output format.
var Formats = []format.Output{mmap.Format, wds.Format, mds.Format, megatron.Format, parquet.Format, arrow.Format, tfrecord.Format, tfrecord.ArrayRecord}

// Lookup finds a format by its name, or by what other tools call it.
func Lookup(name string) (format.Output, bool) {
	i := slices.IndexFunc(Formats, func(f format.Output) bool { return f.Name == name || slices.Contains(f.Words, name) })
	if i < 0 {
		return format.Output{}, false
	}
	return Formats[i], true
}

// Names lists the formats.
func Names() []string {
	var out []string
	for i := range Formats {
		out = append(out, Formats[i].Name)
	}
	return out
}

// Default is the format that suits a schema and can carry it, and why. See Prefer for
// files.
func Default(schema []shardify.Field, keyed, files bool) (name, why string) {
	f, why := Prefer(schema, files)
	other, ok := Instead(f.Name)
	if !ok {
		return f.Name, why
	}
	if err := f.Check(schema, keyed, nil); err != nil {
		return other.Name, WhyNot(err)
	}
	return f.Name, why
}

// Prefer is the format that suits a schema, and why. A tar of one small array or
// string per sample wastes many times its size, so the columns of tables stay
// columns; files, as format.HasFiles says, stay files.
func Prefer(schema []shardify.Field, files bool) (f format.Output, why string) {
	why = "all fields are numbers or text"
	for i := range schema {
		switch m := schema[i].Media; {
		case m == "":
		case m == "bin" && !files:
			why = "all fields are numbers, text or bytes"
		case files, !format.IsText(m):
			return wds.Format, "field " + schema[i].Name + " holds " + m + " files"
		}
	}
	return mmap.Format, why
}

// Instead returns the format that takes what a preferred one cannot carry, if there is such
// a format.
func Instead(name string) (f format.Output, ok bool) {
	return mmap.Format, name == wds.Format.Name
}

// Waste names a format that would take much less for samples of this many decoded bytes, or
// "": a tar has a header for every member.
func Waste(name string, schema []shardify.Field, keyed bool, samples, decoded int64) string {
	if name != wds.Format.Name || mmap.Format.Check(schema, keyed, nil) != nil {
		return ""
	}
	fixed, _ := wds.Format.SampleBytes(schema, keyed)
	if fixed*samples <= decoded {
		return ""
	}
	return "tar headers take " + shardify.FormatSize(fixed*samples) + " of the output: --format " + mmap.Format.Name + " has none"
}

// WhyNot says in words why a preferred format was not taken, by its refusal.
func WhyNot(refusal error) string {
	why, _, _ := strings.Cut(format.Reason(refusal), ": ")
	if e := (*shardify.Error)(nil); errors.As(refusal, &e) && e.Field != "" {
		why = "field " + e.Field + ": " + why
	}
	return why
}
