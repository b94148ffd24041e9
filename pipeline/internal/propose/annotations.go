package propose

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/glance"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// annotated is how many files are looked at.
const annotated = 32

// annotations proposes to read files of a form that is known: it looks at some of them.
func annotations(ctx context.Context, src shardify.Source, t *format.Table) *Proposal {
	schema := src.Schema()
	forms, none := make([]guess, len(schema)), true
	for i, f := range schema {
		forms[i] = guess{form: map[string]string{"xml": "voc", "txt": "lines"}[f.Media]}
		none = none && forms[i].form == ""
	}
	if none {
		return nil
	}
	for _, sp := range glance.Spread(ctx, src, annotated) {
		if !lookAt(ctx, src, sp, forms) {
			return nil
		}
	}
	var parse, are []string
	for i, g := range forms {
		if g.seen == 0 || g.form == "" || g.form == "lines" {
			continue
		}
		value := schema[i].Name + "=" + g.form
		if file := namesOf(ctx, t); g.form == "yolo" && file != "" {
			value += " names=" + file
		}
		parse, are = append(parse, value), append(are, schema[i].Name)
	}
	if len(parse) != 1 { // a second flag of one name is not what settings here can hold
		return nil
	}
	return &Proposal{Settings: format.Options{"parse": parse[0]}, Why: "files of " + are[0] + " have boxes and classes"}
}

// guess is the form of the files of a field, as far as it is known; "" if another.
type guess struct {
	form string
	seen int // files that say so
}

// lookAt looks at the files of some samples; false if they cannot be read.
func lookAt(ctx context.Context, src shardify.Source, sp shardify.Span, forms []guess) bool {
	r, err := src.Reader(sp.Run)
	if err != nil {
		return false
	}
	defer r.Close()
	b, done := glance.Read(ctx, r, sp)
	defer done()
	if b == nil {
		return false
	}
	for i := range forms {
		for k := 0; k < b.Samples && forms[i].form != ""; k++ {
			c := &b.Columns[i]
			lo, hi := c.Range(k, k+1)
			forms[i].look(c.Data[lo:hi])
		}
	}
	return true
}

// look takes in a file. An empty one says nothing: it may be an image without objects.
func (g *guess) look(file []byte) {
	switch {
	case len(bytes.TrimSpace(file)) == 0:
	case g.form == "voc" && bytes.Contains(file, []byte("<annotation")):
		g.seen++
	case g.form == "voc":
		g.form = ""
	default:
		if form := lines(file); g.form == "lines" || form == g.form {
			g.form = form
			g.seen++
		} else {
			g.form = ""
		}
	}
}

// lines is the form of a file of lines: yolo or kitti, else "".
func lines(file []byte) (form string) {
	for line := range bytes.Lines(file) {
		words := strings.Fields(string(line))
		is := ""
		switch {
		case len(words) == 0:
			continue
		case len(words) == 5 && whole(words[0]) && shares(words[1:]):
			is = "yolo"
		case len(words) == 15 && !number(words[0]) && numbers(words[1:]):
			is = "kitti"
		}
		if is == "" || form != "" && is != form {
			return ""
		}
		form = is
	}
	return form
}

func whole(word string) bool {
	n, err := strconv.Atoi(word)
	return err == nil && n >= 0
}

func number(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

func numbers(words []string) bool {
	for _, w := range words {
		if !number(w) {
			return false
		}
	}
	return true
}

// shares reports whether all are numbers from 0 to 1.
func shares(words []string) bool {
	for _, w := range words {
		if x, err := strconv.ParseFloat(w, 64); err != nil || !(x >= 0 && x <= 1) {
			return false
		}
	}
	return true
}

// namesOf is the file with the names of classes beside the inputs; "" without one.
func namesOf(ctx context.Context, t *format.Table) string {
	for _, name := range []string{"data.yaml", "data.yml", "dataset.yaml", "obj.names", "classes.txt", "classes.names"} {
		path := storage.Join(t.Roots[0], name)
		if e, err := storages.Of(t).Stat(ctx, path); err == nil && e.Type == storage.Regular {
			return path
		}
	}
	return ""
}
