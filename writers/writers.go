// Package writers is the table of output formats.
package writers

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/writers/mds"
	"github.com/shardify/shardify/writers/megatron"
	"github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/wds"
)

// Formats is every output format.
var Formats = []shardify.SinkFormat{mmap.Format, wds.Format, mds.Format, megatron.Format}

// Lookup finds a format by name.
func Lookup(name string) (shardify.SinkFormat, bool) {
	i := slices.IndexFunc(Formats, func(f shardify.SinkFormat) bool { return f.Name == name })
	if i < 0 {
		return shardify.SinkFormat{}, false
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

// Default is the format that suits a schema, and why. A tar of one small array
// per sample wastes many times its size, so numbers become columns; files stay
// files.
func Default(schema []shardify.Field, keyed bool) (name, why string) {
	for i := range schema {
		switch m := schema[i].Media; {
		case m == "":
		case keyed, m != "txt" && m != "json":
			return wds.Format.Name, "field " + schema[i].Name + " holds " + m + " files"
		}
	}
	return mmap.Format.Name, "all fields are numbers or text"
}
