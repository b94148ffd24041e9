package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/tokenize"
)

// ShowPlan is the result of a command.
func (o *IO) ShowPlan(x *pipeline.Prepared) {
	o.Object("plan", x.Facts())
	for _, l := range planLines(x) {
		o.Line("%s", l)
	}
}

// NotePlan prints the plan beside the results.
func (o *IO) NotePlan(x *pipeline.Prepared) {
	o.Object("plan", x.Facts())
	if o.Quiet {
		for _, l := range unreadLines(x) {
			o.warn("%s", l)
		}
		return
	}
	for _, l := range planLines(x) {
		o.noteLine("%s", l)
	}
}

// NoteMerge prints what a merge of sets will do.
func (o *IO) NoteMerge(m pipeline.SetsPlan) {
	o.Note("%-9s%s in %s, %s", "merge", printable.Of(m.Samples, "sample"), printable.Of(int64(m.Shards), "shard"), shardify.FormatSize(m.Bytes))
	if m.Changed > 0 {
		o.Note("%-9s%s: %s", "rewrite", printable.Of(int64(m.Changed), "shard"), m.Why)
	}
	for _, name := range m.Windows {
		o.Note("%-9s%s is left out: not all of the sets have it, of the same rows", "window", name)
	}
	for _, name := range m.Static {
		o.Note("%-9s%s is left out: not all of the sets have it", "static", name)
	}
	for _, l := range index.LostCoords(m.Coords) {
		o.Note("%-9s%s", "left out", inspect.Leftover(l))
	}
}

// Converted is the last thing that convert and merge say.
func (o *IO) Converted(r *pipeline.Result) error {
	m := r.Manifest
	o.Object("done", struct {
		Output  string  `json:"output"`
		Format  string  `json:"format"`
		Already bool    `json:"already_complete"`
		Samples int64   `json:"samples"`
		Skipped int64   `json:"skipped"`
		Shards  int64   `json:"shards"`
		Bytes   int64   `json:"bytes"`
		Seconds float64 `json:"seconds"`
		// Samples of the inputs that are in no output, and what else operations did.
		Dropped int64             `json:"dropped"`
		Counts  []shardify.Count  `json:"counts,omitempty"`
		Absent  []format.Leftover `json:"absent,omitempty"` // files of values that the inputs lack
	}{r.Output, m.Format, r.Already, m.Samples, r.Skipped(), r.Shards(), m.Bytes, r.Took.Seconds(), m.Dropped, m.Counts, absent(m)})
	word, rate := "already complete", ""
	if !r.Already {
		word, rate = "done", fmt.Sprintf(" (%s, peak memory %s)", printable.Seconds(r.Took.Seconds()), PeakMemory())
	}
	o.Result("%s: %s in %s, %s in %s%s", word, printable.Of(m.Samples, "sample"), printable.Of(r.Shards(), "shard"), shardify.FormatSize(m.Bytes), r.Output, rate)
	o.happened(m)
	o.Next(r.Output, m)
	return r.Incomplete()
}

// Next prints what can be done with a set, and which parts of it have no samples.
func (o *IO) Next(output string, m *index.Manifest) {
	if m.Samples == 0 {
		o.Result("empty: there is no sample in %s", output)
	} else {
		for _, name := range slices.Sorted(maps.Keys(m.Splits)) {
			if m.Splits[name].Samples == 0 {
				o.Result("empty: there is no sample in split %s", name)
			}
		}
	}
	o.Result("next: shardify verify %s", printable.Quote(output))
	if m.Samples > 0 {
		o.Result("      %s", UseLine(m.Format, trainFolder(output, m)))
	}
}

// trainFolder is the folder to train on: that of a split with samples, if there are several.
func trainFolder(output string, m *index.Manifest) string {
	if len(m.Splits) == 0 {
		return output
	}
	if m.Splits["train"].Samples > 0 {
		return storage.Join(output, "train")
	}
	names := slices.Sorted(maps.Keys(m.Splits))
	return storage.Join(output, names[max(slices.IndexFunc(names, func(n string) bool { return m.Splits[n].Samples > 0 }), 0)])
}

// happened prints what the operations did to samples and values.
func (o *IO) happened(m *index.Manifest) {
	if m.Dropped > 0 {
		kept := m.Samples
		if m.Documents > 0 {
			kept = m.Documents
		}
		of := kept - m.Copied + m.Dropped
		o.Result("kept: %s of %s, %s", printable.Count(of-m.Dropped), printable.Of(of, "sample"), printable.Percent(float64(of-m.Dropped)/float64(of)))
	}
	for _, c := range m.Counts {
		o.Result("  %s: %s", c.Name, printable.Count(c.N))
	}
	for _, l := range absent(m) {
		o.Result("  %s", inspect.Leftover(l))
	}
	for _, l := range tokenize.RatesOf(m.Counts) {
		o.Result("  %s", l)
	}
}

// absent are the files that the inputs should have had, or that were not read though they hold
// values: part of the data is not in the set.
func absent(m *index.Manifest) []format.Leftover {
	return slices.DeleteFunc(slices.Clone(m.LeftOut), func(l format.Leftover) bool { return l.Count == 0 || !l.Unreadable })
}

// SetDone is the last thing that merge-sets and extend say.
func (o *IO) SetDone(r *pipeline.Result) {
	m, word := r.Manifest, "done"
	if r.Already {
		word = "already complete"
	}
	parts := len(m.AsParts())
	o.Object("done", struct {
		Output  string  `json:"output"`
		Format  string  `json:"format"`
		Already bool    `json:"already_complete"`
		Samples int64   `json:"samples"`
		Shards  int64   `json:"shards"`
		Bytes   int64   `json:"bytes"`
		Parts   int     `json:"parts"`
		Seconds float64 `json:"seconds"`
	}{r.Output, m.Format, r.Already, m.Samples, r.Shards(), m.Bytes, parts, r.Took.Seconds()})
	o.Result("%s: %s in %s, %s in %s, of %s", word, printable.Of(m.Samples, "sample"), printable.Of(r.Shards(), "shard"), shardify.FormatSize(m.Bytes), r.Output, printable.Of(int64(parts), "part"))
	o.Next(r.Output, m)
}

// Staged says what a copy is.
func (o *IO) Staged(source string, r *stage.Result, took time.Duration) {
	o.Object("stage", struct {
		Source  string   `json:"source"`
		Path    string   `json:"path"`
		Sets    []string `json:"sets"`
		Already bool     `json:"already_complete"`
		Waited  bool     `json:"waited"`
		Files   int64    `json:"files"`
		Samples int64    `json:"samples"`
		Bytes   int64    `json:"bytes"`
		Reused  int64    `json:"reused_bytes"`
		Seconds float64  `json:"seconds"`
	}{source, r.Path, r.Sets, r.Already, r.Waited, r.Files, r.Samples, r.Bytes, r.Reused, took.Seconds()})
	what := printable.Of(r.Samples, "sample") + " in " + printable.Of(r.Files, "file") + ", " + shardify.FormatSize(r.Bytes)
	switch {
	case r.Waited:
		o.Result("done by another process: %s", what)
	case r.Already:
		o.Result("already there: %s", what)
	default:
		rate := ""
		if s := took.Seconds(); s > 0 {
			rate = ", " + shardify.FormatSize(int64(float64(r.Bytes-r.Reused)/s)) + "/s"
		}
		if r.Reused > 0 {
			o.Note("%s were left by an earlier run, and checked", shardify.FormatSize(r.Reused))
		}
		o.Result("done: %s, checked (%s%s)", what, printable.Seconds(took.Seconds()), rate)
	}
	for _, s := range r.Sets {
		o.Result("path: %s", strings.TrimSuffix(r.Path+"/"+s, "/"))
	}
}

// Unstaged says what was removed of a copy.
func (o *IO) Unstaged(r *pipeline.Removed) {
	o.Object("removed", struct {
		Path  string `json:"path"`
		None  bool   `json:"nothing_there"`
		Bytes int64  `json:"bytes"`
	}{r.Path, r.None, r.Bytes})
	if r.None {
		o.Result("nothing to remove: %s", r.Path)
	} else {
		o.Result("removed: %s, %s", r.Path, shardify.FormatSize(r.Bytes))
	}
}

// Worked says what a task has done.
func (o *IO) Worked(w *pipeline.Worked) {
	o.Object("work", struct {
		Output  string `json:"output"`
		Task    int    `json:"task"`
		Tasks   int    `json:"tasks"`
		Stride  int    `json:"stride,omitempty"`
		Units   int    `json:"units"`
		Shards  int64  `json:"shards"`
		Samples int64  `json:"samples"`
		Skipped int64  `json:"skipped"`
	}{w.Output, w.Task.Task, w.Task.Tasks, w.Task.Stride, w.Units, w.Shards, w.Samples, w.Skipped})
	if w.Skipped > 0 {
		o.Note("skipped %s", printable.Of(w.Skipped, "sample"))
	}
	o.Result("done: %s, %s", w.Task, printable.Of(w.Shards, "shard"))
	o.Result("next: shardify merge %s, when all tasks are done", printable.Quote(w.Output))
}

// Submitted shows which scripts there are, their text if it is asked for, and how they were
// submitted or can be.
func (o *IO) Submitted(r *pipeline.Submission, now, text bool) {
	switch {
	case r.Complete:
		o.Object("submit", struct {
			Complete bool `json:"already_complete"`
		}{true})
		o.Result("already complete: nothing to submit")
		return
	case r.Queued != "":
		o.Object("submit", struct {
			Queued string `json:"already_queued"`
		}{r.Queued})
		o.Result("nothing to submit: what is not done is in the queue, and job %s merges it", r.Queued)
		return
	}
	o.Object("submit", r)
	for _, s := range r.Scripts {
		if text {
			o.Result("# ---- %s\n%s", s.File, printable.Lines(strings.TrimRight(s.Text, "\n")))
		} else {
			o.Result("script:    %s", s.File)
		}
	}
	if text {
		o.Result("# ----")
	}
	if r.Site != "" {
		o.Result("defaults from %s", r.Site)
	}
	for _, n := range r.Notes {
		o.Result("chosen:    %s", n)
	}
	if !now {
		o.Result("next: the same command with --now, or:")
		for _, c := range r.Commands {
			o.Result("      %s", c)
		}
		return
	}
	all := true
	for _, s := range r.Scripts {
		if s.Job == "" { // an error follows
			all = false
			break
		}
		o.Result("submitted: %s, job %s", s.Stage, s.Job)
	}
	if all {
		o.Result("next: shardify status %s", printable.Quote(r.Output))
	}
}
