package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/inspect"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/stats"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
	"github.com/spf13/pflag"
)

// statsFlags ask for a pass over the data.
type statsFlags struct {
	stats, duplicates bool
	html              string
	s                 pipeline.Settings
}

func addStats(fs *pflag.FlagSet) *statsFlags {
	f := &statsFlags{}
	cli.Grouped(fs, "Statistics", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.stats, "stats", false, "read all data once: extremes, quantiles, histograms, class balance, lengths, NaN, missing values")
		fs.StringVar(&f.html, "html", "", "write the statistics as one self-contained page to `FILE`.html, with charts and images")
		fs.BoolVar(&f.duplicates, "duplicates", false, "look for samples that are there more than once; takes 32 bytes of memory a sample")
		cli.AddKeys(fs, &f.s, "jobs", "memory")
		fs.Lookup("jobs").Usage = "parts read at the same time; the cores of the machine or allocation if left out"
	})
	return f
}

func (f *statsFlags) wanted() bool { return f.stats || f.duplicates || f.html != "" }

// thumbnails is how many images of a field a page shows.
const thumbnails = 24

// stats reads everything once and shows what it found.
func (p *program) stats(ctx context.Context, f *statsFlags, r inspect.Request) error {
	jobs, _ := host.This().Jobs(f.s.Jobs)
	memory, _ := host.This().Budget(f.s.Memory)
	o, err := readers.Open(ctx, r.Format, readers.Request{Inputs: r.Inputs, Columns: r.Columns, Options: r.Options, Jobs: jobs, Asked: r.Asked, Follow: r.Follow})
	if err != nil {
		return err
	}
	defer o.Source.Close()
	limitMemory(memory)
	var file *cli.OutFile
	if f.html != "" { // first: a name that cannot be written to costs no time then
		if file, err = cli.CreateFile(f.html); err != nil {
			return err
		}
		defer file.Abort()
	}
	want := stats.Options{}
	if f.duplicates {
		want.Duplicates = memory / 2
		for _, field := range o.Source.Schema() {
			if inspect.IsOrigin(&field) { // copies of one sample have an origin each
				want.Aside = append(want.Aside, field.Name)
			}
		}
	}
	if f.html != "" {
		want.Thumbnails = thumbnails
	}
	var progress stats.Progress
	stop := p.tell(&progress)
	start := time.Now()
	set, err := stats.Run(ctx, o.Source, shardify.NewPool(memory/4), jobs, want, &progress)
	stop()
	if errors.Is(err, stats.ErrTooMany) {
		return shardify.Hint(err, "give it more: --memory, or leave --duplicates out")
	}
	if err != nil {
		return err
	}
	rep := set.Report()
	inspect.NameTypes(rep)
	p.Object("statistics", rep)
	if !p.JSON {
		inspect.WriteStats(p.Out, rep)
	}
	if file == nil {
		return nil
	}
	names := r.Inputs
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("and %d more", len(r.Inputs)-3))
	}
	title := "What is in"
	for i, n := range names {
		if i > 0 {
			title += ","
		}
		title += " " + n
	}
	lead := []string{fmt.Sprintf("%s, read as %s in %s.", printable.Of(rep.Samples, "sample"), r.Format.Name, printable.Seconds(time.Since(start).Seconds()))}
	w := bufio.NewWriter(file)
	if err := errors.Join(inspect.Page(title, lead, rep).Write(w), w.Flush()); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	p.Result("\nwrote %s", f.html)
	return nil
}

// tell notes once a minute how far a pass is.
func (p *program) tell(c *stats.Progress) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(time.Minute)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.Note("read %s, %s", printable.Of(c.Samples.Load(), "sample"), shardify.FormatSize(c.Bytes.Load()))
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
