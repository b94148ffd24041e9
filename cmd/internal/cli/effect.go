package cli

import (
	"github.com/shardify/shardify"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Effects says of each flag of a command when it has no effect, which is an error; nil: it always
// has one, is a bound, says how the work is done, or the code that uses it refuses what it cannot
// use.
type Effects map[string]func() (why string)

// HasEffects is the annotation of flags that are in Effects.
const HasEffects = "effects"

// AddEffects has a command refuse flags without effect.
func AddEffects(c *cobra.Command, e Effects) {
	for name := range e {
		c.Flags().SetAnnotation(name, HasEffects, []string{})
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		var err error
		c.Flags().Visit(func(f *pflag.Flag) {
			if say := e[f.Name]; say != nil && err == nil && f.Value.String() != f.DefValue {
				if why := say(); why != "" {
					err = shardify.Hint(shardify.Usage("--%s %s has no effect: %s", f.Name, f.Value, why), "leave --"+f.Name+" out")
				}
			}
		})
		if err != nil {
			return err
		}
		return run(c, args)
	}
}

// If is an entry of Effects: idle reports that the flag has none.
func If(idle func() bool, why string) func() string {
	return func() string {
		if idle() {
			return why
		}
		return ""
	}
}
