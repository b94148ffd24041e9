package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
)

// Reading reports how far a pass over data is; its first line comes after some time.
func (o *IO) Reading() func(pipeline.Progress) {
	return func(p pipeline.Progress) {
		if p.Seconds >= 1 {
			o.Note("read %s, %s", printable.Of(p.Samples, "sample"), shardify.FormatSize(p.Bytes))
		}
	}
}

// Statistics shows what a pass over data has found, and writes the page, if there is a file.
// Splits have a report each; empty are those without samples.
func (o *IO) Statistics(all []inspect.SplitReport, empty []string, r inspect.Request, took time.Duration, file *OutFile, name string) error {
	var samples int64
	for i := range all {
		o.Object("statistics", all[i])
		if !o.JSON {
			if all[i].Split != "" {
				o.Result("%s:", all[i].Split)
			}
			inspect.WriteStats(o.Out, all[i].Report)
		}
		samples += all[i].Samples
	}
	if empty != nil {
		o.Result("without samples: %s", strings.Join(empty, ", "))
	}
	if file == nil {
		return nil
	}
	names := r.Inputs
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("and %d more", len(r.Inputs)-3))
	}
	lead := []string{fmt.Sprintf("%s, read as %s in %s.", printable.Of(samples, "sample"), r.Format.Name, printable.Seconds(took.Seconds()))}
	w := bufio.NewWriter(file)
	title := "Statistics of " + strings.Join(names, ", ")
	p := inspect.Page(title, lead, all[0].Report)
	if all[0].Split != "" {
		p = inspect.SplitsPage(title, lead, all, empty)
	}
	if err := errors.Join(p.Write(w), w.Flush()); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	o.Result("\nwrote %s", name)
	return nil
}

// StatisticsNPY writes the figures as arrays into a folder, or into one for each split in it.
func (o *IO) StatisticsNPY(all []inspect.SplitReport, dir string) error {
	for _, x := range all {
		if err := o.statisticsNPY(x.Report, filepath.Join(dir, x.Split)); err != nil {
			return err
		}
	}
	return nil
}

func (o *IO) statisticsNPY(rep *stats.Report, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	n := 0
	err := inspect.NPY(rep, func(name string, data []byte) error {
		n++
		f, err := CreateFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Abort()
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Commit()
	})
	if err == nil {
		o.Result("\nwrote %s into %s", printable.Of(int64(n), "array"), dir)
	}
	return err
}
