package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify/internal/printable"
)

// Unit is how numbers of an axis are written.
type Unit int

// The units.
const (
	Plain   Unit = iota // 0.25, 1,500, 2.5e7
	Seconds             // 20 µs, 1.5 s, 2 min
	Percent             // of 1: 0.5 is 50.0 %
)

// Format writes a number as all of shardify does.
func Format(x float64, u Unit) string {
	switch {
	case !finite(x):
		return "-"
	case u == Percent:
		return printable.Percent(x)
	case u == Seconds && x != 0:
		return printable.Seconds(x)
	}
	return printable.Value(x)
}

// ticks are up to about n round numbers from lo to hi.
func ticks(lo, hi float64, n int, u Unit) []float64 {
	if !(hi > lo) || n < 1 || math.IsInf(hi-lo, 0) {
		return []float64{lo}
	}
	step := niceStep((hi-lo)/float64(n), u)
	var out []float64
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		out = append(out, i*step)
		if len(out) > 4*n {
			break
		}
	}
	return out
}

// niceStep is the smallest round step that is not less than x.
func niceStep(x float64, u Unit) float64 {
	if u == Seconds && x > 5 {
		for _, s := range []float64{10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400} {
			if x <= s {
				return s
			}
		}
	}
	scale := math.Pow(10, math.Floor(math.Log10(x)))
	for _, k := range []float64{1, 2, 2.5, 5, 10} {
		if x <= k*scale*(1+1e-9) {
			return k * scale
		}
	}
	return 10 * scale
}

// alike writes numbers of one axis in one style: all with an exponent, or none.
func alike(at []float64, u Unit) []string {
	out := make([]string, len(at))
	exponents := false
	for i, v := range at {
		if out[i] = Format(v, u); u == Percent && finite(v) {
			out[i] = printable.Value(v*100) + " %" // no more decimal places than they need
		}
		exponents = exponents || u == Plain && strings.Contains(out[i], "e")
	}
	for i, v := range at {
		if exponents && finite(v) && v != 0 {
			out[i] = printable.Scientific(v)
		}
	}
	return out
}

// labels writes the numbers of one axis, times in one unit.
func labels(at []float64, u Unit) []string {
	out := alike(at, u)
	if u != Seconds || len(at) < 2 {
		return out
	}
	each, name := printable.TimeUnit(max(math.Abs(at[0]), math.Abs(at[len(at)-1])))
	step := (at[1] - at[0]) / each
	places := 0
	for places < 9 && math.Abs(step-math.Round(step)) > 1e-6*step {
		step, places = step*10, places+1
	}
	for i, v := range at {
		if out[i] = "0"; math.Abs(v) > 1e-9*math.Abs(at[1]-at[0]) {
			out[i] = printable.Fixed(v/each, places) + name
		}
	}
	return out
}

// Sizes of a chart, in the units of its viewBox.
const (
	chartWidth = 460
	charWidth  = 7.2 // of the 12 px text, on the generous side
	lineHeight = 16
)

func textWidth(s string) float64 { return float64(utf8.RuneCountInString(s)) * charWidth }

// cut shortens text to a width.
func cut(s string, width float64) string {
	n := int(width / charWidth)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(n-1, 1)]) + "…"
}

// frame is the inner rectangle of a chart with its two scales.
type frame struct {
	left, right, top, bottom float64
	x0, x1, y0, y1           float64
}

func (f *frame) x(v float64) float64 {
	return f.left + (v-f.x0)/(f.x1-f.x0)*(f.right-f.left)
}

func (f *frame) y(v float64) float64 {
	return f.bottom - (v-f.y0)/(f.y1-f.y0)*(f.bottom-f.top)
}

// open begins the figure: caption, legend, drawing.
func (w *writer) open(caption, label string, legend []Key, height float64) {
	w.printf("<figure>\n")
	if caption != "" {
		w.printf("<figcaption>%s</figcaption>\n", clean(caption))
	}
	if len(legend) > 0 {
		w.printf("<ul class=\"legend\">")
		for _, k := range legend {
			line := ""
			if k.Line {
				line = "dash "
			}
			w.printf("<li><i class=\"%s%s\"></i>%s</li>", line, k.Tone.class(), clean(k.Name))
		}
		w.printf("</ul>\n")
	}
	if caption != "" {
		label = caption
	}
	w.printf("<svg viewBox=\"0 0 %d %s\" role=\"img\" aria-label=\"%s\">\n", chartWidth, num(height), clean(label))
}

func (w *writer) close() { w.printf("</svg>\n</figure>\n") }

// Key is an entry of a legend.
type Key struct {
	Name string
	Tone Tone
	Line bool // a dashed line
}

// num writes a coordinate.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

func (w *writer) text(x, y float64, anchor, class, s string) {
	if class != "" {
		class = fmt.Sprintf(" class=%q", class)
	}
	w.printf("<text x=\"%s\" y=\"%s\" text-anchor=\"%s\"%s>%s</text>\n", num(x), num(y), anchor, class, clean(s))
}

// yAxis draws lines and numbers of the vertical scale, and its name above.
func (w *writer) yAxis(f *frame, at []float64, u Unit, name string) {
	text := labels(at, u)
	for i, v := range at {
		y := f.y(v)
		w.printf("<path class=\"grid\" d=\"M%s %sH%s\"/>\n", num(f.left), num(y), num(f.right))
		w.text(f.left-8, y+4, "end", "", text[i])
	}
	if name != "" {
		w.text(0, f.top-12, "start", "strong", cut(name, chartWidth))
	}
}

// xAxis draws the horizontal scale under the chart. Its last number may end at the
// right border, but not behind it.
func (w *writer) xAxis(f *frame, at []float64, u Unit, name string) {
	w.printf("<path class=\"axis\" d=\"M%s %sH%s\"/>\n", num(f.left), num(f.bottom), num(f.right))
	x := make([]float64, len(at))
	for i, v := range at {
		x[i] = f.x(v)
	}
	w.ticks(f, x, labels(at, u))
	if name != "" {
		name = cut(name, chartWidth)
		w.text(clampText((f.left+f.right)/2, name), f.bottom+37, "middle", "strong", name)
	}
}

// ticks draws marks under the chart with as many of their texts as have room: all,
// or every second, or every third, ...
func (w *writer) ticks(f *frame, x []float64, text []string) {
	every := 1
	for !apart(x, text, every) {
		every++
	}
	for i, s := range text {
		if i%every == 0 {
			w.printf("<path class=\"axis\" d=\"M%s %sv5\"/>\n", num(x[i]), num(f.bottom))
			w.text(clampText(x[i], s), f.bottom+19, "middle", "", s)
		}
	}
}

func apart(x []float64, text []string, every int) bool {
	end := math.Inf(-1)
	for i := 0; i < len(text); i += every {
		at, half := clampText(x[i], text[i]), textWidth(text[i])/2
		if at-half < end {
			return false
		}
		end = at + half + charWidth
	}
	return true
}

// clampText moves the middle of a text so that it stays inside the drawing.
func clampText(x float64, s string) float64 {
	half := textWidth(s) / 2
	return min(max(x, half), chartWidth-half)
}
