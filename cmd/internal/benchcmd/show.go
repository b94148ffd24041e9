package benchcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/trainer"
	"github.com/shardify/shardify/internal/printable"
)

// show prints a report.
func show(o *cli.IO, dirs []string, f *flags, r *trainer.Report) {
	next := advice(dirs, r)
	o.Object("bench", struct {
		Path []string `json:"path"`
		*trainer.Report
		Trace string `json:"trace,omitempty"`
		HTML  string `json:"html,omitempty"`
		Next  string `json:"next,omitempty"`
	}{dirs, r, f.trace, f.html, next})
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			o.Line("%-13s%s", name, text)
		}
	}
	for _, n := range r.Notes {
		o.Note("%s", n)
	}
	s := &r.Settings
	line("set", "%s in %s, %s", printable.Of(s.Samples, "sample"), strings.Join(dirs, ", "), columns(s.Columns))
	line("run", "%s", r.Run())
	line("rate", "%s", r.Rate())
	if b := r.Bound; b != nil {
		line("at most", "%s if batches cost nothing (measured with synthetic ones): %s of that was reached", trainer.Rates(b.SamplesPerSecond, b.BytesPerSecond), printable.Percent(min(b.Reached, 1)))
	}
	if r.Steps > 1 {
		if s.StepSeconds > 0 {
			line("utilisation", "%s of the time went to the accelerator's steps%s", printable.Percent(r.Utilization), r.LateText())
		}
		w := &r.Wait
		line("wait", "p50 %s, p99 %s, at most %s a step", printable.Seconds(w.P50), printable.Seconds(w.P99), printable.Seconds(w.Max))
	}
	line("first batch", "%s", r.FirstText())
	line("work", "read %s, gather %s, copy %s (summed over %s)", printable.Seconds(r.Work.Read), printable.Seconds(r.Work.Gather), printable.Seconds(r.Work.Copy), printable.Of(int64(s.Workers*s.Ranks), "worker"))
	line("cpu", "%s: %s, %s cores busy", printable.Seconds(r.CPU.Seconds), r.CPUText(), printable.Fixed(r.CPU.Cores, 2))
	line("memory", "%s; the process had %s at most", r.MemoryText(), cli.PeakMemory())
	line("read", "%s", r.ReadText())
	ranks(o, r)
	line("verdict", "%s", verdict(r))
	for _, x := range [][2]string{{"trace", f.trace}, {"page", f.html}} {
		line(x[0], "%s", x[1])
	}
	if next != "" {
		o.Result("next: %s", next)
	}
}

func columns(list []string) string {
	const most = 6
	if len(list) > most {
		return fmt.Sprintf("%s columns: %s, ...", printable.Count(int64(len(list))), strings.Join(list[:most], ", "))
	}
	return printable.Of(int64(len(list)), "column") + ": " + strings.Join(list, ", ")
}

// ranks prints a line for each of several ranks.
func ranks(o *cli.IO, r *trainer.Report) {
	const most = 16
	for i := range r.Ranks {
		if i == most {
			o.Result("  ... and %d more (--json has all)", len(r.Ranks)-most)
			return
		}
		k := &r.Ranks[i]
		o.Result("  rank %-3d %12s samples/s, utilisation %s, wait p99 %s", i, printable.Count(int64(k.SamplesPerSecond)), printable.Percent(k.Utilization), printable.Seconds(k.Wait.P99))
	}
}

func verdict(r *trainer.Report) string {
	if r.Verdict == "" {
		return "too few batches for a verdict"
	}
	return r.Verdict
}

// advice is the command that may help, "" without one.
func advice(dirs []string, r *trainer.Report) string {
	s := &r.Settings
	switch {
	case s.Synthetic || r.Limit != "read" || len(dirs) != 1 || s.Tier != "stream":
		return ""
	case r.Storage > r.ReadBytes/10:
		name := filepath.Base(filepath.Clean(dirs[0]))
		return fmt.Sprintf("shardify stage %s %s, if %s fit there; or more --workers", printable.Quote(dirs[0]), printable.Quote("/dev/shm/"+name), shardify.FormatSize(s.Bytes))
	case s.Workers*s.Ranks < s.Cores:
		return fmt.Sprintf("the same with --workers %d", max(s.Cores/s.Ranks, 1))
	}
	return ""
}
