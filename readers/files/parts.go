package files

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
)

// parts is how a list of files too long for one table is planned. What all parts must
// agree on (fields, classes) is in the state; which files belong together each part
// finds out again, from its names.
var parts = &format.Parts{
	// A table of labels is joined by all names at once, and the files of a pair are in other folders.
	Can: func(a format.OpenArgs) bool {
		return !labels.Tables(a.Options[optLabels]) && a.Options[optKey] == "" && a.Options[optPair] == ""
	},
	Cutter: func(a format.OpenArgs, sorted bool) format.Cutter {
		return &cutter{by: stemOf(a.Options), sorted: sorted}
	},
	Survey: func(a format.OpenArgs) (format.PartSurvey, error) {
		set, err := format.CheckOptions(options, a.Options)
		if err != nil {
			return nil, err
		}
		s := &partSurvey{options: set, used: a.Used, columns: a.Columns, first: newFacts(a.Folders)}
		if set[optStem] == stemAuto {
			s.number = newFacts(a.Folders)
		}
		return s, nil
	},
}

// partsWidth is the digits of ordinal keys where it is not known yet how many there will
// be.
const partsWidth = 12

// partSurvey is what is known from the parts so far.
type partSurvey struct {
	options  format.Options
	used     *format.Used
	columns  []string
	prefixes []string
	// What the parts show if names end at the first dot, or as the user says; and if they go
	// on behind digits, nil if that is not to be found out.
	first, number *knowledge
	left          []format.Leftover // of the whole
	notes         []string
	empty         [][]emptyFiles // by part
}

// decide is what the samples are as far as it is known.
func (s *partSurvey) decide() *verdict {
	v := decide(s.number != nil, s.options[optMissing], s.first, s.number)
	if s.number == nil {
		v.by = stemOf(s.options)
	}
	return v
}

func (s *partSurvey) Add(ctx context.Context, t *format.Table) (shardify.Source, string, error) {
	if err := plainNames(t); err != nil {
		return nil, "", err
	}
	v, n, g, err := s.learn(ctx, t)
	if err != nil {
		return nil, "", err
	}
	state, err := s.survey(v, false)
	if err != nil {
		return nil, "", err
	}
	c, err := state.arrange(ctx, n, g, 0)
	if err != nil { // as of now; Finish may know better, or opening the part gives the error
		return nil, "", ctx.Err()
	}
	src, err := newSource(c, nil)
	return src, state.layout(), err
}

// learn takes in what a part shows, and groups its files as it seems right now.
func (s *partSurvey) learn(ctx context.Context, t *format.Table) (*verdict, *names, *groups, error) {
	n := labels.NewPaths(t, stemOf(s.options))
	g, err := groupAuto(ctx, n, s.number != nil)
	if err != nil {
		return nil, nil, nil, err
	}
	s.prefixes = n.Prefixes()
	if err := s.first.learn(n, g); err != nil && (s.number == nil || s.first.numbered == "") {
		return nil, nil, nil, err
	} else if err != nil { // as in groupAuto
		s.first.many = true
	}
	if s.number == nil {
		return s.decide(), n, g, nil
	}
	m, h := n, g
	if g.numbered != "" {
		m = labels.NewPaths(t, labels.Number)
		if h, err = group(ctx, m); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := s.number.learn(m, h); err != nil {
		return nil, nil, nil, err
	}
	if v := s.decide(); v.by == labels.Number {
		m.By = v.by
		return v, m, h, nil
	} else {
		return v, n, g, nil
	}
}

// survey is the state as far as it is known; last says that this is all.
func (s *partSurvey) survey(v *verdict, last bool) (_ *survey, err error) {
	b := &builder{options: s.options, all: v.known.members(v.sample), known: v.known, names: &names{}}
	if last {
		b.used = s.used
		if err := b.paired(noClasses); err != nil {
			return nil, err
		}
		if err := b.choose(s.columns, nil); err != nil {
			return nil, err
		}
		b.left = v.known.leftStrays(v.strays)
	} else {
		b.narrow(anyOf(s.columns))
	}
	classes := labels.Classes{Splits: v.known.dirs}
	samples := v.known.samples
	state := &survey{
		Version: stateVersion, Parts: true, Prefixes: slices.Clone(s.prefixes), Assume: s.options.Size(optAssume),
		By: v.by, Ordinal: s.options[optKeys] == "ordinal", Bytes: s.options[optText] == "bytes", Missing: s.options[optMissing],
	}
	for _, k := range v.known.kinds {
		if v.strays[k] {
			samples -= k.count
			state.Strays = append(state.Strays, stray{k.exts, k.about})
		} else {
			classes.Merge(&k.classes) // also of those that --missing drop leaves out
		}
	}
	if err = b.settle(&classes, int(samples)); err == nil {
		err = b.ends()
	}
	if err != nil && last {
		return nil, err
	}
	if s.options[optMissing] == "fill" {
		for i := range b.members {
			m := &b.members[i]
			m.Nullable = v.known.have(m.Exts, v.sample) < samples
		}
	}
	if v.note != "" {
		state.Notes = []string{v.note}
	}
	state.Samples, state.Members, state.Labels, state.Second, state.Left = int(samples), b.members, b.labels, b.names.Second, b.left
	return state, nil
}

func (s *partSurvey) Finish() ([]byte, string, error) {
	v, err := s.survey(s.decide(), true)
	if err != nil {
		return nil, "", err
	}
	s.left, v.Left, s.notes = v.Left, nil, v.Notes
	head, err := json.Marshal(v)
	if err != nil {
		return nil, "", err
	}
	return append(binary.AppendUvarint(nil, uint64(len(head))), head...), v.layout(), nil
}

// Leftovers is what all parts together leave out, after Finish.
func (s *partSurvey) Leftovers() []format.Leftover { return s.left }

func (s *partSurvey) Note(i int, src shardify.Source) {
	s.empty = append(s.empty, make([][]emptyFiles, max(i+1-len(s.empty), 0))...)
	if f, ok := src.(*source); ok {
		s.empty[i] = f.empty()
	}
}

// Notes says of all parts together what a source says of one.
func (s *partSurvey) Notes() []string {
	var all []emptyFiles
	for _, part := range s.empty {
		for _, e := range part {
			k := slices.IndexFunc(all, func(x emptyFiles) bool { return x.name == e.name })
			if k < 0 {
				k, all = len(all), append(all, emptyFiles{finding: finding{name: e.name}, image: e.image})
			}
			all[k].files += e.files
			all[k].merge(&e.places)
		}
	}
	return appendEmpty(slices.Clone(s.notes), all)
}

// layout is what the size of samples depends on.
func (v *survey) layout() string {
	c := *v
	c.Labels, c.Left, c.Notes, c.Samples = nil, nil, nil, 0
	if v.Labels != nil {
		c.Labels = []string{"some"}
	}
	b, err := json.Marshal(&c)
	if err != nil {
		panic("files: layout: " + err.Error())
	}
	return string(b)
}

// openPart groups the files of a part again.
func (v *survey) openPart(ctx context.Context, t *format.Table, first int64) (*content, error) {
	n := labels.NewPaths(t, v.By)
	g, err := group(ctx, n)
	if err != nil {
		return nil, err
	}
	return v.arrange(ctx, n, g, first)
}

// arrange makes a part's content of its groups.
func (v *survey) arrange(ctx context.Context, n *names, g *groups, first int64) (*content, error) {
	b := &builder{table: n.Table, names: n, g: g, part: true, total: int64(v.Samples), members: slices.Clone(v.Members)}
	b.options = format.Options{optMissing: v.Missing}
	for _, k := range g.kinds {
		b.stray = append(b.stray, slices.ContainsFunc(v.Strays, func(s stray) bool { return s.About == k.about && slices.Equal(s.Exts, k.exts) }))
	}
	if err := b.arrange(ctx); err != nil {
		return nil, err
	}
	for i := range b.members {
		if b.members[i].Nullable && !v.Members[i].Nullable {
			return nil, shardify.Corrupt(-1, "state of the files: a sample lacks %s", b.members[i].Field)
		}
	}
	n.SetPrefixes(v.Prefixes)
	n.Second = v.Second
	b.m.base = first
	c := &content{survey: *v, files: n, names: n, m: b.m, left: b.left}
	return c, c.checkSizes()
}
