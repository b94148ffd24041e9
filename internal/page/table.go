package page

// Table is rows of text. Columns named in Right are numbers and stand to the right.
type Table struct {
	Caption string
	Head    []string // nil: none
	Rows    [][]string
	Right   []bool
	// Names: the first column names the row.
	Names bool
	// Dense: many columns; no line is broken.
	Dense bool
}

func (t *Table) write(w *writer) {
	if t.Caption != "" {
		w.printf("<h3>%s</h3>\n", clean(t.Caption))
	}
	dense := ""
	if t.Dense {
		dense = ` class="dense"`
	}
	w.printf("<div class=\"scroll\"><table%s>\n", dense)
	if t.Head != nil {
		w.printf("<thead><tr>")
		for i, h := range t.Head {
			w.printf("<th%s>%s</th>", t.class(i), clean(h))
		}
		w.printf("</tr></thead>\n")
	}
	w.printf("<tbody>\n")
	for _, r := range t.Rows {
		w.printf("<tr>")
		for i, v := range r {
			if i == 0 && t.Names {
				w.printf("<th scope=\"row\">%s</th>", clean(v))
				continue
			}
			w.printf("<td%s>%s</td>", t.class(i), clean(v))
		}
		w.printf("</tr>\n")
	}
	w.printf("</tbody></table></div>\n")
}

func (t *Table) class(i int) string {
	if i < len(t.Right) && t.Right[i] {
		return ` class="num"`
	}
	return ""
}
