package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// choices are the commands for the ways to read inputs of which the user has to choose one.
func (o *IO) choices(err error) (hints []string) {
	var d *format.Doubt
	var c *format.Cured
	switch {
	case len(o.Args) < 2:
		return nil
	case errors.As(err, &d):
		return commands(o.Args, d.Ways)
	case errors.As(err, &c) && o.Args[1] == "convert": // what was planned before stands there
		return commands(slices.Insert(slices.Clone(o.Args), 2, "--fresh"), c.Ways)
	}
	return nil
}

func commands(args []string, ways []format.Way) (hints []string) {
	for i := range ways {
		hints = append(hints, ways[i].Makes+": "+CommandLine(withWay(args, &ways[i])))
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

// withWay is a command with the settings of a way in place of those it has.
func withWay(args []string, w *format.Way) []string {
	set := w.Set()
	var out, rest []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		_, again := set[name]
		switch {
		case args[i] == "--":
			rest, args = args[i:], args[:i]
		case !again || !strings.HasPrefix(args[i], "--"):
			out = append(out, args[i])
		case !joined:
			i++
		}
	}
	for name, v := range set {
		out = append(out, "--"+name+"="+v)
	}
	slices.Sort(out[len(out)-len(set):])
	return append(out, rest...)
}
