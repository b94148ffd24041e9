package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Complete makes the shell offer the values of flags that have few of them.
func Complete(c *cobra.Command, names map[string][]string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values := names[f.Name]
		if t := f.Value.Type(); values == nil && strings.Contains(t, "|") {
			values = strings.Split(t, "|")
		}
		if values != nil {
			c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}
