package cli

import (
	"os"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/spf13/cobra"
)

// HelpCommand is cobra's, but a word that is not a command is an error.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help COMMAND",
		Short:  "show how a command is used",
		Hidden: true,
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range c.Root().Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, _, err := c.Root().Find(args)
			if err == nil && about == c.Root() && len(args) > 0 {
				err = UnknownCommand(about, args[0], args)
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// NoArguments refuses them as wrong usage, which cobra.NoArgs does not.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return shardify.Hint(shardify.Usage("%s takes flags alone, not %q", c.CommandPath(), args[0]), "see: "+c.CommandPath()+" --help")
	}
	return nil
}

// OneFolder wants the folder of a data set.
func OneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return shardify.Hint(shardify.Usage("want one folder, not %d", len(args)), "see: "+c.CommandPath()+" --help")
	}
	return nil
}

// meant are commands under the names that other programs give them.
var meant = map[string]string{
	"ls": "inspect", "info": "inspect", "show": "inspect", "head": "inspect", "describe": "inspect", "schema": "inspect", "stats": "inspect --stats",
	"check": "verify", "validate": "verify", "fsck": "verify", "build": "convert", "run": "work", "resume": "convert", "clean": "gc", "join": "merge-sets",
}

// UnknownCommand is the error of a word that is not a command. typed are the words behind the
// program's name; flags before the command are dropped.
func UnknownCommand(root *cobra.Command, word string, typed []string) error {
	err := shardify.Usage("unknown command %q", word)
	if _, e := os.Stat(word); e == nil {
		return shardify.Hint(err, "did you mean: shardify inspect "+printable.Quote(word))
	}
	m := meant[word]
	if m == "" {
		var names []string
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		m = suggest.Word(word, names)
	}
	if m != "" {
		m = "did you mean: shardify " + m
		if rest := typed[slices.Index(typed, word)+1:]; len(rest) > 0 {
			m += " " + CommandLine(rest)
		}
		return shardify.Hint(err, m)
	}
	return shardify.Hint(err, "see: shardify --help")
}
