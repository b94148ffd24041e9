package labels

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// What the rows of one name are.
const (
	rowsOne   = "one"   // an error if there are several
	rowsFirst = "first" // the first counts
	rowsMany  = "many"  // lists, in the order of the table
)

// own are the words of a table that say how it is joined; others are options of its format.
var own = &format.Input{Name: "labels", Options: []format.Option{{Name: "on"}, {Name: "also"}, {Name: "rows"}, {Name: "in"}}}

// spec is a table as --labels names it: [NAME=]FILE[ on=COLUMN][ also=COLUMN]...[ rows=one|first|many][ in=FOLDER], and options
// of the table.
type spec struct {
	text    string // all of it
	file    string
	counter string // NAME
	on      string
	also    []string // columns with further files of the sample
	rows    string
	in      string // the folder below the input whose files the names are relative to
	options []string
}

// parse parses one table. A path with a = in its name differs from NAME=FILE as --join does.
func parse(text string) (s spec, err error) {
	s = spec{text: text, rows: rowsOne}
	var words []string
	s.file, words = format.CutTable(text, append(slices.Clone(formats), own))
	if name, file, ok := strings.Cut(s.file, "="); ok && name != "" && !strings.ContainsAny(name, "/\\.:") {
		s.counter, s.file = name, file
	}
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "on":
			s.on = value
		case "also":
			s.also = append(s.also, value)
		case "rows":
			s.rows = value
		case "in":
			s.in = value
		default:
			s.options = append(s.options, w)
		}
	}
	switch {
	case s.rows != rowsOne && s.rows != rowsFirst && s.rows != rowsMany:
		return s, shardify.Misuse("rows=%s: want one, first or many", s.rows)
	case s.counter != "" && s.rows != rowsMany:
		return s, shardify.Misuse("%s= names the lists that rows=many makes: --labels '%s rows=many'; a file of that name is ./%[1]s=%s", s.counter, text, s.file)
	case s.also != nil && s.rows != rowsOne:
		return s, shardify.Misuse("--labels '%s': also= is for tables with a row for each sample: leave out rows=", text)
	case slices.Contains(s.also, "") || slices.Contains(s.also, s.on) && s.on != "":
		return s, shardify.Misuse("--labels '%s': also=COLUMN names a further column with names of files", text)
	case s.counter == "":
		s.counter = "rows"
	}
	return s, shardify.ValidName(s.counter)
}

// split separates tables that are joined by commas, which their options may have, too: a table
// begins behind a comma where the file of one is named.
func split(text string) (list []string) {
	for part := range strings.SplitSeq(text, ",") {
		n := len(list)
		if n > 0 && (!IsTable(part) || !IsTable(list[n-1])) {
			list[n-1] += "," + part
			continue
		}
		list = append(list, part)
	}
	return list
}

// Files are those of the tables that --labels names.
func Files(text string) (list []string) {
	for _, one := range split(text) {
		s, _ := parse(one)
		list = append(list, s.file)
	}
	return list
}

// replace is the value of --labels with words added to one of its tables, and to all that are one with it.
func (t *Table) replace(words string) string {
	list := split(t.all)
	i := slices.Index(list, t.spec.text)
	if i < 0 {
		return t.spec.text + " " + words
	}
	for k, one := range list {
		if k == i || slices.Contains(t.texts, one) {
			list[k] += " " + words
		}
	}
	return strings.Join(list, ",")
}
