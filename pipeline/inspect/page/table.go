package page

import (
	"fmt"
	"strings"
)

// Table is rows of text. Columns named in Right are numbers and are aligned right.
type Table struct {
	Caption string
	Head    []string // nil: none
	Rows    [][]string
	Right   []bool
	// Names: the first column names the row.
	Names bool
	// Links are IDs of sections that the first column leads to, by row; "" without a link.
	Links []string
	// Notes: the text of the last column must not be overlooked.
	Notes bool
	// Dense: many columns; no line is broken.
	Dense bool
}

func (t *Table) write(w *writer) {
	label := t.Caption
	if t.Caption != "" {
		w.printf("<h3>%s</h3>\n", clean(t.Caption))
	} else {
		label = "table"
	}
	var classes []string
	if t.Dense {
		classes = append(classes, "dense")
	}
	if t.long() {
		classes = append(classes, "long")
	}
	if t.Notes {
		classes = append(classes, "notes")
	}
	for i, right := range t.Right {
		if right { // said once, not in every cell
			classes = append(classes, fmt.Sprintf("r%d", min(i, rightColumns-1)))
		}
	}
	class := ""
	if classes != nil {
		class = fmt.Sprintf(" class=%q", strings.Join(classes, " "))
	}
	w.printf("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table%s>\n", clean(label), class)
	if t.Head != nil {
		w.printf("<thead><tr>")
		for _, h := range t.Head {
			w.printf("<th scope=\"col\">%s</th>", clean(h))
		}
		w.printf("</tr></thead>\n")
	}
	w.printf("<tbody>\n")
	for k, r := range t.Rows {
		w.printf("<tr>")
		for i, v := range r {
			v = clean(v)
			if i == 0 && k < len(t.Links) && t.Links[k] != "" {
				v = "<a href=\"#" + clean(t.Links[k]) + "\">" + v + "</a>"
			}
			if i == 0 && t.Names {
				w.printf("<th scope=\"row\">%s</th>", v)
				continue
			}
			w.printf("<td>%s</td>", v)
		}
		w.printf("</tr>\n")
	}
	w.printf("</tbody></table></div>\n")
}

// rightColumns is how many columns the style knows.
const rightColumns = 16

// rightStyle is the rules of the columns that are aligned right.
func rightStyle() string {
	var list []string
	for i := range rightColumns {
		list = append(list, fmt.Sprintf(".r%d td:nth-child(%d), .r%d th:nth-child(%d)", i, i+1, i, i+1))
	}
	return strings.Join(list, ", ") + " { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
}
