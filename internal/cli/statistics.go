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
	"github.com/shardify/shardify/internal/inspect"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/stats"
	"github.com/shardify/shardify/pipeline"
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
func (o *IO) Statistics(rep *stats.Report, r inspect.Request, took time.Duration, file *OutFile, name string) error {
	o.Object("statistics", rep)
	if !o.JSON {
		inspect.WriteStats(o.Out, rep)
	}
	if file == nil {
		return nil
	}
	names := r.Inputs
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("and %d more", len(r.Inputs)-3))
	}
	lead := []string{fmt.Sprintf("%s, read as %s in %s.", printable.Of(rep.Samples, "sample"), r.Format.Name, printable.Seconds(took.Seconds()))}
	w := bufio.NewWriter(file)
	if err := errors.Join(inspect.Page("Statistics of "+strings.Join(names, ", "), lead, rep).Write(w), w.Flush()); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	o.Result("\nwrote %s", name)
	return nil
}

// StatisticsNPY writes the figures as arrays into a folder.
func (o *IO) StatisticsNPY(rep *stats.Report, dir string) error {
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
