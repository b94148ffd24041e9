package annotations

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// classed is a parse whose classes get the numbers of a table that the files decide.
type classed struct {
	*parse
	codes shardify.Surveyor
}

// Schema makes codes of the names.
func (p *classed) Schema(in []shardify.Field) ([]shardify.Field, error) {
	out, err := p.parse.Schema(in)
	if err == nil {
		out, err = p.codes.Schema(out)
	}
	if k := shardify.FieldIndex(out, p.name("class")); err == nil && out[k].Attrs == nil {
		out[k].Attrs = map[string]string{format.VocabAttr: "text"} // conditions on labels are checked when these are known
	}
	return out, err
}

// Apply makes codes of the names.
func (p *classed) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	out, err := p.parse.Apply(b, seed, mem)
	if err != nil {
		return nil, err
	}
	return p.codes.Apply(out, seed, mem)
}

// Surveys says that the names must be seen.
func (p *classed) Surveys() string { return p.codes.Surveys() }

// SurveysAllSplits makes one table of classes for all splits.
func (p *classed) SurveysAllSplits() bool { return true }

// Learn takes the table of classes.
func (p *classed) Learn(result []byte) error { return p.codes.Learn(result) }

// NewSurvey begins to look at the classes of a part of the samples.
func (p *classed) NewSurvey() shardify.Survey {
	return &classes{p: p.parse, Survey: p.codes.NewSurvey(), column: slices.IndexFunc(p.fields, func(m made) bool { return m.name == "class" })}
}

// classes gives the texts of classes to the survey of their codes.
type classes struct {
	shardify.Survey
	p      *parse
	column int // of the classes, among those that are made
}

// Add reads the files of a batch. Those that are damaged are the matter of Apply, where they may be left out.
func (s *classes) Add(b *shardify.Batch) error {
	p := s.p
	r := p.rows()
	defer p.workers.Put(r)
	file := &b.Columns[p.col]
	place := p.col + s.column
	if p.spec.Keeps {
		place++
	}
	for i := range b.Samples {
		lo, hi := file.Range(i, i+1)
		if r.reset(len(p.fields)); !there(file, i) || p.read(&p.spec, file.Data[lo:hi], r) != nil {
			continue
		}
		texts := &r.columns[s.column]
		names := shardify.Batch{Samples: 1, First: b.ID(i), Columns: make([]shardify.Column, len(p.out))}
		names.Columns[place] = shardify.Column{Field: p.out[place], Data: texts.data, Offsets: [][]int64{{0, r.objects}, slices.Concat([]int64{0}, texts.ends)}}
		if err := s.Survey.Add(&names); err != nil {
			return err
		}
	}
	return nil
}

// Merge adds the classes of samples that follow.
func (s *classes) Merge(next shardify.Survey) error { return s.Survey.Merge(next.(*classes).Survey) }
