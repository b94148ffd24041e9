package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Complete makes the shell offer the values of flags that have few of them.
func Complete(c *cobra.Command, names map[string][]string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values := names[f.Name]
		if t := f.Value.Type(); values == nil && strings.Contains(t, "|") && !strings.ContainsAny(t, "[=") {
			values = strings.Split(t, "|")
		}
		if values != nil {
			c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// completionTime is how long the shell waits for names from inputs.
const completionTime = 2 * time.Second

// CompleteSettings makes the shell offer the fields of the inputs that are typed already,
// and the operations of --augment.
func CompleteSettings(c *cobra.Command, s *pipeline.Settings) {
	for i := range settings.Keys {
		name := settings.Keys[i].Name
		if !settings.Keys[i].Rules.Fields || c.Flags().Lookup(name) == nil {
			continue
		}
		c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, inputs []string, typed string) ([]string, cobra.ShellCompDirective) {
			ctx, cancel := context.WithTimeout(context.Background(), completionTime)
			defer cancel()
			fields, err := pipeline.Fields(ctx, *s, inputs)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			head := typed[:strings.LastIndex(typed, ",")+1]
			if name == "columns" && strings.HasPrefix(typed[len(head):], "!") {
				head += "!"
			}
			return prefixed(head, fields), cobra.ShellCompDirectiveNoFileComp
		})
	}
	if c.Flags().Lookup("augment") != nil {
		c.RegisterFlagCompletionFunc("augment", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return augmentations(typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
	}
}

// augmentations are the names of operations, or the settings of the one that is typed.
func augmentations(typed string) (out []string) {
	head, text := "", typed
	if i := strings.LastIndex(typed, ":"); i >= 0 {
		head, text = typed[:i+1], typed[i+1:]
	}
	name, _, settings := strings.Cut(text, ",")
	name, _, _ = strings.Cut(name, "=")
	for i := range augment.Table {
		o := &augment.Table[i]
		switch {
		case !settings && o.Value.Name != "":
			out = append(out, head+o.Name+"=\t"+o.Help)
		case !settings:
			out = append(out, head+o.Name+"\t"+o.Help)
		case o.Name == name:
			done := typed[:strings.LastIndex(typed, ",")+1]
			for _, a := range o.Args {
				out = append(out, done+a.Name+"=\t"+a.Help)
			}
		}
	}
	return out
}

func prefixed(head string, words []string) (out []string) {
	for _, w := range words {
		out = append(out, head+w)
	}
	return out
}

// AddCompletion gives a program without commands the flag --completion, which writes the
// script for a shell.
func AddCompletion(c *cobra.Command) {
	shells := map[string]func(w io.Writer) error{
		"bash":       func(w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":        c.GenZshCompletion,
		"fish":       func(w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": c.GenPowerShellCompletionWithDesc,
	}
	shell := value.OneOf(new(string), slices.Sorted(maps.Keys(shells))...)
	c.Flags().VarPF(shell, "completion", "", "write the completion script for a shell, and do nothing else").DefValue = ""
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if write := shells[shell.String()]; write != nil && c.Flags().Changed("completion") {
			return write(c.OutOrStdout())
		}
		return run(c, args)
	}
	Complete(c, nil)
}
