package benchcmd

import (
	"os"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/trainer"
)

// compare shows the runs that files hold, each of one object of --json or of many.
func compare(o *cli.IO, files []string, html string) error {
	var runs []trainer.Named
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		list, err := trainer.ReadReports(f, name)
		f.Close()
		if err != nil {
			return err
		}
		runs = append(runs, list...)
	}
	if len(runs) < 2 {
		return shardify.Usage("--compare wants two runs or more, there is %d", len(runs))
	}
	c := trainer.Compare(runs)
	if html != "" {
		f, err := cli.CreateFile(html)
		if err != nil {
			return err
		}
		defer f.Abort()
		if err := c.Page().Write(f); err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	o.Shown("comparison", c)
	return nil
}
