package cli

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers"
)

// choices are the commands for the ways to read inputs of which the user has to choose one.
func (o *IO) choices(err error) (hints []string) {
	var ways []format.Way
	if d, ok := errors.AsType[*format.Ambiguous](err); ok {
		ways = d.Ways
	} else if c, ok := errors.AsType[*format.Cured](err); ok {
		ways = c.Ways
	}
	if len(o.Args) < 2 {
		return nil
	}
	command := o.Args
	if e, ok := errors.AsType[*shardify.Error](err); ok && o.Args[1] == "diff" && e.File != "" { // which has no settings of inputs
		command = []string{o.Args[0], "convert", e.File, "-o", path.Base(storage.Clean(e.File)) + "-shards"}
	}
	begun := o.Begun.Load()
	for i := range ways {
		set := ways[i].Set()
		same := len(set) == 1 && set["memory"]+set["max-sample"] != "" // as the plan
		if begun && !same && o.Args[1] != "convert" || set[format.OutputFormat] != "" && o.Args[1] == "inspect" {
			continue // the settings are those of the plan, or of no use here
		}
		args := withWay(command, &ways[i])
		if w := ways[i].Without; w != "" && slices.Equal(args, command) { // of a recipe
			hints = append(hints, "leave "+w+" out of the recipe")
			continue
		}
		if begun && !same && !slices.Contains(args, "--fresh") {
			args = slices.Insert(args, 2, "--fresh")
		}
		hints = append(hints, ways[i].Makes+": "+CommandLine(args))
	}
	return hints
}

// splits are the commands for each split of a set of splits, where one of them is wanted.
func (o *IO) splits(err error) (hints []string) {
	set, ok := errors.AsType[*dataset.SplitSet](err)
	if !ok || len(o.Args) < 2 {
		return nil
	}
	for _, name := range set.Names {
		args := slices.Clone(o.Args)
		found := false
		for i, a := range args[1:] {
			if dataset.Folder(a) == set.Folder || storage.Clean(a) == storage.Clean(set.Folder) {
				args[i+1], found = storage.Join(set.Folder, name), true
			}
		}
		if found {
			hints = append(hints, CommandLine(args))
		}
	}
	return hints
}

// isSwitch reports whether a flag takes no value of its own.
func isSwitch(name string) bool {
	if k := settings.Lookup(name); k != nil {
		_, ok := k.Of(&pipeline.Settings{}).(*value.Bool)
		return ok
	}
	is := func(o format.Option) bool { return o.Name == name && o.Kind == format.KindBool }
	return slices.ContainsFunc(readers.Formats, func(f format.Input) bool { return slices.ContainsFunc(f.Options, is) }) ||
		slices.ContainsFunc(writers.Formats, func(f format.Output) bool { return slices.ContainsFunc(f.Options, is) })
}

// withWay is a command with the settings of a way in place of those it has. An object is one of
// them also as FILE:OBJECT.
func withWay(args []string, w *format.Way) []string {
	set := w.Set()
	_, object := set["object"]
	var out, rest []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		_, again := set[name]
		again = again || w.Without != "" && name == w.Without
		switch {
		case object && i > 1 && !strings.HasPrefix(args[i], "-") && !slices.Contains([]string{"-o", "--output"}, args[i-1]):
			out = append(out, readers.File(args[i]))
		case args[i] == "--":
			rest, args = args[i:], args[:i]
		case !again || !strings.HasPrefix(args[i], "--"):
			out = append(out, args[i])
		case !joined && !isSwitch(name):
			i++
		}
	}
	for name, v := range set {
		out = append(out, "--"+name+"="+v)
	}
	slices.Sort(out[len(out)-len(set):])
	for _, v := range w.Parse {
		if args[1] != "inspect" { // which proposes it
			out = append(out, "--parse="+v)
		}
	}
	if object && len(rest) > 0 {
		rest = slices.Clone(rest)
		for i := range rest {
			rest[i] = readers.File(rest[i])
		}
	}
	return append(out, rest...)
}
