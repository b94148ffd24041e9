package hdf5

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// lookSplits is the facts of a file in parts, one for each split.
func (s *chooser) lookSplits(ctx context.Context, t *tree.Tree) (*survey.Facts, error) {
	all, err := look.SplitParts(t)
	if err != nil {
		return nil, err
	}
	var out *survey.Facts
	for _, x := range all {
		c, err := s.splitChoice(x)
		if err != nil {
			return nil, err
		}
		facts, err := look.Facts(ctx, x.Tree, c, s.opts)
		if err != nil {
			return nil, err
		}
		facts.Part = x.Name
		if out == nil {
			out = facts
		} else {
			out.More = append(out.More, facts)
		}
	}
	return out, s.sameFields(out)
}

// splitChoice is what the samples of a split are, decided by the first file that has it.
func (s *chooser) splitChoice(x look.SplitTree) (*look.Choice, error) {
	if c := s.splits[x.Name]; c != nil {
		return c, nil
	}
	c, err := look.Choose(x.Tree, s.opts.Sample, 1)
	if err != nil {
		return nil, err
	}
	if c.Why != "" {
		c.Why = fmt.Sprintf("the split %s: %s", x.Name, c.Why)
	}
	return c, nil
}

// sameFields refuses splits with other fields than the first one, unless the user has said
// what to do about those.
func (s *chooser) sameFields(f *survey.Facts) error {
	if s.missing != string(survey.Fail) {
		return nil
	}
	names := func(f *survey.Facts) (out []string) {
		for i := range f.Fields {
			out = append(out, f.Fields[i].Name)
		}
		return out
	}
	first := names(f)
	for _, m := range f.More {
		other := names(m)
		for _, pair := range [][2][]string{{first, other}, {other, first}} {
			for _, name := range pair[0] {
				if slices.Contains(pair[1], name) {
					continue
				}
				has, lacks := f.Part, m.Part
				if slices.Contains(other, name) {
					has, lacks = lacks, has
				}
				return shardify.Mismatch("the splits differ: field %s is in %s, not in %s; --missing intersect leaves it out, --missing fill writes empty values", name, has, lacks)
			}
		}
	}
	return nil
}

// decideSplits finds what the samples of each split are from the first input that has it.
func (s *chooser) decideSplits(ctx context.Context, a format.OpenArgs) error {
	s.splits = map[string]*look.Choice{}
	all, err := columns.New(nil)
	if err != nil {
		return err
	}
	for i := range min(a.Table.Len(), maxLooks) {
		if err := s.decideSplitsBy(ctx, a.Table.Path(i), all); err != nil {
			return shardify.Annotate(err, "open", a.Table.Shown(i), "")
		}
	}
	return nil
}

func (s *chooser) decideSplitsBy(ctx context.Context, path string, want *columns.Wanted) error {
	f, err := s.file(ctx, path)
	if err != nil {
		return nil // the survey says so
	}
	defer f.Close()
	t, err := tree.Scan(ctx, f, s.opts, want, tree.Samples{})
	if err != nil {
		return err
	}
	if len(look.Concerned(t, want, nil)) > 0 {
		return nil // the survey says so
	}
	for _, x := range look.Splits(t) {
		if s.splits[x.Name] != nil {
			continue
		}
		if s.splits[x.Name], err = s.splitChoice(x); err != nil {
			return err
		}
	}
	return nil
}
