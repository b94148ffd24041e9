package trainer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect/page"
)

// The colours of things, the same on the whole page.
const (
	toneStep page.Tone = iota
	toneWait
	toneRead
	toneGather
	toneCopy
	toneOther
)

var laneTones = map[string]page.Tone{"read": toneRead, "gather": toneGather, "copy": toneCopy, "wait": toneWait, "step": toneStep}

// Page is the report as a page. Charts are there if Options.Detail was set. set is
// what the data set is called.
func (r *Report) Page(set string) *page.Page {
	p := &page.Page{Title: "bench " + set, Lead: []string{r.Run() + "."}, Figures: r.figures()}
	if r.Verdict != "" {
		p.Lead = append(p.Lead, upper(r.Verdict)+".")
	}
	if r.detail != nil && r.Seconds > 0 {
		p.Sections = append(p.Sections, r.throughput(), r.time(), r.timeline(), r.waiting())
	}
	p.Sections = append(p.Sections, r.work(), r.settings())
	p.Foot = "Rates and shares leave out the first batch of every rank and what came before it. Utilisation is as DLIO (MLPerf Storage) defines it: the share of the time in which the accelerator computed."
	if r.Settings.Traced {
		p.Foot += " The timeline was recorded during the run, which costs some processor time."
	}
	return p
}

func upper(s string) string {
	return strings.ToUpper(s[:1]) + s[1:]
}

func (r *Report) figures() []page.Figure {
	f := []page.Figure{
		{Value: rate(r.SamplesPerSecond), Label: "samples a second"},
		{Value: shardify.FormatSize(int64(r.BytesPerSecond)), Label: "a second"},
		{Value: printable.Percent(r.Utilization), Label: "utilisation", Note: fmt.Sprintf("%s in %s%s", printable.Of(r.Steps, "step"), printable.Seconds(r.Seconds), r.LateText())},
		{Value: printable.Seconds(r.Wait.P50), Label: "wait a step, median", Note: fmt.Sprintf("p99 %s, at most %s", printable.Seconds(r.Wait.P99), printable.Seconds(r.Wait.Max))},
		{Value: printable.Value(r.CPU.perGiB()), Label: "core-seconds per GiB", Note: printable.Fixed(r.CPU.Cores, 2) + " cores busy"},
		{Value: printable.Seconds(r.First.Wait), Label: "to the first batch"},
	}
	if r.Settings.StepSeconds == 0 {
		f[2] = page.Figure{Value: printable.Count(r.Steps), Label: "steps", Note: "in " + printable.Seconds(r.Seconds) + ", with nothing computed"}
	}
	if b := r.Bound; b != nil {
		f[0].Note = printable.Percent(b.Reached) + " of " + rate(b.SamplesPerSecond) + ", which batches that cost nothing give"
	}
	return f
}

// points is into how many stretches the charts cut the time: one a step, if they
// are few.
func (r *Report) points() int {
	const most = 150
	return int(min(max(r.Steps-1, 1), most))
}

// edges are the borders of n stretches.
func edges(p *stretches, n int) []float64 {
	x := make([]float64, n+1)
	for i := range x {
		x[i] = float64(i) * p.Seconds
	}
	return x
}

const sinceFirst = "time since the first batch"

func (r *Report) throughput() page.Section {
	n := r.points()
	p := r.detail.flow.points(n, r.Seconds)
	x := edges(&p, n)
	samples := &page.Lines{
		X: sinceFirst, Y: "samples a second", XUnit: page.Seconds,
		Series: []page.Series{{Name: "samples a second", Tone: toneStep, X: x, Y: p.Rates[flowSamples], Fill: true}},
		Marks:  []page.Mark{{Name: "average", Tone: toneOther, Y: r.SamplesPerSecond}},
	}
	if b := r.Bound; b != nil {
		samples.Marks = append(samples.Marks, page.Mark{Name: "if batches cost nothing", Tone: toneGather, Y: b.SamplesPerSecond})
	}
	mib := make([]float64, n)
	for i, v := range p.Rates[flowBytes] {
		mib[i] = v / (1 << 20)
	}
	bytes := &page.Lines{
		X: sinceFirst, Y: "MiB a second", XUnit: page.Seconds,
		Series: []page.Series{{Name: "MiB a second", Tone: toneRead, X: x, Y: mib, Fill: true}},
	}
	return page.Section{Title: "Throughput", Text: "Delivered to " + who(r) + ", averaged over " + printable.Seconds(p.Seconds) + ".", Parts: []page.Part{samples, bytes}}
}

func who(r *Report) string {
	if r.Settings.Ranks > 1 {
		return printable.Of(int64(r.Settings.Ranks), "rank") + " together"
	}
	return "the trainer"
}

// time is where the trainers' time went.
func (r *Report) time() page.Section {
	n := r.points()
	p := r.detail.flow.points(n, r.Seconds)
	use := make([]float64, n)
	for i := range use {
		use[i] = math.NaN()
		if all := p.Rates[flowStep][i] + p.Rates[flowWait][i]; all > 0 {
			use[i] = p.Rates[flowStep][i] / all
		}
	}
	util := &page.Lines{
		Caption: "Share of the time in which the accelerator computed", X: sinceFirst, Y: "utilisation", XUnit: page.Seconds, YUnit: page.Percent, Top: 1,
		Series: []page.Series{{Name: "utilisation", Tone: toneStep, X: edges(&p, n), Y: use, Fill: true}},
	}
	b := r.detail.busy.points(n, r.Seconds)
	busy := &page.Lines{X: sinceFirst, Y: "workers busy", XUnit: page.Seconds}
	for i, l := range r.worked() {
		busy.Series = append(busy.Series, page.Series{Name: l, Tone: laneTones[l], X: edges(&b, n), Y: b.Rates[i]})
	}
	if r.Settings.StepSeconds == 0 { // nothing is computed, so there is no share of it
		return page.Section{Title: "What the loader did", Parts: []page.Part{busy}}
	}
	busy.Caption = "What the loader did meanwhile"
	return page.Section{Title: "Where the time went", Parts: []page.Part{util, busy}}
}

// shownSteps is how many steps a timeline shows.
const shownSteps = 12

func (r *Report) timeline() page.Section {
	s := page.Section{Title: "Timeline", Text: "A row for each kind of work; work of one kind at the same time is in several rows. Point at a block for its step, duration and bytes."}
	if r.Settings.Ranks > 1 {
		s.Text += fmt.Sprintf(" This is rank %d, which waited longest for one batch.", r.detail.rank)
	}
	from, to := window(r.detail.head, 0, shownSteps)
	from = max(from, -to/4) // the first batch may have taken long
	s.Parts = append(s.Parts, r.lanesOf("The first steps", r.detail.head, from, to))
	if at := worstStep(r.detail); at > shownSteps {
		from, to := window(r.detail.worst, at-shownSteps*2/3, shownSteps)
		s.Parts = append(s.Parts, r.lanesOf("Around the longest wait, "+printable.Seconds(r.detail.most), r.detail.worst, from, to))
	}
	return s
}

// worstStep is the place of the longest wait among the waits of the run, or 0.
func worstStep(d *detail) int {
	k := 0
	for _, e := range d.worst {
		if e.Lane != "wait" {
			continue
		}
		if k++; e.End-e.Begin == d.most {
			return k
		}
	}
	return 0
}

// window is the time of n waits and steps from the first-th wait on.
func window(list []Event, first, n int) (from, to float64) {
	from, k := math.Inf(1), 0
	for _, e := range list {
		if e.Lane != "wait" {
			continue
		}
		if k >= first && k < first+n {
			from, to = min(from, e.Begin), max(to, e.End)
		}
		k++
	}
	for _, e := range list { // the last step
		if e.Lane == "step" && e.Begin <= to && k < first+n {
			to = max(to, e.End)
		}
	}
	if from > to {
		return 0, 0
	}
	return from, to
}

// worked are the lanes that have anything to show: without a device nothing is copied to one.
func (r *Report) worked() []string {
	if r.Settings.Device == "host" {
		return lanes[:2]
	}
	return lanes
}

func (r *Report) lanesOf(caption string, list []Event, from, to float64) page.Part {
	t := &page.Timeline{Caption: caption, X: sinceFirst, From: from, To: to}
	for _, name := range append(slices.Clone(r.worked()), "wait", "step") {
		l := page.Lane{Name: name, Tone: laneTones[name]}
		for _, e := range list {
			if e.Lane == name && e.End >= from && e.Begin <= to {
				title := fmt.Sprintf("%s, step %d, %s", e.Name, e.Step, printable.Seconds(e.End-e.Begin))
				if e.Bytes > 0 {
					title += ", " + shardify.FormatSize(e.Bytes)
				}
				l.Spans = append(l.Spans, page.Span{Begin: e.Begin, End: e.End, Title: title})
			}
		}
		if len(l.Spans) > 0 {
			t.Lanes = append(t.Lanes, l)
		}
	}
	return t
}

func (r *Report) waiting() page.Section {
	h := &page.Histogram{X: "wait for a batch", Y: "steps", Unit: page.Seconds, Tone: toneWait}
	for _, b := range r.detail.waits {
		h.Bins = append(h.Bins, page.Bin{Lo: b.Lo, Hi: b.Hi, Count: float64(b.Count)})
	}
	w := &r.Wait
	text := fmt.Sprintf("Half of the steps waited %s or less, 99 of 100 %s or less, none longer than %s; together %s.",
		printable.Seconds(w.P50), printable.Seconds(w.P99), printable.Seconds(w.Max), printable.Seconds(w.Total))
	return page.Section{Title: "Waits", Text: text, Parts: []page.Part{h}}
}

func (r *Report) work() page.Section {
	bars := &page.Bars{Unit: page.Seconds}
	for i, v := range []float64{r.Work.Read, r.Work.Gather, r.Work.Copy}[:len(r.worked())] {
		bars.Bars = append(bars.Bars, page.Bar{Name: lanes[i], Value: v, Tone: laneTones[lanes[i]]})
	}
	bars.Bars = append(bars.Bars, page.Bar{Name: "wait of the trainer", Value: r.Wait.Total, Tone: toneWait}, page.Bar{Name: "steps of the trainer", Value: r.Work.Step, Tone: toneStep})
	s := page.Section{Title: "Work", Text: "Seconds summed over the loader's workers, from the beginning; below, those of the trainer.", Parts: []page.Part{bars}}
	if len(r.Ranks) == 0 {
		return s
	}
	t := &page.Table{Caption: "Ranks", Head: []string{"rank", "steps", "samples a second", "utilisation", "wait p50", "wait p99", "at most"}, Right: []bool{true, true, true, true, true, true, true}}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		t.Rows = append(t.Rows, []string{fmt.Sprint(i), printable.Count(k.Steps), rate(k.SamplesPerSecond), printable.Percent(k.Utilization),
			printable.Seconds(k.Wait.P50), printable.Seconds(k.Wait.P99), printable.Seconds(k.Wait.Max)})
	}
	s.Parts = append(s.Parts, t)
	return s
}

func (r *Report) settings() page.Section {
	s := &r.Settings
	t := &page.Table{Names: true}
	add := func(name, format string, args ...any) {
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf(format, args...)})
	}
	add("data set", "%s samples, %s of shards, fingerprint %s", printable.Count(s.Samples), shardify.FormatSize(s.Bytes), s.Fingerprint)
	add("columns", "%s", strings.Join(s.Columns, ", "))
	add("order", "%s; seed %d", s.Order, s.Seed)
	add("steps", "%s a rank, %s completed", printable.Count(r.Steps), printable.Of(r.Epochs, "epoch"))
	add("loader", "tier %s, %s and depth %d a rank", s.Tier, printable.Of(int64(s.Workers), "worker"), s.Depth)
	add("memory", "%s", r.MemoryText())
	add("read", "%s", r.ReadText())
	add("first batch", "%s", r.FirstText())
	device := s.Device
	if d := &r.Device; d.Name != "" {
		device += ": " + d.Name
	}
	add("device", "%s", device)
	if s.Cores > 0 {
		add("cores", "%d for this process", s.Cores)
	}
	if b := r.Bound; b != nil {
		add("at most", "%s: the same trainer on batches that cost nothing", Rates(b.SamplesPerSecond, b.BytesPerSecond))
	}
	parts := []page.Part{t}
	for _, n := range r.Notes {
		parts = append(parts, page.Text(upper(n)+"."))
	}
	return page.Section{Title: "Settings", Parts: parts}
}
