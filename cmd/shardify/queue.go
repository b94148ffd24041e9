package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/queues"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func queueCommand(p *program, e *queues.Engine) *cobra.Command {
	example := "shardify submit " + e.Name + " photos-shards --print"
	if e.Name == "kubernetes" {
		example += " --image IMAGE --volume data:/data"
	}
	return submission(p, e.Name, e.Lacks, &cobra.Command{
		Use:   e.Name + " FOLDER [-- FLAG OF work...]",
		Short: "write the job files of an array and a merge for " + e.Title,
		Long: "Writes job files for " + e.Title + `: an array that does the tasks of the plan in FOLDER (two arrays with --shuffle global), and the merge,
which starts after them. --print shows them, --now submits them. Cores, memory and time come from the plan if left out.

Put settings that your site always needs into ~/.config/shardify/` + e.Name + `.yaml, or name a file with --site; the command line overrides
them. Words after -- are flags of work. See ` + e.Page + `.`,
		Example: example,
	})
}

// submission adds the flags of a submission, but for those that its engine lacks, and what the command does.
func submission(p *program, engine string, lacks []string, c *cobra.Command) *cobra.Command {
	s := pipeline.SubmitSettings{Engine: engine}
	var text bool
	cli.AddSubmission(c.Flags(), &s, lacks)
	cli.Grouped(c.Flags(), "Submission", func(fs *pflag.FlagSet) { fs.BoolVar(&text, "print", false, "print the scripts") })
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if n := c.ArgsLenAtDash(); n >= 0 {
			args, s.Work = args[:n], args[n:]
		}
		if err := cli.OneFolder(c, args); err != nil {
			return err
		}
		s.Folder = args[0]
		c.Flags().Visit(func(f *pflag.Flag) {
			if f.Value.String() == "" {
				s.Empty = append(s.Empty, f.Name)
			}
		})
		r, err := pipeline.Submit(c.Context(), s)
		if r != nil {
			p.Submitted(r, s.Now, text)
		}
		return err
	}
	return c
}
