package look

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/cf"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// Choice is what samples are, decided on one file for all.
type Choice struct {
	tree.Samples
	numbered  bool // the names of groups end in numbers
	Why       string
	Unsure    bool               // another file may be a better guide
	measure   string             // of rows: a data set that has all of them
	dimension []string           // of rows: the names of their dimension, if it has any
	columns   map[string]int64   // of sparse matrices
	lengths   bool               // data sets of other lengths than the samples are an error
	stated    bool               // a convention of the file says what the samples are
	each      string             // of rows of groups: the member that has as many
	left      map[string]string  // data sets that are no columns, and why
	items     []string           // groups of data sets that are samples
	order     string             // the data set that lists their names
	Times     map[string]cf.Unit // what times are counted in
	Arrays    []sampleaxis.Array // of rows that only their equal number speaks for
}

// Choose decides what the samples are. It follows what the data say, and asks
// rather than guesses.
func Choose(t *tree.Tree, sample string, inputs int) (*Choice, error) {
	s := &chooser{t, t.Folded(), inputs}
	return s.by(sample)
}

// chooser decides by one file.
type chooser struct {
	t      *tree.Tree
	rows   *tree.Tree // as it is seen where rows are the samples
	inputs int
}

func (s *chooser) by(sample string) (*Choice, error) { return s.settled(s.choose(sample)) }

func (s *chooser) choose(sample string) (*Choice, error) {
	t := s.t
	if err := t.Kind.Refused(); err != nil {
		return nil, err
	}
	switch {
	case sample == string(tree.ByFile):
		return &Choice{Samples: tree.Samples{Mode: tree.ByFile}, Why: "each file is one sample, as asked for"}, nil
	case sample == string(tree.ByGroup):
		return chooseGroups(t, true)
	case sample == groupAxis:
		return chooseRows(t)
	case sample == string(tree.ByItem):
		return chooseItems(t)
	case sample != string(tree.ByAxis):
		if why := oneSamplePerFile(t); why != "" {
			return &Choice{Samples: tree.Samples{Mode: tree.ByFile}, Why: why}, nil
		}
		if err := s.doubtfulSplits(); err != nil {
			return nil, err
		}
		if c, err := chooseGroups(t, false); c != nil || err != nil {
			return c, err
		}
		if err := s.doubtfulItems(); err != nil {
			return nil, err
		}
	}
	if t.ListErr != nil {
		return nil, t.ListErr
	}
	if c := chooseAxis(s.rows, sample == string(tree.ByAxis), s.inputs); c != nil {
		return c, otherLengths(s.rows, c)
	}
	if oneRow(t) {
		if s.inputs > 1 {
			return &Choice{Samples: tree.Samples{Mode: tree.ByFile}, Unsure: true, Why: "all data sets have one row: each file is one sample (--sample axis makes rows)"}, nil
		}
		return nil, format.NewAmbiguous("all data sets have one row: "+shapes(t), []format.Way{
			sampleWay(tree.ByAxis, "one sample of the rows"), sampleWay(tree.ByFile, "one sample of the whole arrays")})
	}
	if sample != string(tree.ByAxis) && s.inputs > 1 {
		return &Choice{Samples: tree.Samples{Mode: tree.ByFile}, Why: "the data sets of a file have no common first dimension: each file is one sample (--sample axis with --columns or --object makes rows)"}, nil
	}
	return nil, format.NewAmbiguous("the data sets have no common first dimension: "+shapes(t), ways(t, s.rows, groupWay(t)...))
}

// sampleWay is the way of --sample.
func sampleWay(m tree.Mode, makes string) format.Way {
	return format.Way{Options: format.Options{sampleaxis.SampleOption: string(m)}, Makes: makes}
}

// ways are the ways to take samples where data sets have different lengths: the rows of
// some of them, the data sets or groups themselves, of the most bytes first, or the file.
func ways(t, rows *tree.Tree, more ...format.Way) []format.Way {
	var parts []sampleaxis.Part
	for i := range rows.Objects {
		o := &rows.Objects[i]
		if len(o.Dims) > 0 && len(o.Wanted) > 0 && !o.Scale {
			parts = append(parts, sampleaxis.Part{Path: o.Path, Dim: firstDim(o), Rows: o.Dims[0], Bytes: o.Bytes, Beside: o.Why() != ""})
		}
	}
	all := append(more, sampleaxis.Lengths(parts, func(paths []string) format.Way {
		w := sampleWay(tree.ByAxis, "")
		w.Options["object"] = strings.Join(paths, ",")
		return w
	})...)
	for _, s := range itemSets(t) {
		if first := &t.Objects[s.list[0]]; len(s.list) >= fewItems && s.kinds() == nil && (len(first.Dims) > 0 || first.Void) {
			w := sampleWay(tree.ByItem, "a sample of each of "+s.say(t))
			for _, i := range s.list {
				w.Bytes += t.Objects[i].Bytes
			}
			all = append(all, w)
			break
		}
	}
	slices.SortStableFunc(all, func(a, b format.Way) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return append(all, sampleWay(tree.ByFile, "each file one sample"))
}

// settled is the error where the samples have less than half of the bytes, as where a
// detector's frames are beside its monitors.
func (s *chooser) settled(c *Choice, err error) (*Choice, error) {
	if c == nil || err != nil || c.Mode == tree.ByFile || c.stated {
		return c, err
	}
	t := s.t
	if c.Mode == tree.ByAxis {
		t = s.rows
	}
	in, total := share(t, c)
	if 2*in >= total {
		return c, nil
	}
	var more []format.Way
	if c.Mode == tree.ByGroup {
		w := sampleWay(tree.ByGroup, "samples of the groups "+pattern(c.Parent, c.Stem))
		w.Options["object"], w.Bytes = pattern(c.Parent, c.Stem), in
		more = append(more, w)
	}
	return nil, format.NewAmbiguous(fmt.Sprintf("%s: they have %s of %s", c.Why, shardify.FormatSize(in), shardify.FormatSize(total)), ways(s.t, s.rows, more...))
}

// share is how many bytes are in the samples of a choice, and in all data sets. Coordinates
// and what is kept with other data sets do not count.
func share(t *tree.Tree, c *Choice) (in, total int64) {
	for i := range t.Objects {
		o := &t.Objects[i]
		if o.Why() != "" || o.Scale {
			continue
		}
		total += o.Bytes
		switch c.Mode {
		case tree.ByAxis:
			if c.left[o.Path] == "" {
				in += o.Bytes
			}
		case tree.ByGroup:
			if c.sampleGroup(o.Path) != "" {
				in += o.Bytes
			}
		default: // and the arrays beside
			if c.Types[naming.Group(o.Path)] != "" || len(o.Dims) > 0 {
				in += o.Bytes
			}
		}
	}
	return in, total
}

// otherLengths is the error about data sets that are as long as no sample axis: they may be
// columns of which rows are lost, or tables beside the samples.
func otherLengths(t *tree.Tree, c *Choice) error {
	if !c.lengths {
		return nil
	}
	const most = 6
	var n, bytes int64
	var in, others, keep, cure []string
	for i := range t.Objects {
		o := &t.Objects[i]
		switch {
		case c.left[o.Path] == "":
			if keep = append(keep, fieldName(o)); len(o.Dims) > 0 {
				n, in, bytes = o.Dims[0], append(in, o.Path), bytes+o.Bytes
			}
		case len(o.Dims) == 0:
		case o.Why() == "" && !o.Scale: // the values of another axis
			others, cure = append(others, fmt.Sprintf("%s %d", o.Path, o.Dims[0])), append(cure, "!"+strings.TrimPrefix(o.Path, "/"))
		}
	}
	if m := largest(t); len(others) == 0 || m != nil && m.Rows == n { // tables of its columns, however many
		return nil
	}
	if t.Some { // what was asked for is asked for still
		cure = keep
	}
	if more := len(others) - most; more > 0 {
		others = append(others[:most], fmt.Sprintf("and %d more", more))
	}
	if more := len(in) - most; more > 0 {
		in = append(in[:most], fmt.Sprintf("and %d more", more))
	}
	return format.NewAmbiguous(fmt.Sprintf("the data sets have different lengths: %s have %d rows; %s", strings.Join(in, ", "), n, strings.Join(others, ", ")),
		ways(t, t, format.Way{Columns: cure, Makes: printable.Of(int64(n), "sample") + " without those", Bytes: bytes}))
}

// oneRow reports whether the data sets share a first dimension of 1, which says little.
func oneRow(t *tree.Tree) bool {
	n, same := common(t, func(o *tree.Object) bool { return len(o.Dims) > 0 && o.Why() == "" })
	return same && n == 1
}

// shapes lists data sets with their dimensions; of many the largest.
func shapes(t *tree.Tree) string {
	const most = 20
	var list []*tree.Object
	for i := range t.Objects {
		if o := &t.Objects[i]; len(o.Dims) > 0 { // single values go with any
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return "there are single values alone"
	}
	more := len(list) - most
	if more > 0 {
		slices.SortStableFunc(list, func(a, b *tree.Object) int { return cmp.Compare(b.Bytes, a.Bytes) })
		list = list[:most]
	}
	var parts []string
	for _, o := range list {
		parts = append(parts, fmt.Sprintf("%s %v%s", o.Path, o.Dims, dimNames(o)))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// oneSamplePerFile knows published sets whose files are one sample each although
// some dimensions agree.
func oneSamplePerFile(t *tree.Tree) string {
	rank := map[string]int{}
	for i := range t.Objects {
		rank[t.Objects[i].Path] = len(t.Objects[i].Dims)
	}
	switch {
	case rank["/climate/data"] == 3 && rank["/climate/labels_0"] == 2:
		return "laid out as DeepCAM: each file is one sample"
	case rank["/full"] == 4 && rank["/unitPar"] == 1:
		return "laid out as CosmoFlow: each file is one sample"
	}
	return ""
}

// dimNames lists the names of the dimensions, "" if none has one.
func dimNames(o *tree.Object) string {
	var names []string
	some := false
	for _, a := range o.Axes {
		some = some || a.Name != ""
		if a.Name == "" {
			a.Name = "?"
		}
		names = append(names, a.Name)
	}
	if !some {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
