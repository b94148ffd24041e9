package look

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/internal/cf"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// Mode is what one sample is.
type Mode string

const (
	ByAxis  Mode = "axis"  // a row of the data sets
	ByGroup Mode = "group" // a group
	ByFile  Mode = "file"
	ByChunk Mode = sampleaxis.SampleChunk // read as ByAxis
)

// Choice is what samples are, decided on one file for all.
type Choice struct {
	Mode Mode
	// Of groups: the group that holds them, and what their names begin with.
	parent, stem string
	numbered     bool
	Why          string
	Unsure       bool               // another file may be a better guide
	measure      string             // of rows: a data set that has all of them
	dimension    []string           // of rows: the names of their dimension, if it has any
	columns      map[string]int64   // of sparse matrices
	lengths      bool               // data sets of other lengths than the samples are an error
	stated       bool               // a convention of the file says what the samples are
	left         map[string]string  // data sets that are no columns, and why
	items        []string           // groups of data sets that are samples
	itemTypes    map[string]string  // by group
	order        string             // the data set that lists their names
	Times        map[string]cf.Unit // what times are counted in
	Arrays       []sampleaxis.Array // of rows that only their equal number speaks for
}

// Choose decides what the samples are. It follows what the data say, and asks
// rather than guesses.
func (t *Tree) Choose(sample string, inputs int) (*Choice, error) {
	return t.settled(t.choose(sample, inputs))
}

func (t *Tree) choose(sample string, inputs int) (*Choice, error) {
	if err := t.Kind.Refused(); err != nil {
		return nil, err
	}
	switch {
	case sample == string(ByFile):
		return &Choice{Mode: ByFile, Why: "each file is one sample, as asked for"}, nil
	case sample == string(ByGroup):
		return t.chooseGroups(true)
	case sample == string(ByItem):
		return t.chooseItems()
	case sample != string(ByAxis):
		if why := t.oneSamplePerFile(); why != "" {
			return &Choice{Mode: ByFile, Why: why}, nil
		}
		if err := t.doubtfulSplits(inputs); err != nil {
			return nil, err
		}
		if c, err := t.chooseGroups(false); c != nil || err != nil {
			return c, err
		}
		if err := t.doubtfulItems(inputs); err != nil {
			return nil, err
		}
	}
	if t.listErr != nil {
		return nil, t.listErr
	}
	if c := t.folded().chooseAxis(sample == string(ByAxis), inputs); c != nil {
		return c, t.folded().otherLengths(c)
	}
	if t.oneRow() {
		if inputs > 1 {
			return &Choice{Mode: ByFile, Unsure: true, Why: "all data sets have one row: each file is one sample (--sample axis makes rows)"}, nil
		}
		return nil, format.NewAmbiguous("all data sets have one row: "+t.shapes(), []format.Way{
			sampleWay(ByAxis, "one sample of the rows"), sampleWay(ByFile, "one sample of the whole arrays")})
	}
	if sample != string(ByAxis) && inputs > 1 {
		return &Choice{Mode: ByFile, Why: "the data sets of a file have no common first dimension: each file is one sample (--sample axis with --columns or --object makes rows)"}, nil
	}
	return nil, format.NewAmbiguous("the data sets have no common first dimension: "+t.shapes(), t.ways())
}

// sampleWay is the way of --sample.
func sampleWay(m Mode, makes string) format.Way {
	return format.Way{Options: format.Options{sampleaxis.SampleOption: string(m)}, Makes: makes}
}

// ways are the ways to take samples where data sets have different lengths: the rows of
// some of them, the data sets or groups themselves, of the most bytes first, or the file.
func (t *Tree) ways(more ...format.Way) []format.Way {
	var parts []sampleaxis.Part
	f := t.folded()
	for i := range f.objects {
		o := &f.objects[i]
		if len(o.dims) > 0 && len(o.wanted) > 0 && !o.scale {
			parts = append(parts, sampleaxis.Part{Path: o.path, Dim: o.first(), Rows: o.dims[0], Bytes: o.bytes, Beside: f.note(o) != ""})
		}
	}
	ways := append(more, sampleaxis.Lengths(parts, func(paths []string) format.Way {
		w := sampleWay(ByAxis, "")
		w.Options["object"] = strings.Join(paths, ",")
		return w
	})...)
	for _, s := range t.itemSets() {
		if first := &t.objects[s.list[0]]; len(s.list) >= fewItems && s.kinds() == nil && (len(first.dims) > 0 || first.void) {
			w := sampleWay(ByItem, "a sample of each of "+s.say(t))
			for _, i := range s.list {
				w.Bytes += t.objects[i].bytes
			}
			ways = append(ways, w)
			break
		}
	}
	slices.SortStableFunc(ways, func(a, b format.Way) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return append(ways, sampleWay(ByFile, "each file one sample"))
}

// settled is the error where the samples have less than half of the bytes, as where a
// detector's frames are beside its monitors.
func (t *Tree) settled(c *Choice, err error) (*Choice, error) {
	if c == nil || err != nil || c.Mode == ByFile || c.stated {
		return c, err
	}
	in, total := t.share(c)
	if 2*in >= total {
		return c, nil
	}
	var ways []format.Way
	if c.Mode == ByGroup {
		w := sampleWay(ByGroup, fmt.Sprintf("samples of the groups %s/%s*", c.parent, c.stem))
		w.Options["object"], w.Bytes = c.parent+"/"+c.stem+"*", in
		ways = append(ways, w)
	}
	return nil, format.NewAmbiguous(fmt.Sprintf("%s: they have %s of %s", c.Why, shardify.FormatSize(in), shardify.FormatSize(total)), t.ways(ways...))
}

// share is how many bytes are in the samples of a choice, and in all data sets. Coordinates
// and what is kept with other data sets do not count.
func (t *Tree) share(c *Choice) (in, total int64) {
	f := t
	if c.Mode == ByAxis {
		f = t.folded()
	}
	for i := range f.objects {
		o := &f.objects[i]
		if f.note(o) != "" || o.scale {
			continue
		}
		total += o.bytes
		switch c.Mode {
		case ByAxis:
			if c.left[o.path] == "" {
				in += o.bytes
			}
		case ByGroup:
			if strings.HasPrefix(o.path, c.parent+"/"+c.stem) {
				in += o.bytes
			}
		default: // and the arrays beside
			if c.itemTypes[naming.Group(o.path)] != "" || len(o.dims) > 0 {
				in += o.bytes
			}
		}
	}
	return in, total
}

// otherLengths is the error about data sets that are as long as no sample axis: they may be
// columns of which rows are lost, or tables beside the samples.
func (t *Tree) otherLengths(c *Choice) error {
	if !c.lengths {
		return nil
	}
	const most = 6
	var n, bytes int64
	var in, others, keep, cure []string
	for i := range t.objects {
		o := &t.objects[i]
		switch {
		case c.left[o.path] == "":
			if keep = append(keep, o.field()); len(o.dims) > 0 {
				n, in, bytes = o.dims[0], append(in, o.path), bytes+o.bytes
			}
		case len(o.dims) == 0:
		case t.note(o) == "" && !o.scale: // the values of another axis
			others, cure = append(others, fmt.Sprintf("%s %d", o.path, o.dims[0])), append(cure, "!"+strings.TrimPrefix(o.path, "/"))
		}
	}
	if m := t.largest(); len(others) == 0 || m != nil && m.Rows == n { // tables of its columns, however many
		return nil
	}
	if t.some { // what was asked for is asked for still
		cure = keep
	}
	if more := len(others) - most; more > 0 {
		others = append(others[:most], fmt.Sprintf("and %d more", more))
	}
	if more := len(in) - most; more > 0 {
		in = append(in[:most], fmt.Sprintf("and %d more", more))
	}
	return format.NewAmbiguous(fmt.Sprintf("the data sets have different lengths: %s have %d rows; %s", strings.Join(in, ", "), n, strings.Join(others, ", ")),
		t.ways(format.Way{Columns: cure, Makes: fmt.Sprintf("%d samples without those", n), Bytes: bytes}))
}

// oneRow reports whether the data sets share a first dimension of 1, which says little.
func (t *Tree) oneRow() bool {
	n, same := t.common(func(o *object) bool { return len(o.dims) > 0 && t.note(o) == "" })
	return same && n == 1
}

// shapes lists data sets with their dimensions; of many the largest.
func (t *Tree) shapes() string {
	const most = 20
	var list []*object
	for i := range t.objects {
		if o := &t.objects[i]; len(o.dims) > 0 { // single values go with any
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return "there are single values alone"
	}
	more := len(list) - most
	if more > 0 {
		slices.SortStableFunc(list, func(a, b *object) int { return cmp.Compare(b.bytes, a.bytes) })
		list = list[:most]
	}
	var parts []string
	for _, o := range list {
		parts = append(parts, fmt.Sprintf("%s %v%s", o.path, o.dims, o.named()))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// chooseAxis looks for a common first dimension: by name where there are names, else by
// length: of all data sets, of those that can grow, of a pandas frame, of AnnData, of nearly all
// the bytes, of a sparse matrix. firm: single rows are rows, as the user says so.
func (t *Tree) chooseAxis(firm bool, inputs int) *Choice {
	if all := t.leads(); all != nil {
		return t.chooseLead(all, firm, firm || inputs == 1)
	}
	all := func(o *object) bool { return len(o.dims) > 0 && t.note(o) == "" }
	n, same := t.common(all)
	grows := func(o object) bool { return len(o.dims) > 0 && o.unlimited[0] && o.note == "" }
	m, sameGrowing := t.common(func(o *object) bool { return grows(*o) })
	switch {
	case same && (n != 1 || firm || sameGrowing):
		c := t.axis(n, nil, "axis 0, which all data sets share")
		if !slices.ContainsFunc(t.objects, grows) {
			c.Arrays = t.arrays()
		}
		return c
	case same:
		return nil // one row: rather the file is the sample
	case sameGrowing && t.growOnlyFirst():
		c := t.axis(m, nil, "axis 0 of the data sets that can grow (unlimited first dimension)")
		c.lengths = true
		return c
	}
	if n, ok := t.frame(); ok {
		return t.axis(n, nil, "axis 0, the rows of pandas' frame").byConvention()
	}
	if n, ok := t.observations(); ok {
		return t.axis(n, nil, "axis 0, the observations of AnnData").byConvention()
	}
	if n, ok := t.most(); ok {
		c := t.axis(n, nil, "axis 0 of the data sets that hold nearly all bytes")
		c.lengths = true
		return c
	}
	if m := t.largest(); m != nil && m.Rows > 0 {
		return t.axis(m.Rows, nil, fmt.Sprintf("axis 0, the %s of the sparse matrix %s", m.What, cmp.Or(m.Group, "/"))).byConvention()
	}
	return nil
}

// arrays lists the data sets with their dimensions.
func (t *Tree) arrays() (all []sampleaxis.Array) {
	for i := range t.objects {
		if o := &t.objects[i]; t.note(o) == "" && len(o.wanted) > 0 {
			all = append(all, sampleaxis.Array{Name: strings.TrimPrefix(o.path, "/"), Shape: o.dims})
		}
	}
	return all
}

// common is the first dimension of the data sets that are in.
func (t *Tree) common(in func(*object) bool) (n int64, ok bool) {
	for i := range t.objects {
		o := &t.objects[i]
		switch {
		case !in(o):
		case !ok:
			n, ok = o.dims[0], true
		case o.dims[0] != n:
			return 0, false
		}
	}
	return n, ok
}

// growOnlyFirst: no data set grows along another dimension.
func (t *Tree) growOnlyFirst() bool {
	for i := range t.objects {
		if u := t.objects[i].unlimited; len(u) > 1 && slices.Contains(u[1:], true) {
			return false
		}
	}
	return true
}

// frame finds the rows of the only pandas frame that is chosen.
func (t *Tree) frame() (int64, bool) {
	if len(t.frames) != 1 {
		return 0, false
	}
	for i := range t.objects {
		if o := &t.objects[i]; path.Base(o.path) == "axis1" && t.frames[path.Dir(o.path)] && len(o.dims) == 1 {
			return o.dims[0], true
		}
	}
	return 0, false
}

// most finds a length that two data sets or more share, and with it nine tenths
// of the bytes: inputs and labels beside tables of names.
func (t *Tree) most() (int64, bool) {
	bytes, count := map[int64]int64{}, map[int64]int{}
	var total, best int64
	for i := range t.objects {
		o := &t.objects[i]
		if o.note != "" {
			continue
		}
		total += o.bytes
		if len(o.dims) == 0 {
			continue
		}
		n := o.dims[0]
		bytes[n] += o.bytes
		count[n]++
		if bytes[n] > bytes[best] {
			best = n
		}
	}
	return best, best > 1 && count[best] > 1 && bytes[best] >= total-total/10
}

func (c *Choice) byConvention() *Choice {
	c.stated = true
	return c
}

// axis is the choice of n rows, of a dimension with names or without; all data sets of other
// dimensions or lengths are left out.
func (t *Tree) axis(n int64, dimension []string, why string) *Choice {
	c := &Choice{Mode: ByAxis, Why: "samples are rows: " + why, left: map[string]string{}, dimension: dimension, columns: map[string]int64{}}
	for i := range t.objects {
		o := &t.objects[i]
		switch note := cmp.Or(t.note(o), c.otherDimension(o)); {
		case note != "":
			c.left[o.path] = note
		case len(o.dims) > 0 && o.dims[0] != n:
			c.left[o.path] = fmt.Sprintf("its first dimension is %d, the samples are %d", o.dims[0], n)
		case len(o.dims) > 0 && c.measure == "":
			c.measure = o.path
			fallthrough
		default:
			if o.matrix != nil {
				c.columns[o.matrix.Group] = o.matrix.Columns
			}
		}
	}
	return c
}

// groupSet is groups of one kind, each a sample.
type groupSet struct {
	parent, stem string
	numbered     bool
	names        []string // of the groups
	members      []string // of the first, relative paths
	first        []int    // object of each group's first member
	current      string
	at           int
	bad          string           // what a group lacks or has too much
	broken       map[string]error // damaged groups of the set
}

// add takes the next object, in order of paths.
func (g *groupSet) add(name, member string, object int) {
	if name != g.current || len(g.names) == 0 {
		g.end()
		g.current, g.at = name, 0
		g.names, g.first = append(g.names, name), append(g.first, object)
	}
	switch {
	case len(g.names) == 1:
		g.members = append(g.members, member)
	case g.at >= len(g.members) || g.members[g.at] != member:
		if g.bad == "" {
			g.bad = fmt.Sprintf("%s and %s hold other data sets", g.names[0], name)
		}
	}
	g.at++
}

func (g *groupSet) end() {
	if len(g.names) > 1 && g.at != len(g.members) && g.bad == "" {
		g.bad = fmt.Sprintf("%s and %s hold other data sets", g.names[0], g.current)
	}
}

// setKey is what sibling groups have in common.
type setKey struct{ parent, stem string }

// groupSets lists the sets of sibling groups: those with numbers, or any.
func (t *Tree) groupSets(numbered bool) []*groupSet {
	sets := map[setKey]*groupSet{}
	var order []*groupSet
	broken := t.brokenPaths()
	for i := range t.objects {
		p := t.objects[i].path
		for at := 1; ; {
			k := strings.IndexByte(p[at:], '/')
			if k < 0 {
				break
			}
			parent, name, member := p[:at-1], p[at:at+k], p[at+k+1:]
			at += k + 1
			stem, ok := naming.Stem(name)
			if !numbered {
				stem = ""
			} else if !ok {
				continue
			}
			g := sets[setKey{parent, stem}]
			if g == nil {
				g = &groupSet{parent: parent, stem: stem, numbered: numbered}
				sets[setKey{parent, stem}] = g
				order = append(order, g)
			}
			if broken[parent+"/"+name] == nil {
				g.add(name, member, i)
			}
		}
	}
	t.brokenGroups(sets, numbered)
	for _, g := range order {
		g.end()
	}
	return slices.DeleteFunc(order, func(g *groupSet) bool { return len(g.names) == 0 })
}

// chooseGroups finds groups that are samples: numbered ones of equal content,
// and if asked for any of equal content.
func (t *Tree) chooseGroups(asked bool) (*Choice, error) {
	var found []*groupSet
	why := ""
	for _, numbered := range []bool{true, false} {
		for _, g := range t.groupSets(numbered) {
			if g.bad != "" {
				why = fmt.Sprintf("in %s/ %s", g.parent, g.bad)
			} else if len(g.names)+len(g.broken) > 1 {
				found = append(found, g)
			}
		}
		if len(found) > 0 || !asked {
			break
		}
	}
	if asked && len(found) == 0 {
		for _, g := range t.groupSets(true) {
			if g.bad == "" {
				found = append(found, g)
			}
		}
	}
	if len(found) == 0 && asked {
		if why == "" {
			why = "the inputs have no such groups"
		}
		return nil, shardify.Mismatch("no groups of equal content that could be samples: %s; --object selects", why)
	}
	if len(found) == 0 {
		return nil, nil
	}
	depth := func(g *groupSet) int { return strings.Count(g.parent, "/") }
	slices.SortStableFunc(found, func(a, b *groupSet) int { return depth(a) - depth(b) })
	g := found[0]
	if len(found) > 1 && depth(found[1]) == depth(g) {
		var ways []format.Way
		for _, o := range found {
			if glob := o.parent + "/" + o.stem + "*"; depth(o) == depth(g) && !strings.Contains(glob, ",") {
				ways = append(ways, format.Way{Options: format.Options{"object": glob}, Makes: fmt.Sprintf("%d samples", len(o.names)+len(o.broken))})
			}
		}
		return nil, format.NewAmbiguous("groups of several kinds could be the samples", ways)
	}
	c := &Choice{Mode: ByGroup, parent: g.parent, stem: g.stem, numbered: g.numbered,
		Why: fmt.Sprintf("samples are the groups %s/%s*", g.parent, g.stem)}
	return c, nil
}
