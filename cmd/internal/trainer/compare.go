package trainer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect/page"
)

// Named is a report as bench --json prints it.
type Named struct {
	Type string   `json:"type"`
	Path []string `json:"path"`
	Report
}

// maxRuns bounds what one comparison shows.
const maxRuns = 1000

// ReadReports reads the objects of bench --json, one after the other.
func ReadReports(r io.Reader, name string) (out []Named, err error) {
	d := json.NewDecoder(io.LimitReader(r, 64<<20))
	for {
		var n Named
		err := d.Decode(&n)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: object %d is not what bench --json prints: %v: %w", name, len(out)+1, err, shardify.ErrCorrupt)
		case n.Type != "bench":
			return nil, fmt.Errorf("%s: object %d is of type %q, not of bench --json: %w", name, len(out)+1, n.Type, shardify.ErrSchema)
		case len(out) == maxRuns:
			return nil, fmt.Errorf("%s: more than %d runs: %w", name, maxRuns, shardify.ErrUnsupported)
		}
		out = append(out, n)
	}
}

// comparison is runs side by side: their settings where these differ, and what came out.
type comparison struct {
	Runs []Named `json:"runs"`
	// Notes say what makes the runs hard to compare.
	Notes []string `json:"notes,omitempty"`
	// differ are the settings that are not the same in all runs.
	differ []setting
}

// setting is one that a sweep may vary. Those with number make the axis of a chart.
type setting struct {
	name   string
	text   func(*Named) string
	number func(*Named) int
}

func count(name string, of func(*Named) int) setting {
	return setting{name, func(n *Named) string { return printable.Count(int64(of(n))) }, of}
}

var compared = []setting{
	{"set", func(n *Named) string { return strings.Join(n.Path, ", ") }, nil},
	count("batch", func(n *Named) int { return n.Settings.Batch }),
	{"columns", func(n *Named) string { return printable.Few(n.Settings.Columns) }, nil},
	{"step", func(n *Named) string { return printable.Seconds(n.Settings.StepSeconds) }, nil},
	{"shuffle", func(n *Named) string { return n.Settings.Shuffle }, nil},
	{"device", func(n *Named) string { return n.Settings.Device }, nil},
	{"tier", func(n *Named) string { return n.Settings.Tier }, nil},
	count("workers", func(n *Named) int { return n.Settings.Workers }),
	count("depth", func(n *Named) int { return n.Settings.Depth }),
	count("ranks", func(n *Named) int { return n.Settings.Ranks }),
	{"synthetic", func(n *Named) string { return strconv.FormatBool(n.Settings.Synthetic) }, nil},
}

// Compare puts runs side by side.
func Compare(runs []Named) *comparison {
	c := &comparison{Runs: runs}
	for _, s := range compared {
		if varies(runs, s.text) {
			c.differ = append(c.differ, s)
		}
	}
	if varies(runs, func(n *Named) string { return n.Settings.Fingerprint }) {
		c.Notes = append(c.Notes, "the runs read different data")
	}
	if varies(runs, func(n *Named) string { return fmt.Sprint(n.Settings.Cores, n.Device.Name) }) {
		c.Notes = append(c.Notes, "the runs had different processors or GPUs")
	}
	return c
}

func varies(runs []Named, text func(*Named) string) bool {
	return slices.ContainsFunc(runs, func(n Named) bool { return text(&n) != text(&runs[0]) })
}

// table has a row for each run. Rates are compared with the first run's.
func (c *comparison) table() (head []string, rows [][]string) {
	for _, s := range c.differ {
		head = append(head, s.name)
	}
	head = append(head, "samples/s", "of the first", "bytes/s", "utilisation", "wait p99", "core-s/GiB", "limit")
	for i := range c.Runs {
		n := &c.Runs[i]
		var row []string
		for _, s := range c.differ {
			row = append(row, s.text(n))
		}
		of, used := "-", "-"
		if first := c.Runs[0].SamplesPerSecond; first > 0 {
			of = printable.Percent(n.SamplesPerSecond / first)
		}
		if n.Settings.StepSeconds > 0 {
			used = printable.Percent(n.Utilization)
		}
		rows = append(rows, append(row, rate(n.SamplesPerSecond), of, bytesRate(n.BytesPerSecond), used, printable.Seconds(n.Wait.P99), printable.Value(n.CPU.perGiB()), n.Limit))
	}
	return head, rows
}

// WriteText writes the comparison for people.
func (c *comparison) WriteText(w io.Writer) {
	head, rows := c.table()
	width := make([]int, len(head))
	rows = append([][]string{head}, rows...)
	for _, r := range rows {
		for i, v := range r {
			width[i] = max(width[i], len([]rune(printable.Name(v))))
		}
	}
	for _, r := range rows {
		line := ""
		for i, v := range r {
			line += printable.Name(v) + strings.Repeat(" ", width[i]-len([]rune(printable.Name(v)))+2)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	for _, n := range c.Notes {
		fmt.Fprintln(w, "note:", n)
	}
}

// Page is the comparison as a page: the table, the rates as bars, and over each number that a
// sweep varies.
func (c *comparison) Page() *page.Page {
	head, rows := c.table()
	right := make([]bool, len(head))
	for i := len(c.differ); i < len(head)-1; i++ {
		right[i] = true
	}
	p := &page.Page{Title: fmt.Sprintf("bench: %s compared", printable.Of(int64(len(c.Runs)), "run")), Lead: c.Notes}
	p.Sections = []page.Section{{Title: "Runs", Parts: []page.Part{&page.Table{Head: head, Rows: rows, Right: right, Dense: true}}}}
	bars := &page.Bars{Caption: "samples a second"}
	for i := range c.Runs {
		n := &c.Runs[i]
		bars.Bars = append(bars.Bars, page.Bar{Name: c.name(n, ""), Value: n.SamplesPerSecond, Text: rate(n.SamplesPerSecond)})
	}
	rates := page.Section{Title: "Rates", Parts: []page.Part{bars}}
	for _, s := range c.differ {
		if s.number != nil {
			rates.Parts = append(rates.Parts, c.over(s))
		}
	}
	p.Sections = append(p.Sections, rates)
	return p
}

// name is a run's settings, as far as they differ, but for one.
func (c *comparison) name(n *Named, but string) string {
	var list []string
	for _, s := range c.differ {
		if s.name != but {
			list = append(list, s.name+" "+s.text(n))
		}
	}
	return strings.Join(list, ", ")
}

// over is the rate over one setting, with a line for each combination of the others.
func (c *comparison) over(s setting) page.Part {
	type point struct{ x, y float64 }
	points := map[string][]point{}
	var names []string
	for i := range c.Runs {
		n := &c.Runs[i]
		name := c.name(n, s.name)
		if points[name] == nil {
			names = append(names, name)
		}
		points[name] = append(points[name], point{float64(s.number(n)), n.SamplesPerSecond})
	}
	l := &page.Lines{X: s.name, Y: "samples a second"}
	for i, name := range names {
		if i == page.Tones { // more would share colours; the table has them
			break
		}
		list := points[name]
		slices.SortStableFunc(list, func(a, b point) int { return cmp.Compare(a.x, b.x) })
		line := page.Series{Name: name, Tone: page.Tone(i)}
		for _, p := range list {
			line.X, line.Y = append(line.X, p.x), append(line.Y, p.y)
		}
		l.Series = append(l.Series, line)
	}
	return l
}
