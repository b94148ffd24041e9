package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// facts says what a sample is and why, where the source does not say so itself.
func (r *Report) facts(f *format.Input, o format.Options, notes []string) {
	switch f.Name {
	case "npz":
		r.Facts = append(r.Facts, r.arrayFacts(o)...)
	case "files":
		switch o["stem"] {
		case "number":
			r.Facts = append(r.Facts, "a sample is the files of one folder whose names agree up to the first dot without a digit behind it (--stem number)")
		case "last":
			r.Facts = append(r.Facts, "a sample is the files of one folder whose names agree up to the last dot (--stem last)")
		default:
			if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "sample's name") }) { // they say it
				r.Facts = append(r.Facts, "a sample is the files of one folder whose names agree up to the first dot (--stem first)")
			}
		}
		if i := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == "cls" && f.Labels() != nil }); i >= 0 {
			l := r.Fields[i].Labels()
			r.Facts = append(r.Facts, fmt.Sprintf("cls is the number of the folder among %s ... %s (--labels none leaves it out)", l[0], l[len(l)-1]))
		}
	}
}

func (r *Report) arrayFacts(o format.Options) []string {
	if o["sample"] == "file" {
		return []string{"a sample is one file (--sample file); every array of it is a field"}
	}
	if len(r.Fields) == 0 {
		return nil
	}
	largest := r.Fields[0]
	var names []string
	for _, f := range r.Fields {
		names = append(names, f.Name)
		if f.Bytes > largest.Bytes {
			largest = f
		}
	}
	if len(names) > 4 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	lines := []string{fmt.Sprintf("a sample is one row: axis 0 is the sample axis, as long as that of the largest array, %s, and of %s", largest.Name, strings.Join(names, ", "))}
	switch {
	case r.InOrder == 0:
		lines = append(lines, "stored without compression: any sample can be read by itself")
	case r.InOrder >= r.Decoded:
		lines = append(lines, "compressed: a file is decoded from its beginning, by one core")
	}
	if r.Inputs > 1 {
		lines = append(lines, fmt.Sprintf("the %s files are joined along axis 0; --sample file makes each of them one sample", printable.Count(int64(r.Inputs))))
	}
	return lines
}
