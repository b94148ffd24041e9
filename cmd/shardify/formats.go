package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/cobra"
)

func formatsCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "formats",
		Short: "list the formats that are read and written, with their options",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for i := range readers.Formats {
				f := &readers.Formats[i]
				p.format("read", f.Name, f.Help, f.Options)
			}
			for i := range writers.Formats {
				f := &writers.Formats[i]
				p.format("write", f.Name, f.Help, f.Options)
			}
			return nil
		},
	}
}

func (p *program) format(direction, name, help string, options []shardify.Option) {
	type option struct {
		Name    string   `json:"name"`
		Kind    string   `json:"kind"`
		Default string   `json:"default"`
		Values  []string `json:"values,omitempty"`
		Help    string   `json:"help"`
	}
	list := []option{}
	p.Result("%-6s%-7s%s", direction, name, help)
	for _, o := range options {
		list = append(list, option{o.Name, string(o.Kind), o.Default, o.Values, o.Help})
		d := ""
		if o.Default != "" {
			d = " [" + o.Default + "]"
		}
		p.Result("             --%s: %s%s", o.Name, o.Help, d)
	}
	p.Object("format", struct {
		Direction string   `json:"direction"`
		Name      string   `json:"name"`
		Help      string   `json:"help"`
		Options   []option `json:"options"`
	}{direction, name, help, list})
}
