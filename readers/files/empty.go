package files

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/labels"
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
// and which fields have files of 0 bytes.
func (s *source) Notes() []string {
	out := slices.Clone(s.survey.Notes)
	if s.Parts { // other parts may have more
		return out
	}
	for i, f := range s.fields {
		if f.role != value {
			continue
		}
		var empty places
		files := 0
		for k := s.m.base; k < s.m.end(); k++ {
			if file := s.m.file(k, f.member); file != none {
				files++
				if s.names.Table.Size(int(file)) == 0 {
					empty.add(func() string { return quote(s.names.Rel(int(file))) })
				}
			}
		}
		if empty.count == 0 {
			continue
		}
		note := fmt.Sprintf("field %s: %s", s.schema[i].Name, empty.list(fmt.Sprintf("of %d files has 0 bytes", files), fmt.Sprintf("of %d files have 0 bytes", files)))
		if filekind.IsImage(s.schema[i].Media) {
			note += "; --check-images --on-error skip leaves them out"
		}
		out = append(out, note)
	}
	return out
}
