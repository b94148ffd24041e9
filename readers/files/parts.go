package files

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/labels"
)

// parts is how a list of files too long for one table is planned. What all parts must
// agree on (fields, classes) is in the state; which files belong together each part
// finds out again, from its names.
var parts = &format.Parts{
	// A table of labels is joined by all names at once.
	Can: func(a format.OpenArgs) bool { return !isTable(a.Options[optLabels]) && a.Options[optKey] == "" },
	Cutter: func(a format.OpenArgs, sorted bool) format.Cutter {
		return &cutter{last: a.Options[optStem] == "last", sorted: sorted}
	},
	Survey: func(a format.OpenArgs) (format.PartSurvey, error) {
		set, err := format.CheckOptions(options, a.Options)
		if err != nil {
			return nil, err
		}
		return &partSurvey{options: set, columns: a.Columns, ids: map[string]uint16{}, together: map[[2]uint16]bool{}}, nil
	},
}

// partsWidth is the digits of ordinal keys where it is not known yet how many there will
// be.
const partsWidth = 12

// partSurvey is what is known from the parts so far.
type partSurvey struct {
	options  format.Options
	columns  []string
	prefixes []string
	files    int64
	samples  int64

	exts     []string
	ids      map[string]uint16  // places in exts
	have     []int64            // samples with an extension
	together map[[2]uint16]bool // image types that some sample has both of
	classes  labels.Classes
	left     []format.Leftover // of the whole
}

func (s *partSurvey) Add(ctx context.Context, t *format.Table) (shardify.Source, string, error) {
	if err := plainNames(t); err != nil {
		return nil, "", err
	}
	n := labels.NewPaths(t, s.options[optStem] == "last")
	g, err := group(ctx, n)
	if err != nil {
		return nil, "", err
	}
	if err := s.learn(n, g); err != nil {
		return nil, "", err
	}
	v, err := s.survey(false)
	if err != nil {
		return nil, "", err
	}
	c, err := v.arrange(ctx, n, g, 0)
	if err != nil { // as of now; Finish may know better, or who opens the part will tell
		return nil, "", ctx.Err()
	}
	src, err := newSource(c, nil)
	return src, v.layout(), err
}

// learn takes in what a part shows.
func (s *partSurvey) learn(n *names, g *groups) error {
	s.prefixes = n.Prefixes()
	s.files, s.samples = s.files+int64(len(g.of)), s.samples+int64(len(g.first))
	ids := make([]uint16, len(g.exts)) // of the part's extensions among all
	for i, ext := range g.exts {
		id, ok := s.ids[ext]
		if !ok {
			if len(s.exts) == maxExts {
				return tooManyExts(s.exts)
			}
			id = uint16(len(s.exts))
			s.ids[ext], s.exts, s.have = id, append(s.exts, ext), append(s.have, 0)
		}
		ids[i] = id
	}
	have := make([]int64, len(g.exts))
	for _, ext := range g.ext {
		have[ext]++
	}
	for i, k := range have {
		s.have[ids[i]] += k
	}
	for _, family := range families(g.exts) {
		for i, a := range family {
			for _, b := range family[:i] {
				pair := [2]uint16{min(ids[a], ids[b]), max(ids[a], ids[b])}
				if !s.together[pair] && !g.exclude([]uint16{a, b}) {
					s.together[pair] = true
				}
			}
		}
	}
	if s.options[optLabels] != "none" && anyOf(s.columns)(labelField) {
		for _, f := range g.first {
			s.classes.Add(n, int(f))
		}
	}
	return nil
}

// exclude is groups.exclude over all parts.
func (s *partSurvey) exclude(ids []uint16) bool {
	for i, a := range ids {
		for _, b := range ids[:i] {
			if s.together[[2]uint16{min(a, b), max(a, b)}] {
				return false
			}
		}
	}
	return true
}

// survey is the state as far as it is known; last says that this is all.
func (s *partSurvey) survey(last bool) (*survey, error) {
	b := &builder{options: s.options, all: membersOf(s.exts, s.exclude)}
	if last {
		if err := b.choose(s.columns, nil); err != nil {
			return nil, err
		}
	} else {
		b.narrow(anyOf(s.columns))
	}
	if err := s.labels(b); err != nil && last {
		return nil, err
	}
	if s.options[optMissing] == "fill" {
		for i := range b.members {
			m := &b.members[i]
			n := s.samples
			for _, ext := range m.Exts {
				n -= s.have[s.ids[ext]]
			}
			m.Nullable = n > 0
		}
	}
	return &survey{
		Version: stateVersion, Parts: true, Samples: int(s.samples), Members: b.members, Labels: b.labels, Prefixes: slices.Clone(s.prefixes), Assume: s.options.Size(optAssume),
		Last: s.options[optStem] == "last", Ordinal: s.options[optKeys] == "ordinal", Bytes: s.options[optText] == "bytes", Missing: s.options[optMissing], Left: b.left,
	}, nil
}

// labels is findLabels over all parts. Samples that --missing drop leaves out count.
func (s *partSurvey) labels(b *builder) error {
	mode := s.options[optLabels]
	if mode == labels.Never || !b.labelled {
		return nil
	}
	if b.hasClasses() {
		return b.settle(mode, nil, classesTaken, int(s.samples))
	}
	found, reason := s.classes.List()
	return b.settle(mode, found, reason, int(s.samples))
}

func (s *partSurvey) Finish() ([]byte, string, error) {
	v, err := s.survey(true)
	if err != nil {
		return nil, "", err
	}
	s.left, v.Left = v.Left, nil
	head, err := json.Marshal(v)
	if err != nil {
		return nil, "", err
	}
	return append(binary.AppendUvarint(nil, uint64(len(head))), head...), v.layout(), nil
}

// Leftovers is what all parts together leave out, after Finish.
func (s *partSurvey) Leftovers() []format.Leftover { return s.left }

// layout is what the size of samples depends on.
func (v *survey) layout() string {
	c := *v
	c.Labels, c.Left, c.Samples = nil, nil, 0
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
	n := labels.NewPaths(t, v.Last)
	g, err := group(ctx, n)
	if err != nil {
		return nil, err
	}
	return v.arrange(ctx, n, g, first)
}

// arrange makes a part's content of its groups.
func (v *survey) arrange(ctx context.Context, n *names, g *groups, first int64) (*content, error) {
	b := &builder{table: n.Table, names: n, g: g, part: true, total: int64(v.Samples), members: slices.Clone(v.Members)}
	b.options = format.Options{optMissing: v.Missing, optStem: "first"}
	if v.Last {
		b.options[optStem] = "last"
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
	b.m.base = first
	c := &content{survey: *v, names: n, m: b.m, left: b.left}
	return c, c.check()
}
