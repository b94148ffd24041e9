package cli

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Finish makes the flags of a command and of all below it answer as users expect.
func Finish(c *cobra.Command) {
	once(c)
	own := map[string]bool{}
	c.Flags().VisitAll(func(f *pflag.Flag) { own[f.Name] = true })
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(settings.Canonical(name, func(n string) bool { return own[n] }))
	})
	for _, sub := range c.Commands() {
		Finish(sub)
	}
}

// once makes it an error to give a flag twice, except those whose values add up: one of two
// values would be ignored without a word.
func once(c *cobra.Command) {
	for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) {
			if _, done := f.Value.(*onceValue); !done && !addsUp(f.Value) {
				f.Value = &onceValue{Value: f.Value}
			}
		})
	}
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if err := GivenTwice(c.Flags()); err != nil {
				return shardify.Hint(err, "see: "+c.CommandPath()+" --help")
			}
			return run(c, args)
		}
	}
}

// GivenTwice is the error of the first flag that was given twice, nil without. It is not an error
// of parsing: cobra parses command lines twice to complete them.
func GivenTwice(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*onceValue); ok && len(v.given) > 1 && err == nil {
			if one, two := v.given[0], v.given[1]; v.Type() == "bool" && one == two {
				err = shardify.Usage("--%s is given twice", f.Name)
			} else {
				err = shardify.Usage("--%s %v", f.Name, Twice(one, two))
			}
		}
	})
	return err
}

// Twice says that a flag takes one value and got two.
func Twice(one, two string) error {
	return fmt.Errorf("is given twice, %s and %s: it takes one value", printable.Quote(one), printable.Quote(two))
}

// addsUp says whether a flag may be given several times.
func addsUp(v pflag.Value) bool {
	if _, own := v.(interface{ Repeats() }); own { // it refuses by itself what excludes each other
		return true
	}
	return slices.Contains([]string{"stringArray", "stringSlice", "stringToString"}, v.Type())
}

// onceValue is a value that is set at most once, and all texts that it was given.
type onceValue struct {
	pflag.Value
	given []string
}

func (v *onceValue) Set(s string) error {
	if len(v.given) == 0 {
		if err := v.Value.Set(s); err != nil {
			return err
		}
	}
	v.given = append(v.given, s)
	return nil
}
