package page

import "strings"

// Images is pictures side by side, each with its name. Sources are data: URLs, so
// that the page stays one file.
type Images struct {
	Caption string
	Images  []Image
}

// Image is one picture.
type Image struct{ Source, Name string }

func (m *Images) write(w *writer) {
	if len(m.Images) == 0 {
		return
	}
	if m.Caption != "" {
		w.printf("<h3>%s</h3>\n", clean(m.Caption))
	}
	w.printf("<div class=\"images\">\n")
	for _, i := range m.Images {
		if !strings.HasPrefix(i.Source, "data:image/") {
			continue // nothing is fetched
		}
		w.printf("<figure><img src=\"%s\" alt=\"%s\"><figcaption>%s</figcaption></figure>\n", clean(i.Source), clean(i.Name), clean(i.Name))
	}
	w.printf("</div>\n")
}
