package page

// Side is parts side by side, in columns with a heading each.
type Side []Column

// Column is one of them.
type Column struct {
	Title string
	Parts []Part
}

func (s Side) write(w *writer) {
	w.printf("<div class=\"side\">\n")
	for _, c := range s {
		w.printf("<div>\n<h3>%s</h3>\n", clean(c.Title))
		for _, x := range c.Parts {
			x.write(w)
		}
		w.printf("</div>\n")
	}
	w.printf("</div>\n")
}
