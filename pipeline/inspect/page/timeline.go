package page

// Timeline is stretches of time in lanes, one under the other.
type Timeline struct {
	Caption string
	X       string
	Lanes   []Lane
	// From and To are the seconds that are shown; stretches are cut to them.
	From, To float64
}

// Lane is stretches of one kind. Those that overlap are drawn in several rows.
type Lane struct {
	Name  string
	Tone  Tone
	Spans []Span
}

// Span is a stretch of time in seconds; Title shows when pointed at.
type Span struct {
	Begin, End float64
	Title      string
}

// maxRows is the most rows of a lane; what overlaps more is drawn in the last.
const maxRows = 8

func (t *Timeline) write(w *writer) {
	if !(t.To > t.From) {
		Text("No data.").write(w)
		return
	}
	const row, gap, head = 17.0, 9.0, 8.0
	f := frame{right: chartWidth - 12, top: head, x0: t.From, x1: t.To}
	rows := make([][]int, len(t.Lanes))
	y := head
	for i := range t.Lanes {
		f.left = min(max(f.left, textWidth(t.Lanes[i].Name)+12), 140)
		var n int
		rows[i], n = pack(t.Lanes[i].Spans, (t.To-t.From)/chartWidth)
		y += row*float64(n) + gap
	}
	f.bottom = y
	w.open(t.Caption, "timeline", nil, y+44)
	at := ticks(t.From, t.To, 5, Seconds)
	for _, v := range at {
		w.printf("<path class=\"grid\" d=\"M%s %sV%s\"/>\n", num(f.x(v)), num(head), num(f.bottom))
	}
	y = head
	for i := range t.Lanes {
		l := &t.Lanes[i]
		n := 1
		w.printf("<g class=\"%s\">\n", l.Tone.class())
		w.text(f.left-10, y+row-5, "end", "strong", cut(l.Name, f.left-10))
		for k := range l.Spans {
			n = max(n, rows[i][k]+1)
			l.Spans[k].draw(w, &f, y+row*float64(rows[i][k]), row-3)
		}
		w.printf("</g>\n")
		y += row*float64(n) + gap
	}
	w.xAxis(&f, at, Seconds, t.X)
	w.close()
}

func (s *Span) draw(w *writer, f *frame, y, height float64) {
	lo, hi := max(s.Begin, f.x0), min(s.End, f.x1)
	if !(hi >= lo) {
		return
	}
	x := min(f.x(lo), f.right-1)
	w.printf("<rect class=\"block fill\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>\n",
		num(x), num(y), num(max(f.x(hi)-x, 1)), num(height), clean(s.Title))
}

// pack gives every span a row in which it meets no other, but for what no eye sees.
func pack(spans []Span, slack float64) (row []int, rows int) {
	var ends []float64
	row = make([]int, len(spans))
	for i, s := range spans {
		k := 0
		for k < len(ends) && ends[k] > s.Begin+slack && k < maxRows-1 {
			k++
		}
		if k == len(ends) {
			ends = append(ends, 0)
		}
		ends[k] = max(ends[k], s.End)
		row[i] = k
	}
	return row, max(len(ends), 1)
}
