package cli

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

// Formats lists what is read and written: the formats of these names, or all.
func (out *IO) Formats(names []string) error {
	known := append(readers.Names(), writers.Names()...)
	for _, name := range names {
		if !slices.Contains(known, name) {
			err := shardify.Usage("unknown format %q", name)
			if m := suggest.Word(name, known); m != "" {
				return shardify.Hint(err, "did you mean: shardify formats "+m)
			}
			return shardify.Hint(err, "shardify formats lists them")
		}
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for i := range readers.Formats {
		if f := &readers.Formats[i]; wanted(f.Name) {
			out.format("read", f.Name, f.Help, f.Options)
		}
	}
	for i := range writers.Formats {
		if f := &writers.Formats[i]; wanted(f.Name) {
			out.format("write", f.Name, f.Help, f.Options)
		}
	}
	return nil
}

func (out *IO) format(direction, name, help string, options []format.Option) {
	type option struct {
		Name    string   `json:"name"`
		Kind    string   `json:"kind"`
		Default string   `json:"default"`
		Values  []string `json:"values,omitempty"`
		Help    string   `json:"help"`
	}
	list := []option{}
	out.Result("%-6s%-12s%s", direction, name, help)
	for _, o := range options {
		list = append(list, option{o.Name, string(o.Kind), o.Default, o.Values, o.Help})
		d := ""
		if o.Default != "" {
			d = " [" + o.Default + "]"
		}
		out.Result("             --%s: %s%s", o.Name, o.Help, d)
	}
	out.Object("format", struct {
		Direction string   `json:"direction"`
		Name      string   `json:"name"`
		Help      string   `json:"help"`
		Options   []option `json:"options"`
	}{direction, name, help, list})
}

// Augmentations prints the table of package augment.
func (out *IO) Augmentations() {
	type setting struct {
		Name    string `json:"name"`
		Default string `json:"default,omitempty"`
		Help    string `json:"help"`
	}
	out.Result("--augment [SPLIT,...:]NAME[=VALUE][,KEY=VALUE]...")
	out.Result("Random operations (*) apply to the split train alone, if there is one; a list of splits in front says otherwise.")
	for i := range augment.Table {
		o := &augment.Table[i]
		mark := ""
		if o.Random {
			mark = " *"
		}
		value := ""
		if o.Value.Name != "" {
			value = "=" + o.Value.Name
		}
		out.Result("\n%s%s%s\n      %s", o.Name, value, mark, o.Help)
		if o.Value.Name != "" {
			out.Result("      %s: %s", o.Value.Name, o.Value.Help)
		}
		list := []setting{}
		for _, a := range o.Args {
			list = append(list, setting(a))
			d := ""
			if a.Default != "" {
				d = " [" + a.Default + "]"
			}
			out.Result("      %s: %s%s", a.Name, a.Help, d)
		}
		out.Result("      gives: %s", o.Effect)
		out.Object("augment", struct {
			Name     string    `json:"name"`
			Value    setting   `json:"value"`
			Help     string    `json:"help"`
			Random   bool      `json:"random"`
			Settings []setting `json:"settings"`
			Effect   string    `json:"effect"`
		}{o.Name, setting(o.Value), o.Help, o.Random, list, o.Effect})
	}
}
