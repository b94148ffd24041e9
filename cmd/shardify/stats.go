package main

import (
	"context"
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/spf13/pflag"
)

// statsFlags ask for a pass over the data.
type statsFlags struct {
	stats     bool
	html, npy string
	s         pipeline.StatsSettings
	running   pipeline.Settings
}

func addStats(fs *pflag.FlagSet) *statsFlags {
	f := &statsFlags{}
	cli.Grouped(fs, "Statistics", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.stats, "stats", false, "read all data once: extremes, quantiles, histograms, class balance, lengths, NaN, missing values")
		fs.StringVar(&f.html, "html", "", "write the statistics as one self-contained page to `FILE`.html, with charts and images")
		fs.StringVar(&f.npy, "npy", "", "write mean, std, min and max of each field, or of each of its channels, as arrays of NumPy into the folder `DIR`")
		fs.BoolVar(&f.s.Duplicates, "duplicates", false, "look for samples that occur more than once; takes 32 bytes of memory a sample")
		cli.AddKeys(fs, &f.running, "jobs", "memory")
		fs.Lookup("jobs").Usage = "parts read at the same time; the cores of the machine or allocation if left out"
	})
	return f
}

func (f *statsFlags) wanted() bool { return f.stats || f.s.Duplicates || f.html != "" || f.npy != "" }

// thumbnails is how many images of a field a page shows.
const thumbnails = 24

// stats reads everything once and shows what it found.
func (p *program) stats(ctx context.Context, f *statsFlags, r inspect.Request) (err error) {
	var file *cli.OutFile
	if f.html != "" { // first: a name that cannot be written to costs no time then
		if file, err = cli.CreateFile(f.html); err != nil {
			return err
		}
		defer file.Abort()
		f.s.Thumbnails = thumbnails
	}
	f.s.Jobs, f.s.Memory, f.s.Opened = f.running.Jobs, f.running.Memory, limitMemory
	f.s.Hooks = pipeline.Hooks{Progress: p.Reading(), Every: time.Minute}
	start := time.Now()
	all, empty, err := pipeline.StatsOf(ctx, r, f.s)
	if err != nil {
		return err
	}
	if err := p.Statistics(all, empty, r, time.Since(start), file, f.html); err != nil || f.npy == "" {
		return err
	}
	return p.StatisticsNPY(all, f.npy)
}
