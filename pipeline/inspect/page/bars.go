package page

import (
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify/internal/printable"
)

// Bars is amounts side by side, each with its name, as horizontal bars.
type Bars struct {
	Caption string
	Unit    Unit
	Bars    []Bar
}

// Bar is one amount. Text, if set, replaces the number.
type Bar struct {
	Name  string
	Value float64
	Text  string
	Tone  Tone
}

func (b *Bars) write(w *writer) {
	const row, bar = 26.0, 16.0
	left, right, most := 0.0, 0.0, 0.0
	texts := make([]string, len(b.Bars))
	for i := range b.Bars {
		x := &b.Bars[i]
		if texts[i] = x.Text; texts[i] == "" {
			texts[i] = Format(x.Value, b.Unit)
		}
		left, right = max(left, textWidth(x.Name)+12), max(right, textWidth(texts[i])+10)
		if finite(x.Value) {
			most = max(most, x.Value)
		}
	}
	left, right = min(left, 170), chartWidth-min(right, 170)
	w.open(b.Caption, "bars", nil, row*float64(len(b.Bars))+6)
	for i := range b.Bars {
		x := &b.Bars[i]
		y := row*float64(i) + 4
		width := 0.0
		if most > 0 && finite(x.Value) {
			width = max(x.Value, 0) / most * (right - left)
		}
		w.printf("<g><title>%s: %s</title>\n", clean(x.Name), clean(texts[i]))
		w.text(left-10, y+bar-4, "end", "", cut(x.Name, left-10))
		w.printf("<rect class=\"fill %s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"2\"/>\n", x.Tone.class(), num(left), num(y), num(max(width, 1)), num(bar))
		w.text(left+width+6, y+bar-4, "start", "strong", cut(texts[i], chartWidth-left-width-6))
		w.printf("</g>\n")
	}
	w.close()
}

// Histogram is how often values fell between borders. Bins are drawn equally wide,
// whatever their borders are.
type Histogram struct {
	Caption string
	X, Y    string
	Unit    Unit // of the borders
	Bins    []Bin
	// Compact: one shape for all bins, which shows no single bin when pointed at.
	Compact bool
	Tone    Tone
}

// Bin is values from Lo up to but without Hi.
type Bin struct {
	Lo, Hi float64
	Count  float64
}

func (h *Histogram) write(w *writer) {
	if len(h.Bins) == 0 {
		Text("No data.").write(w)
		return
	}
	const height = 230.0
	f := frame{top: 28, bottom: height - 44, right: chartWidth - 14, x1: float64(len(h.Bins))}
	top, total := 0.0, 0.0
	for _, b := range h.Bins {
		if finite(b.Count) {
			top, total = max(top, b.Count), total+b.Count
		}
	}
	if top <= 0 {
		top = 1
	}
	yt := whole(ticks(0, top*1.02, 4, Plain))
	f.y1 = max(top, yt[len(yt)-1])
	for _, v := range labels(yt, Plain) {
		f.left = max(f.left, textWidth(v)+12)
	}
	// Few bins are not stretched over the whole page.
	f.right = min(f.right, f.left+90*float64(len(h.Bins)))
	w.open(h.Caption, h.Y+" by "+h.X, nil, height)
	w.yAxis(&f, yt, Plain, h.Y)
	w.printf("<path class=\"axis\" d=\"M%s %sH%s\"/>\n", num(f.left), num(f.bottom), num(f.right))
	var path strings.Builder
	for i, b := range h.Bins {
		x, next := f.x(float64(i)), f.x(float64(i+1))
		if b.Count > 0 && h.Compact {
			y := min(f.y(b.Count), f.bottom-1)
			path.WriteString("M" + num(x+0.5) + " " + num(f.bottom) + "V" + num(y) + "H" + num(max(next-0.5, x+1)) + "V" + num(f.bottom))
		} else if b.Count > 0 {
			y := min(f.y(b.Count), f.bottom-1)
			w.printf("<rect class=\"fill %s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s to %s: %s (%s)</title></rect>\n", h.Tone.class(),
				num(x+0.5), num(y), num(max(next-x-1, 0.5)), num(f.bottom-y), Format(b.Lo, h.Unit), Format(b.Hi, h.Unit), Format(b.Count, Plain), Format(b.Count/max(total, 1), Percent))
		}
	}
	if path.Len() > 0 {
		w.printf("<path class=\"fill %s\" d=\"%s\"/>\n", h.Tone.class(), path.String())
	}
	h.borders(w, &f)
	if h.X != "" {
		name := cut(h.X, chartWidth)
		w.text(clampText((f.left+f.right)/2, name), f.bottom+37, "middle", "strong", name)
	}
	w.close()
}

// borders writes the numbers under the bins: round ones where all bins are equally wide and
// many, else their borders.
func (h *Histogram) borders(w *writer, f *frame) {
	lo, hi := h.Bins[0].Lo, h.Bins[len(h.Bins)-1].Hi
	if len(h.Bins) > 12 && h.even(lo, hi) {
		at := ticks(lo, hi, 6, h.Unit)
		x := make([]float64, len(at))
		for i, v := range at {
			x[i] = f.left + (v-lo)/(hi-lo)*(f.right-f.left)
		}
		w.ticks(f, x, distinct(at, h.Unit))
		return
	}
	var x, values []float64
	add := func(i int, v float64) {
		if !math.IsInf(v, 0) {
			x, values = append(x, f.x(float64(i))), append(values, v)
		}
	}
	for i, b := range h.Bins {
		add(i, b.Lo)
	}
	add(len(h.Bins), h.Bins[len(h.Bins)-1].Hi)
	w.ticks(f, x, distinct(values, h.Unit))
}

// even reports whether all bins have one width.
func (h *Histogram) even(lo, hi float64) bool {
	each := (hi - lo) / float64(len(h.Bins))
	for i, b := range h.Bins {
		if !(math.Abs(b.Lo-lo-each*float64(i)) <= 1e-3*each) {
			return false
		}
	}
	return finite(each) && each > 0 && each > 1e-9*max(math.Abs(lo), math.Abs(hi))
}

// distinct writes numbers in ascending order, with as many digits as make neighbours differ.
func distinct(values []float64, u Unit) []string {
	out := alike(values, u)
	same := false
	for i := range values {
		same = same || i > 0 && out[i] == out[i-1]
	}
	if !same || u != Plain {
		return out
	}
	step, most := values[len(values)-1]-values[0], 0.0
	for i, v := range values {
		most = max(most, math.Abs(v))
		if i > 0 && v > values[i-1] {
			step = min(step, v-values[i-1])
		}
	}
	places := max(int(math.Ceil(-math.Log10(step))), 0)
	for i, v := range values {
		if most < 1e12 && places < 9 {
			out[i] = printable.Fixed(v, places)
		} else {
			out[i] = strconv.FormatFloat(v, 'g', min(max(int(math.Ceil(math.Log10(most/step)))+1, 3), 15), 64)
		}
	}
	return out
}

// whole keeps the ticks of a count that are whole numbers.
func whole(list []float64) []float64 {
	out := list[:0]
	for _, v := range list {
		if v == math.Trunc(v) {
			out = append(out, v)
		}
	}
	return out
}
