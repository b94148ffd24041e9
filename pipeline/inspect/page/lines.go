package page

import (
	"math"
	"strings"
)

// Lines is values over a horizontal axis; the vertical one begins at 0.
type Lines struct {
	Caption      string
	X, Y         string // names of the axes
	XUnit, YUnit Unit
	Series       []Series
	Marks        []Mark
	// Top, if set, is where the vertical axis ends: 1 for shares.
	Top float64
}

// Series is one line. With one X more than Y, value i holds from X[i] to X[i+1]:
// averages over stretches of time are drawn as stairs.
type Series struct {
	Name string
	Tone Tone
	X, Y []float64
	Fill bool
}

// Mark is a horizontal line at a value, with its name.
type Mark struct {
	Name string
	Tone Tone
	Y    float64
}

const lineChartHeight = 250

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (l *Lines) write(w *writer) {
	f := frame{top: 28, bottom: lineChartHeight - 44, x0: math.Inf(1), x1: math.Inf(-1)}
	top := l.Top
	for i := range l.Series {
		for _, v := range l.Series[i].X {
			if finite(v) {
				f.x0, f.x1 = min(f.x0, v), max(f.x1, v)
			}
		}
		for _, v := range l.Series[i].Y {
			if finite(v) && l.Top == 0 {
				top = max(top, v)
			}
		}
	}
	if f.x0 > f.x1 {
		Text("No data.").write(w)
		return
	}
	if f.x1 == f.x0 {
		f.x1 = f.x0 + 1
	}
	marks := l.visible(top)
	for _, m := range marks {
		top = max(top, m.Y)
	}
	if top <= 0 {
		top = 1
	}
	yt := ticks(0, top*1.02, 5, l.YUnit)
	if l.Top > 0 {
		yt = ticks(0, top, 5, l.YUnit)
	}
	f.y1 = max(top, yt[len(yt)-1])
	for _, v := range labels(yt, l.YUnit) {
		f.left = max(f.left, textWidth(v)+12)
	}
	f.right = chartWidth - 12
	w.open(l.Caption, l.Y+" over "+l.X, l.legend(), lineChartHeight)
	w.yAxis(&f, yt, l.YUnit, l.Y)
	xt := ticks(f.x0, f.x1, 6, l.XUnit)
	if l.counts() {
		xt = whole(xt)
	}
	w.xAxis(&f, xt, l.XUnit, l.X)
	for i := range l.Series {
		l.Series[i].draw(w, &f)
	}
	for _, m := range marks {
		w.printf("<path class=\"mark stroke %s\" d=\"M%s %sH%s\"/>\n", m.Tone.class(), num(f.left), num(f.y(m.Y)), num(f.right))
	}
	w.close()
}

// counts reports whether an axis has whole numbers.
func (l *Lines) counts() bool {
	for i := range l.Series {
		for _, v := range l.Series[i].X {
			if v != math.Trunc(v) {
				return false
			}
		}
	}
	return l.XUnit == Plain
}

// legend names the series, if there are several, and the marks. One that would
// squeeze the lines to the ground is named, but not drawn.
func (l *Lines) legend() (out []Key) {
	if len(l.Series)+len(l.Marks) < 2 {
		return nil
	}
	for i := range l.Series {
		out = append(out, Key{l.Series[i].Name, l.Series[i].Tone, false})
	}
	for _, m := range l.Marks {
		if finite(m.Y) {
			out = append(out, Key{m.Name + ": " + Format(m.Y, l.YUnit), m.Tone, true})
		}
	}
	return out
}

// visible are the marks that do not squeeze the lines to the ground.
func (l *Lines) visible(top float64) (out []Mark) {
	for _, m := range l.Marks {
		if finite(m.Y) && (m.Y <= 4*top || top <= 0) {
			out = append(out, m)
		}
	}
	return out
}

// fewPoints is up to how many values each gets a dot.
const fewPoints = 40

func (s *Series) draw(w *writer, f *frame) {
	stairs := len(s.X) == len(s.Y)+1
	var path, area strings.Builder
	pen := false
	ground := num(f.bottom)
	lift := func() {
		if pen {
			area.WriteString("V" + ground + "Z")
		}
		pen = false
	}
	for i, v := range s.Y {
		if i >= len(s.X) || !finite(v) || !finite(s.X[i]) {
			lift()
			continue
		}
		x, y := num(f.x(s.X[i])), num(f.y(min(v, f.y1)))
		to := "L" + x + " " + y
		if stairs {
			to += "H" + num(f.x(s.X[i+1]))
		}
		if !pen {
			area.WriteString("M" + x + " " + ground)
		}
		area.WriteString(to)
		if !pen {
			to = "M" + to[1:]
		}
		path.WriteString(to)
		pen = true
	}
	lift()
	if s.Fill && area.Len() > 0 {
		w.printf("<path class=\"area fill %s\" d=\"%s\"/>\n", s.Tone.class(), area.String())
	}
	w.printf("<path class=\"line stroke %s\" d=\"%s\"><title>%s</title></path>\n", s.Tone.class(), path.String(), clean(s.Name))
	if len(s.Y) > fewPoints || stairs {
		return
	}
	for i, v := range s.Y {
		if i < len(s.X) && finite(v) && finite(s.X[i]) {
			w.printf("<circle class=\"fill %s\" cx=\"%s\" cy=\"%s\" r=\"2.6\"/>\n", s.Tone.class(), num(f.x(s.X[i])), num(f.y(min(v, f.y1))))
		}
	}
}
