package npz

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/storage/zips"
)

// Format is the readers' table's line for NumPy files.
var Format = format.Input{
	Name: "npz", Words: []string{"numpy", "npy"},
	Help:    "NumPy arrays: .npy files and .npz archives, stored or compressed",
	Sniff:   sniff,
	Options: options,
	Again:   labels.Again,
	Open:    open,
}

var options = slices.Concat([]format.Option{
	{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: "row", Values: []string{"row", sampleaxis.SampleAxis, sampleaxis.SampleFile},
		Help: "what one sample is. row: a row of the arrays (axis 0), unless each file looks like one sample; axis: always a row; file: a whole file"},
	{Name: sampleaxis.AxisOption, Idle: "no array has two axes or more", Kind: format.KindString, Default: "auto",
		Help: "the axis of the samples in arrays of two axes or more, 0 being the first and -1 the last: auto is 0"},
	{Name: "zip", Idle: format.Always, Kind: format.KindBool, Default: "false",
		Help: "join the inputs by position: each INPUT holds other columns of the same samples"},
}, labels.Options)

func sniff(head []byte, name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(string(head), npy.Magic) || strings.HasSuffix(name, ".npy") || strings.HasSuffix(name, ".npz")
}

// source is what the survey found, or a State kept.
type source struct {
	table   *format.Table
	byFile  bool
	firm    bool // rows are samples, as the user says
	axis    int  // of the samples
	named   *labels.Named
	groups  []*group
	schema  []shardify.Field
	left    []format.Leftover
	skipped []format.Skip
	notes   []string
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{table: a.Table, byFile: opts[sampleaxis.SampleOption] == sampleaxis.SampleFile, firm: opts[sampleaxis.SampleOption] == sampleaxis.SampleAxis}
	if s.axis, err = sampleaxis.ParseAxis(opts[sampleaxis.AxisOption]); err != nil {
		return nil, err
	}
	if err := labels.None(opts); err != nil && !s.byFile {
		return nil, err
	}
	a.Options = opts
	if a.State != nil {
		if err := s.restore(a.State); err != nil {
			return nil, shardify.Annotate(err, "open", "", "survey of the plan")
		}
	} else if err := s.parts(&a, opts.Bool("zip")); err != nil {
		return nil, err
	} else if err := s.survey(ctx, a, opts.Bool("zip")); err != nil {
		return nil, err
	}
	s.schema = append(s.own(), s.named.Fields()...)
	if err := shardify.ValidateSchema(s.schema); err != nil {
		return nil, fmt.Errorf("%w; --columns selects some", err)
	}
	s.markRuns()
	return s, s.checkBig()
}

// parts is the error about folders whose .npy files are parts of the same samples, such as images and masks.
func (s *source) parts(a *format.OpenArgs, zip bool) error {
	for i := range a.Table.Len() {
		if s.firm || zip || !bytes.HasSuffix(a.Table.NameBytes(i), []byte(".npy")) {
			return nil
		}
	}
	return pairs.Refuse(a, s.byFile && labels.MayClass(a.Table, a.Options), true)
}

// survey looks into the files, group by group.
func (s *source) survey(ctx context.Context, a format.OpenArgs, zip bool) error {
	lists, err := inputGroups(a.Table, zip)
	if err != nil {
		return err
	}
	chooser, err := newChooser(a.Columns, s.byFile)
	if err != nil {
		return err
	}
	chooser.firm = s.firm
	if s.byFile && labels.MayClass(a.Table, a.Options) { // a column that no array is
		chooser.Match(labels.ClassField)
	}
	var shapes []string
	for _, inputs := range lists {
		b := &groupBuilder{table: a.Table, inputs: inputs, npyName: npyName(a.Table, inputs), choose: chooser, firm: s.firm, axis: s.axis, used: a.Used, jobs: a.Jobs, rounds: a.Rounds, skip: a.SkipDamaged && !zip}
		g, err := b.build(ctx)
		if err != nil {
			return err
		}
		s.groups = append(s.groups, g)
		s.left = append(s.left, b.left...)
		s.notes = append(s.notes, b.notes...)
		s.skipped = append(s.skipped, b.skipped...)
		shapes = append(shapes, fmt.Sprintf("%s has %s", b.refName, b.ref.Shapes()))
	}
	s.notes = append(s.notes, chooser.Renamed(s.own())...)
	for _, f := range s.own() {
		if n := len(f.Shape); f.Attrs["void"] != "" && f.Shape[n-1] == 2 { // as NumPy saves again what it does not know
			s.notes = append(s.notes, fmt.Sprintf("%s is pairs of bytes, which have no type (|V2): if they are bfloat16, save %s.view(ml_dtypes.bfloat16)", f.Name, f.Name))
		}
	}
	for _, p := range chooser.Unmatched() {
		if !strings.ContainsAny(p, `*?[\`) {
			return shardify.Misuse("there is no %s; %s", p, strings.Join(shapes, "; "))
		}
	}
	if s.byFile {
		if s.named, err = labels.Name(&a, s.files(), s.own()); err != nil {
			return err
		}
	}
	if len(s.named.Fields()) == 0 && !slices.ContainsFunc(s.groups, (*group).delivers) {
		return shardify.Misuse("nothing to read with --columns '%s'; %s", strings.Join(a.Columns, ","), strings.Join(shapes, "; "))
	}
	return s.checkCounts()
}

// own are the fields of the files.
func (s *source) own() (all []shardify.Field) {
	for _, g := range s.groups {
		all = append(all, g.fields()...)
	}
	return all
}

// files are the inputs that spans are of.
func (s *source) files() []uint32 {
	all := make([]uint32, len(s.groups[0].files))
	for i := range all {
		all[i] = s.groups[0].files[i].input
	}
	return all
}

// inputGroups lists the inputs that belong together.
func inputGroups(t *format.Table, zip bool) ([][]uint32, error) {
	lists := make([][]uint32, 1)
	if zip {
		lists = make([][]uint32, len(t.Roots))
	}
	for i := range t.Len() {
		g := 0
		if zip {
			g = t.Root(i)
		}
		lists[g] = append(lists[g], uint32(i))
	}
	if zip && len(lists) < 2 {
		return nil, shardify.Mismatch("--zip joins two or more inputs, there is %d", len(lists))
	}
	for g := range lists {
		if len(lists[g]) == 0 {
			return nil, shardify.Unsupported("no NPY or NPZ files")
		}
	}
	return lists, nil
}

// checkCounts compares the lengths of what zip joins.
func (s *source) checkCounts() error {
	for i, g := range s.groups {
		if g.samples != s.groups[0].samples {
			return shardify.Mismatch("--zip: %s has %d samples, %s has %d", s.table.Roots[0], s.groups[0].samples, s.table.Roots[i], g.samples)
		}
	}
	return nil
}

func (g *group) delivers() bool {
	return slices.ContainsFunc(g.columns, func(c column) bool { return len(c.wanted) > 0 })
}

// fields are the schema of the group's columns.
func (g *group) fields() []shardify.Field {
	var all []shardify.Field
	for j := range g.columns {
		c := &g.columns[j]
		for i := range c.wanted {
			f := c.wanted[i].field
			if all = append(all, f); f.Ragged {
				all = append(all, shardify.Field{Name: f.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{len(c.inner)}})
			}
		}
	}
	return all
}

// Schema implements shardify.Source.
func (s *source) Schema() []shardify.Field { return slices.Clone(s.schema) }

// Leftovers implements format.Reporter.
func (s *source) Leftovers() []format.Leftover { return slices.Concat(s.left, s.named.Leftovers()) }

// Keyed implements format.Keyer: files that are samples may name them.
func (s *source) Keyed() bool { return s.named.Keyed() }

// Columnar implements format.Columnar.
func (s *source) Columnar() bool { return true }

// CheckKeys implements format.Keyer.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	return s.named.CheckKeys(memberMax, check)
}

// Skipped implements format.Skipper: files that are left out because they are damaged.
func (s *source) Skipped() []format.Skip { return slices.Clone(s.skipped) }

// ByFile implements format.Arrayed.
func (s *source) ByFile() bool { return s.byFile }

// Notes implements format.Noter: what was widened, and how many inputs are empty.
func (s *source) Notes() []string { return slices.Clone(s.notes) }

// ObjectName implements format.ObjectNamer: objects are the arrays, counted
// over all groups.
func (s *source) ObjectName(_, object uint32) (file, name string) {
	n := int(object)
	for _, g := range s.groups {
		if n < len(g.columns) {
			return "", g.columns[n].key + ".npy"
		}
		n -= len(g.columns)
	}
	return "", ""
}

// Close implements shardify.Source. Readers hold their files themselves.
func (s *source) Close() error { return nil }

// Reopen implements format.Reopener: readers open files by themselves.
func (s *source) Reopen() {}

// markRuns gives a run to every stretch of files that must be decoded in order:
// a file with a compressed column, with all that zip joins to it.
func (s *source) markRuns() {
	at := make([]int, len(s.groups)) // next file of each group
	for at[0] < len(s.groups[0].files) {
		start := at[0]
		end, packed := int64(-1), false
		for again := true; again; {
			again = false
			for i, g := range s.groups {
				for at[i] < len(g.files) && (i == 0 && end < 0 || g.files[at[i]].first < end) {
					f := &g.files[at[i]]
					packed = packed || g.packed(at[i])
					at[i]++
					if e := f.first + f.samples; e > end {
						end, again = e, true
					}
				}
			}
		}
		for k := start; k < at[0] && packed; k++ {
			s.groups[0].files[k].run = s.groups[0].files[start].input + 1
		}
	}
}

// packed reports whether a wanted column of a file is compressed.
func (g *group) packed(file int) bool {
	for j := range g.columns {
		if p := &g.parts[file*len(g.columns)+j]; len(g.columns[j].wanted) > 0 && p.method != zips.Stored {
			return true
		}
	}
	return false
}

// Spans implements shardify.Source.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(shardify.Span{}, err)
			return
		}
		at := make([]int, len(s.groups))
		files := s.groups[0].files
		for i := range files {
			at[0] = i
			for lo := int64(0); lo < files[i].samples; {
				hi := s.commonEnd(at, files[i].first+lo) - files[i].first
				if !s.cut(at, lo, hi, target, yield) {
					return
				}
				lo = hi
				if err := ctx.Err(); err != nil {
					yield(shardify.Span{}, err)
					return
				}
			}
		}
	}
}

// commonEnd moves every group to its file that holds sample pos and returns the
// first end of one of them.
func (s *source) commonEnd(at []int, pos int64) int64 {
	end := int64(-1)
	for i, g := range s.groups {
		for g.files[at[i]].first+g.files[at[i]].samples <= pos {
			at[i]++
		}
		if e := g.files[at[i]].first + g.files[at[i]].samples; end < 0 || e < end {
			end = e
		}
	}
	return end
}

// cut yields samples [lo, hi) of a file in equal spans of at most target bytes.
func (s *source) cut(at []int, lo, hi, target int64, yield func(shardify.Span, error) bool) bool {
	perSample, fixed, whole := s.cost(at)
	n := hi - lo
	each := min(max((max(target, 1)-fixed)/max(perSample, 1), 1), n)
	if whole {
		each = n
	}
	spans := (n + each - 1) / each
	f := &s.groups[0].files[at[0]]
	for k := range spans {
		a, b := lo+border(n, k, spans), lo+border(n, k+1, spans)
		if !yield(shardify.Span{Input: f.input, Run: f.run, Lo: a, Hi: b, Bytes: rows.SatAdd(rows.SatMul(perSample, b-a), rows.SatAdd(fixed, s.named.Bytes(f.input)))}, nil) {
			return false
		}
	}
	return true
}

// border is where piece k of n samples in equal pieces begins.
func border(n, k, pieces int64) int64 { return n/pieces*k + min(k, n%pieces) }
