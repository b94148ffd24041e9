package files

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/readers/internal/labels"
)

// Describe implements format.Describer: what a sample is, where no note says it.
func (s *source) Describe() []string {
	var out []string
	if len(s.survey.Notes) == 0 {
		out = append(out, "a sample is the files of one folder whose names agree up to "+map[labels.Stem]string{
			labels.First:  "the first dot (--stem first)",
			labels.Number: "the first dot without a digit behind it (--stem number)",
			labels.Last:   "the last dot (--stem last)",
		}[s.survey.By])
	}
	if i := shardify.FieldIndex(s.schema, labelField); i >= 0 {
		if l := s.schema[i].Labels(); l != nil {
			out = append(out, fmt.Sprintf("cls is the number of the folder among %s ... %s (--labels none leaves it out)", l[0], l[len(l)-1]))
		}
	}
	return append(out, s.Notes()...)
}

// Notes implements format.Noter: by which rule the files were read where there are several,
// and which fields have files of 0 bytes. Of inputs in parts the survey knows.
func (s *source) Notes() []string {
	if s.Parts {
		return nil
	}
	return appendEmpty(slices.Clone(s.survey.Notes), s.empty())
}

// emptyFiles is the files of 0 bytes of a field, of so many.
type emptyFiles struct {
	finding
	files int64
	image bool
}

// empty counts the files of all fields.
func (s *source) empty() (out []emptyFiles) {
	for i, f := range s.fields {
		if f.role != value {
			continue
		}
		e := emptyFiles{finding: finding{name: s.schema[i].Name}, image: filekind.IsImage(s.schema[i].Media)}
		for k := s.m.base; k < s.m.end(); k++ {
			if file := s.m.file(k, f.member); file != none {
				e.files++
				if s.files.Table.Size(int(file)) == 0 {
					e.add(func() string { return quote(s.files.Rel(int(file))) })
				}
			}
		}
		out = append(out, e)
	}
	return out
}

func appendEmpty(notes []string, fields []emptyFiles) []string {
	for _, e := range fields {
		if e.count == 0 {
			continue
		}
		note := fmt.Sprintf("field %s: %s", e.name, e.list(fmt.Sprintf("of %d files has 0 bytes", e.files), fmt.Sprintf("of %d files have 0 bytes", e.files)))
		if e.image {
			note += "; --check-images --on-error skip leaves them out"
		}
		notes = append(notes, note)
	}
	return notes
}
