package arrays

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/arrays/attrs"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/internal/cf"
	"github.com/shardify/shardify/readers/internal/chunks"
	"github.com/shardify/shardify/readers/internal/dims"
	sel "github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// chooser looks into the inputs.
type chooser struct {
	fs     storage.FS
	opts   *settings
	inputs int
	choice *choice

	mu   sync.Mutex
	kept *tree // of the first input, which is not scanned twice
	path string
}

// choice is what samples are.
type choice struct {
	mode      string
	dimension string // of rows, "" without a name
	rows      int64
	why       string
	times     map[string]cf.Unit // what times are counted in
	arrays    []sampleaxis.Array // of rows that only their equal number speaks for
}

// object is an array that may be fields.
type object struct {
	*grid
	leaves []leaf
	bytes  int64
	coord  bool           // the coordinate of its dimension
	of     map[string]any // attributes of the array that it has the bounds of

	why     string     // it is no column
	repeats bool       // its values are for all samples together
	picks   []sel.Pick // what is taken of each dimension
	front   int        // the dimension that comes behind the samples', 0: as stored
	text    bool       // its characters are one text
	lists   *listing   // that its rows are
}

// tree is a store with its arrays.
type tree struct {
	*store.Tree
	in      *input
	objects []object
	broken  []survey.Damage
	left    []format.Leftover
	path    string
	several bool // there are other inputs
	coords  sel.Memo[*object]

	must      bool     // a chunk that is missing is damage
	uncounted []string // arrays whose chunks were not counted
}

func (t *tree) close() { t.in.Close() }

// scan opens a store and lists its arrays.
func (s *chooser) scan(ctx context.Context, name string) (*tree, error) {
	f, err := rows.OpenFile(ctx, s.fs, name, -1)
	if err != nil {
		return nil, err
	}
	files, err := s.opts.kind.Open(ctx, s.fs, name, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	t := &tree{in: newInput(f, files), path: name, several: s.inputs > 1, must: s.opts.chunks == "fail", coords: sel.Memo[*object]{}}
	if t.Tree, err = s.opts.kind.Scan(ctx, files, s.opts.choice()); err != nil {
		t.close()
		return nil, err
	}
	if s.isCells(t.Tree) {
		t.close()
		return nil, errCells
	}
	for _, g := range s.opts.objects {
		if g == "" || slices.ContainsFunc(t.Arrays, func(a store.Array) bool { return matches(g, a.Path, false) }) {
			s.opts.used.MarkPart("object", g)
		}
	}
	if len(t.Foreign) > 0 && s.opts.chunks != "fill" {
		t.close()
		return nil, foreign(t.Tree)
	}
	t.left = t.Left
	for _, name := range t.Foreign {
		t.left = append(t.left, format.Leftover{Name: name, Reason: "belongs to no array and no group of the store"})
	}
	for i := range t.Arrays {
		if err := t.add(&t.Arrays[i], s.opts); err != nil {
			t.close()
			return nil, err
		}
	}
	t.bounds(s.opts)
	t.characters(s.opts)
	if err := t.flat(ctx, s.opts); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// leave notes an array that is not read: damage is to be known before anything follows from it.
func (t *tree) leave(p string, err error) error {
	switch {
	case errors.Is(err, shardify.ErrUnsupported):
		t.left = append(t.left, format.Unread(p, err))
	case errors.Is(err, shardify.ErrCorrupt):
		t.broken = append(t.broken, survey.Damage{Object: cmp.Or(p, "/"), Err: err})
	default:
		return err
	}
	return nil
}

func (t *tree) add(a *store.Array, opts *settings) error {
	if a.Err != nil {
		return t.leave(a.Path, a.Err)
	}
	axis := 0
	if len(a.Shape) > 1 && opts.sample != byFile {
		var ok bool
		if axis, ok = sampleaxis.PlaceOfAxis(opts.axis, len(a.Shape)); !ok {
			return t.leave(a.Path, shardify.Unsupported("there is no axis %d", opts.axis))
		}
		opts.used.Mark(sampleaxis.AxisOption)
	}
	o := object{grid: gridOf(a, axis, 0), leaves: leavesOf(&a.Type)}
	o.coord = len(a.Dims) == 1 && a.Dims[0] != "" && a.Dims[0] == path.Base(a.Path)
	o.bytes = rows.SatMul(rows.SatMul(o.rows, o.elems), int64(max(a.Type.Size, 8)))
	for i := range o.leaves {
		auto := o.leaves[i]
		if err := o.leaves[i].decode(a, nil, opts.cf); err != nil {
			return t.leave(a.Path, err)
		}
		if opts.cf == cfOn && o.leaves[i].differs(&auto, a, opts.cf) {
			opts.used.Mark("cf")
		}
	}
	for _, note := range a.Notes {
		t.Notes = append(t.Notes, cmp.Or(a.Path, "the array")+": "+note)
	}
	t.objects = append(t.objects, o)
	return nil
}

// bounds gives arrays that hold bounds of others the units of those.
func (t *tree) bounds(opts *settings) {
	byPath := map[string]*object{}
	for i := range t.objects {
		byPath[t.objects[i].Path] = &t.objects[i]
	}
	for i := range t.objects {
		o := &t.objects[i]
		name, _ := o.Attributes["bounds"].(string)
		b := byPath[join(strings.TrimPrefix(path.Dir(o.Path), "."), name)]
		if opts.cf == cfOff || name == "" || b == nil || len(b.leaves) != 1 || b.leaves[0].cf != nil {
			continue
		}
		of := map[string]any{}
		for _, k := range []string{"units", "calendar"} {
			if v, ok := o.Attributes[k].(string); ok {
				of[k] = v
			}
		}
		if b.leaves[0].decode(b.Array, of, opts.cf) == nil && b.leaves[0].cf != nil {
			b.of = of
		}
	}
}

// characters finds texts among arrays of single characters, as xarray does in each group.
func (t *tree) characters(opts *settings) {
	if opts.cf == cfOff {
		return
	}
	groups := map[string]*dims.Characters{}
	of := func(o *object) *dims.Characters {
		g := path.Dir(o.Path)
		if groups[g] == nil {
			groups[g] = &dims.Characters{}
		}
		return groups[g]
	}
	for i := range t.objects {
		o := &t.objects[i]
		of(o).Use(o.Dims, o.Type.Kind == node.Fixed && !o.coord)
	}
	for i := range t.objects {
		o := &t.objects[i]
		last := len(o.order) - 1
		if l := &o.leaves[0]; l.typ.Kind == node.Fixed && l.typ.Size == 1 && len(o.leaves) == 1 && l.name == "" && (last > 0 || last == 0 && l.typ.Chars) && o.order[last] == last &&
			len(o.Dims) > last && o.shape[last] > 0 && of(o).Along(o.Dims[last]) {
			l.chars, o.text = true, last == 0
		}
	}
}

// dim is the name of dimension d of the rows.
func (o *object) dim(d int) string {
	if len(o.Dims) == 0 || len(o.order) == 0 || d == 0 && o.lists != nil {
		return ""
	}
	return o.Dims[o.order[d]]
}

// nameDims sets in f the names of the dimensions of its elements, the last n of the rows'.
func (o *object) nameDims(f *shardify.Field, n int) {
	if n == 0 || len(o.order) < n || len(o.Dims) != len(o.order) {
		return
	}
	var names []string
	for _, d := range o.order[len(o.order)-n:] {
		names = append(names, o.Dims[d])
	}
	f.NameDims(names)
}

// single reports whether an array is one value.
func (o *object) single() bool { return len(o.order) == 0 || o.text }

// time reports whether an array counts time.
func (o *object) time() bool {
	units, _ := o.Attributes["units"].(string)
	return strings.Contains(strings.ToLower(units), " since ") || o.Type.Kind == node.Time
}

// choose decides what the samples are, by these arrays. before is the choice for the inputs
// before, nil for the first.
func choose(objects []object, opts *settings, inputs int, before *choice) (*choice, error) {
	c, err := chooseAny(objects, opts, inputs, before)
	if err != nil || before != nil {
		return c, err
	}
	return settled(objects, opts, c)
}

func chooseAny(objects []object, opts *settings, inputs int, before *choice) (*choice, error) {
	if opts.sample == byFile || before != nil && before.mode == byFile {
		return &choice{mode: byFile, why: "each " + opts.kind.One + " is one sample, as asked for"}, nil
	}
	var arrays []dims.Array
	time, several := map[string]bool{}, 0
	for i := range objects {
		o := &objects[i]
		a := dims.Array{Bytes: o.bytes, Coord: o.coord}
		if !o.single() {
			a.Shape = slices.Concat([]int64{o.n()}, o.shape[1:])
			a.Grows = o.Grows && o.order[0] == 0
			several++
		}
		for d := range o.Dims {
			a.Names = append(a.Names, o.dim(d))
		}
		if o.coord && o.time() {
			time[o.Dims[0]] = true
		}
		arrays = append(arrays, a)
	}
	if before != nil && before.dimension != "" {
		for i := range objects {
			if o := &objects[i]; !o.single() && o.dim(0) == before.dimension {
				return &choice{mode: byAxis, dimension: before.dimension, rows: o.n(), why: before.why}, nil
			}
		}
	}
	firm := opts.sample == byAxis
	if all := dims.Find(arrays); all != nil {
		if l, why := all.Choose(time, firm, firm || inputs == 1); l != nil {
			return &choice{mode: byAxis, dimension: l.Name, rows: l.Rows, why: "samples are rows: dimension " + l.Name + ", " + strings.ReplaceAll(why, "data sets", "arrays")}, nil
		}
	} else if n, why := common(objects, firm || inputs == 1); why != "" {
		c := &choice{mode: byAxis, rows: n, why: "samples are rows: " + why}
		if why == sharedAxis {
			for i := range objects {
				o := &objects[i]
				if !o.single() {
					c.arrays = append(c.arrays, sampleaxis.Array{Name: o.Path, Shape: slices.Concat([]int64{o.n()}, o.shape[1:])})
				} else {
					c.arrays = append(c.arrays, sampleaxis.Array{Name: o.Path})
				}
			}
		}
		return c, nil
	}
	if several == 0 {
		return nil, format.NewAmbiguous("there are single values alone: "+shapes(objects), ways(objects, opts))
	}
	return nil, format.NewAmbiguous("the arrays have no common first dimension: "+shapes(objects), ways(objects, opts))
}

// settled is the error where the samples have less than half of the bytes.
func settled(objects []object, opts *settings, c *choice) (*choice, error) {
	var in, total int64
	for i := range objects {
		o := &objects[i]
		if o.coord {
			continue
		}
		total += o.bytes
		if o.single() || o.dim(0) == c.dimension && c.dimension != "" || (c.dimension == "" || o.dim(0) == "") && o.n() == c.rows {
			in += o.bytes
		}
	}
	if c.mode == byFile || 2*in >= total {
		return c, nil
	}
	return nil, format.NewAmbiguous(fmt.Sprintf("%s: they have %s of %s", c.why, shardify.FormatSize(in), shardify.FormatSize(total)), ways(objects, opts))
}

// ways are the ways to take samples where arrays have different lengths, the one with the
// most bytes first.
func ways(objects []object, opts *settings) []format.Way {
	var parts []sampleaxis.Part
	for i := range objects {
		if o := &objects[i]; !o.single() && !o.coord {
			parts = append(parts, sampleaxis.Part{Path: o.Path, Dim: o.dim(0), Rows: o.n(), Bytes: o.bytes})
		}
	}
	return append(sampleaxis.Lengths(parts, func(paths []string) format.Way {
		return format.Way{Options: format.Options{"object": strings.Join(paths, ","), sampleaxis.SampleOption: byAxis}}
	}), format.Way{Options: format.Options{sampleaxis.SampleOption: byFile}, Makes: "each " + opts.kind.One + " one sample"})
}

const sharedAxis = "axis 0, which all arrays share"

// common finds the length that all arrays share, or those that hold nine tenths of the bytes.
func common(objects []object, firm bool) (n int64, why string) {
	bytes, count := map[int64]int64{}, map[int64]int{}
	var total, best int64
	several := 0
	for i := range objects {
		o := &objects[i]
		if total += o.bytes; o.single() {
			continue
		}
		several++
		n := o.n()
		bytes[n] += o.bytes
		if count[n]++; bytes[n] >= bytes[best] {
			best = n
		}
	}
	switch {
	case several > 0 && count[best] == several && (best != 1 || firm):
		return best, sharedAxis
	case best > 1 && count[best] > 1 && bytes[best] >= total-total/10:
		return best, "axis 0 of the arrays that hold nearly all bytes"
	}
	return 0, ""
}

// shapes lists arrays with their dimensions.
func shapes(objects []object) string {
	var parts []string
	for i := range objects {
		o := &objects[i]
		if len(parts) == 20 {
			parts = append(parts, fmt.Sprintf("and %d more", len(objects)-i))
			break
		}
		s := fmt.Sprintf("%s %v", cmp.Or(o.Path, "the array"), o.Array.Shape)
		if len(o.Dims) > 0 {
			s += " (" + strings.Join(o.Dims, ", ") + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// maxLooks bounds the inputs that are tried for what the samples are.
const maxLooks = 64

// decide finds what the samples are from the first input that shows it.
func (s *chooser) decide(ctx context.Context, a format.OpenArgs) error {
	var first error
	for i := range min(a.Table.Len(), maxLooks) {
		err := s.decideBy(ctx, a, i)
		if err == nil || ctx.Err() != nil || errors.Is(err, errCells) {
			return err
		}
		if first = cmp.Or(first, shardify.Annotate(err, "open", a.Table.Shown(i), "")); !errors.Is(err, shardify.ErrCorrupt) {
			break
		}
	}
	return first
}

func (s *chooser) decideBy(ctx context.Context, a format.OpenArgs, i int) error {
	t, err := s.scan(ctx, a.Table.Path(i))
	if err != nil {
		return err
	}
	want, err := columns.New(a.Columns)
	if err == nil {
		s.choice, err = t.decide(s, want)
	}
	if err == nil {
		s.choice.times, err = t.times(ctx)
	}
	if err != nil {
		t.close()
		return err
	}
	s.kept, s.path = t, a.Table.Path(i)
	return nil
}

// decide chooses by all arrays, whatever the columns: a column alone must have the samples that
// it has among the others. Where all of these say nothing of it, it decides.
func (t *tree) decide(s *chooser, want *columns.Wanted) (*choice, error) {
	if bad := t.damaged(want); len(bad) > 0 {
		return nil, shardify.Annotate(bad[0].Err, "", "", bad[0].Object)
	}
	if len(t.objects) == 0 {
		return nil, t.nothing(s.opts)
	}
	c, err := choose(t.objects, s.opts, s.inputs, nil)
	if want.All() {
		return c, err
	}
	var some []object
	in := false
	for i := range t.objects {
		o := &t.objects[i]
		if hit, _ := o.wanted(want); hit {
			some = append(some, *o)
			in = in || c != nil && c.leaves(o) == ""
		}
	}
	if in || len(some) == 0 {
		return c, err
	}
	if alone, e := choose(some, s.opts, s.inputs, nil); e == nil {
		return alone, nil
	}
	return c, err
}

func (t *tree) nothing(opts *settings) error {
	if len(t.left) > 0 {
		return shardify.Unsupported("no array that can be read; %s: %s", cmp.Or(t.left[0].Name, "the array"), t.left[0].Reason)
	}
	if len(opts.objects) > 0 {
		return shardify.Misuse("there is no array %s", strings.Join(opts.objects, ", "))
	}
	return shardify.Unsupported("the %s has no arrays", opts.kind.One)
}

// wanted reports whether some leaf of an array is wanted, and whether by name.
func (o *object) wanted(want *columns.Wanted) (hit, exact bool) {
	for i := range o.leaves {
		h, e := want.Match(o.names(&o.leaves[i])...)
		hit, exact = hit || h, exact || e
	}
	return hit, exact
}

// names are the forms in which users may write the name of a field: the first is its own.
func (o *object) names(l *leaf) []string {
	p := cmp.Or(o.Path, "data")
	if l.name == "" {
		return []string{p, "/" + p}
	}
	return []string{join(p, l.name), "/" + join(p, l.name), p, l.name}
}

// damaged is the damage that concerns wanted fields.
func (t *tree) damaged(want *columns.Wanted) []survey.Damage {
	return slices.DeleteFunc(slices.Clone(t.broken), func(d survey.Damage) bool {
		hit, _ := want.Match(strings.TrimPrefix(d.Object, "/"), d.Object)
		return !hit
	})
}

// leaves says why an array is no column, "" if it is.
func (c *choice) leaves(o *object) string {
	switch first := o.dim(0); {
	case c.mode == byFile || o.single():
		return ""
	case c.dimension != "" && first != "" && first != c.dimension:
		return "its first dimension is " + first + ", the samples are " + c.dimension
	case o.n() != c.rows:
		return fmt.Sprintf("its first dimension is %d, the samples are %d", o.n(), c.rows)
	}
	return ""
}

func (s *chooser) keptTree(name string) *tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept
	if t == nil || s.path != name {
		return nil
	}
	s.kept = nil
	return t
}

// drop closes the store that is kept and was not used.
func (s *chooser) drop() {
	if t := s.keptTree(s.path); t != nil {
		t.close()
	}
}

// look implements survey.Format.
func (s *chooser) look(ctx context.Context, name string, want *columns.Wanted) (*survey.Facts, error) {
	t := s.keptTree(name)
	if t == nil {
		var err error
		if t, err = s.scan(ctx, name); err != nil {
			return nil, err
		}
	}
	defer t.close()
	if bad := t.damaged(want); len(bad) > 0 {
		return &survey.Facts{Size: t.in.file.Size(), Damaged: bad}, nil
	}
	c := s.choice
	if s.inputs > 1 && c.mode == byAxis {
		own, err := choose(t.objects, s.opts, s.inputs, c)
		if err != nil && len(t.objects) > 0 {
			return nil, err
		} else if err == nil && (own.mode != c.mode || own.dimension != c.dimension) {
			return nil, shardify.Mismatch("%s, but in the first input %s", own.why, c.why)
		} else if err == nil {
			own.times, c = c.times, own
		}
	}
	return t.report(ctx, s, c, want)
}

// ask leaves it to the user what a sample is, where rows are not the only way to read several
// stores.
func (s *chooser) ask(all *set.Set) (doubt []string, err error) {
	if s.choice == nil || s.choice.mode != byAxis || s.choice.arrays == nil {
		return nil, nil
	}
	return sampleaxis.ReadingsOf(all, s.choice.arrays).Settle(s.opts.sample == byAxis)
}

// report describes a store as the choice says.
func (t *tree) report(ctx context.Context, s *chooser, c *choice, want *columns.Wanted) (*survey.Facts, error) {
	f := &survey.Facts{Samples: 1, Size: t.in.file.Size()}
	if c.mode == byAxis {
		f.Samples = c.rows
	}
	taken, err := s.opts.taker(ctx, t, c)
	if err != nil {
		return nil, err
	}
	if c.mode == byAxis && taken.Rows != nil {
		f.Samples = taken.Rows.Len(c.rows)
	}
	b := blob{Mode: c.mode, Why: c.why + taken.Why, Notes: t.Notes}
	for _, l := range t.left {
		if hit, _ := want.Match(l.Name, "/"+l.Name); hit || want.All() {
			f.Left = append(f.Left, l)
		}
	}
	r := &reporter{t: t, s: s, c: c, want: want, f: f, b: &b}
	for i := range t.objects {
		o := &t.objects[i]
		if hit, exact := o.wanted(want); hit {
			if err := r.object(ctx, o, exact); err != nil {
				return nil, err
			}
		}
	}
	r.keepLists()
	t.noteUncounted(s.opts, &b)
	b.noteUnfilled()
	t.anemoi(f, &b)
	r.borders(taken.Rows)
	if s.opts.chunked {
		if err := t.chunked(c, taken.Rows, &b); err != nil {
			return nil, err
		}
	}
	f.Blob, err = json.Marshal(&b)
	return f, err
}

// reporter collects what is said of a store's arrays.
type reporter struct {
	t     *tree
	s     *chooser
	c     *choice
	want  *columns.Wanted
	f     *survey.Facts
	b     *blob
	units []set.Unit // of rows that are decoded together
	lists []*listing // of fields
}

// object adds the fields of an array, or says why it has none. exact: it is asked for by name.
func (r *reporter) object(ctx context.Context, o *object, exact bool) error {
	t, c, f, opts := r.t, r.c, r.f, r.s.opts
	why, same := o.why, o.repeats
	if why == "" && opts.alone && !opts.channels.Has(cmp.Or(o.Path, "data")) && !(o.coord && c.dimension != "" && o.Dims[0] == c.dimension) {
		why = "not among --channels; --columns adds it"
	}
	if why != "" && !same {
		if exact {
			return shardify.Annotate(shardify.Mismatch("%s", why), "", "", o.Path)
		}
		f.Left = append(f.Left, format.Leftover{Name: o.Path, Reason: why})
		return nil
	}
	once := c.mode == byAxis && (o.single() || same)
	if c.mode == byAxis && !once && o.n() != f.Samples {
		return shardify.Annotate(shardify.Mismatch("--sel takes %d of the samples and all %d rows of this array, whose first dimension has no name; --columns leaves it out", f.Samples, o.rows), "", "", o.Path)
	}
	x := blobObject{Path: o.Path, Digest: o.Digest, Once: once, Units: o.of, Picks: o.picks, Front: o.front}
	if len(o.order) > 0 {
		x.Axis = o.order[0]
	}
	there, err := t.chunks(ctx, o, opts, &x)
	if err != nil {
		return leftOrErr(err, exact, o.Path, f)
	}
	x.Whole = there
	first := len(f.Fields)
	for k := range o.leaves {
		if err := t.field(o, k, c, opts, r.want, f, r.b, &x); err != nil {
			return err
		}
	}
	if len(x.Leaves) == 0 {
		return nil
	}
	if c.mode == byAxis && o.lists == nil {
		if err := f.Compare(t.arrayOf(ctx, o, c), o.picks, first, t.several); err != nil {
			return err
		}
	}
	r.keep(o, x)
	return nil
}

// keep adds an array that has fields to what readers need to know.
func (r *reporter) keep(o *object, x blobObject) {
	b, f := r.b, r.f
	if o.lists != nil {
		x.Lists, x.By = o.lists.name, o.lists.rule()
		if !slices.ContainsFunc(r.lists, func(l *listing) bool { return l == o.lists }) {
			r.lists = append(r.lists, o.lists)
			b.Why += "; lists by " + o.lists.text()
		}
	}
	b.Objects = append(b.Objects, x)
	if !x.Once && r.c.mode == byAxis {
		u := set.Unit{RowBytes: o.bytes / max(o.n(), 1), Rows: o.part[0]}
		if o.lists != nil {
			u.Rows = 1
		}
		r.units = append(r.units, u)
	}
	if n := rows.SatMul(o.PartElements(), int64(max(o.Type.Size, 8))); n > f.PieceBytes {
		f.Piece, f.PieceBytes = "a chunk of "+cmp.Or(o.Path, "the array"), n
	}
	f.Lines = append(f.Lines, o.describe())
}

// borders finds where spans may be cut without decoding a chunk twice.
func (r *reporter) borders(taken sel.Pick) {
	f := r.f
	if f.Borders = (set.Borders{Every: 1}); r.c.mode != byAxis {
		return
	}
	if taken == nil {
		f.Borders = set.JoinUnits(r.units, f.Samples, slabBytes, keepRow)
		return
	}
	f.Borders = set.JoinUnits(r.units, math.MaxInt64, slabBytes, keepRow) // units are of stored rows
	if f.Borders.Every > 1 {
		f.Borders = set.Borders{At: taken.Borders(f.Borders.Every), Inside: f.Borders.Inside}
	}
}

// noteUnfilled names the fields whose fill values count as values.
func (b *blob) noteUnfilled() {
	n := len(b.unfilled)
	if n == 0 {
		return
	}
	names := strings.Join(b.unfilled[:min(n, 3)], ", ")
	if n > 3 {
		names += fmt.Sprintf(" and %d other fields", n-3)
	}
	b.Notes = append(b.Notes, "fill_value of "+names+" counts as a value; --cf on makes it a missing one")
}

// chunked finds the chunks whose rows make samples, whatever columns are wanted.
func (t *tree) chunked(c *choice, taken sel.Pick, b *blob) (err error) {
	var arrays []chunks.Array
	for i := range t.objects {
		if o := &t.objects[i]; !o.single() && o.why == "" {
			arrays = append(arrays, chunks.Array{Name: cmp.Or(o.Path, "the array"), RowBytes: o.bytes / max(o.rows, 1), Rows: o.part[0]})
		}
	}
	var notes []string
	b.Chunk, notes, err = chunks.Of(arrays, taken, c.dimension)
	b.Notes = append(b.Notes, notes...)
	return err
}

// anemoi reads what the root of a data set of anemoi says: the names of the variables that data
// stacks, and dates without data.
func (t *tree) anemoi(f *survey.Facts, b *blob) {
	root := t.Groups[""]
	names := attrs.Texts(root["variables"])
	i := slices.IndexFunc(t.objects, func(o object) bool { return o.Path == "data" })
	if dates := attrs.Texts(root["missing_dates"]); i >= 0 && len(names) > 0 && len(dates) > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("missing_dates of the store names %d dates, as %.40q: their rows have no data", len(dates), dates[0]))
	}
	if i < 0 || b.Mode != byAxis || len(t.objects[i].order) < 2 || t.objects[i].order[1] != 1 || len(t.objects[i].picks) > 0 && t.objects[i].picks[1] != nil {
		return // the variables are not what comes first in a row, or others
	}
	for i := range f.Fields {
		x := &f.Fields[i]
		if x.Name == "data" && len(x.Shape) > 0 && len(names) == x.Shape[0] && len(names) > 0 {
			x.Attrs = maps.Clone(x.Attrs)
			if x.Attrs == nil {
				x.Attrs = map[string]string{}
			}
			x.Attrs["channels"] = strings.Join(names, shardify.LabelSeparator)
		}
	}
}

// slabBytes bounds what is decoded together; rows of chunks larger than that are decoded more
// than once.
const slabBytes = 512 << 20

// leftOrErr leaves an array out by name, unless it was asked for.
func leftOrErr(err error, exact bool, name string, f *survey.Facts) error {
	if exact || !errors.Is(err, errNoChunks) && !errors.Is(err, shardify.ErrUnsupported) {
		return shardify.Annotate(err, "", "", name)
	}
	f.Left = append(f.Left, format.Unread(name, err))
	return nil
}

// field adds the field of a leaf.
func (t *tree) field(o *object, k int, c *choice, opts *settings, want *columns.Wanted, f *survey.Facts, b *blob, x *blobObject) error {
	l := &o.leaves[k]
	hit, exact := want.Match(o.names(l)...)
	if !hit {
		return nil
	}
	inner := o.inner()
	if (c.mode == byFile || o.repeats || o.text) && len(o.order) > 0 {
		inner = o.shape
	}
	if l.cf != nil {
		if _, ok := l.cf.Time(); ok {
			x.Time = cmp.Or(c.times[o.Path], l.cf.Into())
			l.inUnit(x.Time)
		}
	}
	name := o.names(l)[0]
	field, err := l.field(format.PlainName(name), opts.media, inner)
	if t, _ := l.field("t", "txt", inner); t.Media == "txt" {
		opts.used.Mark(format.OptText.Name)
	}
	if err != nil {
		if exact {
			return shardify.Annotate(err, "", "", o.Path)
		}
		f.Left = append(f.Left, format.Unread(name, err))
		return nil
	}
	if o.lists != nil {
		if err = asLists(&field); err != nil {
			return leftOrErr(err, exact, name, f)
		}
		if field.Levels == 1 {
			field.Counter = o.lists.name
		}
	}
	l.attributes(o.Array, &field)
	if x.Chars = l.chars; l.chars {
		b.Notes = append(b.Notes, name+": characters along "+o.Dims[len(o.Dims)-1]+" are texts")
	} else {
		o.nameDims(&field, len(inner))
	}
	if l.unfilled(o.Array, opts.cf) {
		b.unfilled = append(b.unfilled, name)
	}
	if l.cf != nil {
		if !l.cf.Plain() {
			text := name + " " + l.cf.Describe()
			if l.filled(o.Array, opts.cf) && slices.Contains(l.cf.Applied, "_FillValue") {
				fill := strconv.FormatFloat(attrs.Stored(o.Fill, l.typ.DType).Float, 'g', -1, 64)
				if l.typ.DType.IsInt() {
					text += "; fill_value, " + fill + ", counts as missing: --cf off keeps it"
				}
				if x := attrs.Text(o.Attributes["_FillValue"]); x != "" && x != fill && l.typ.DType.IsInt() {
					text += "; the attribute _FillValue, " + x + ", does not, as in xarray"
				}
			}
			b.Notes = append(b.Notes, text)
		}
		for _, note := range l.cf.Notes {
			b.Notes = append(b.Notes, name+": "+note)
		}
	}
	x.Leaves = append(x.Leaves, k)
	bytes := int64(0)
	if o.lists != nil && !l.text() {
		bytes = rows.SatMul(rows.SatMul(o.rows, o.elems), l.values()*int64(l.width(field.DType)))
	}
	if l.text() {
		bytes = rows.SatMul(rows.SatMul(o.rows, o.elems), int64(max(l.typ.Size, 24))*l.values())
	}
	f.Fields = append(f.Fields, survey.Field{Field: field, Bytes: bytes})
	return nil
}

func (o *object) describe() string {
	s := fmt.Sprintf("%s %s %v", cmp.Or(o.Path, "the array"), o.Type.Name, o.Array.Shape)
	if len(o.Dims) > 0 {
		s += " (" + strings.Join(o.Dims, ", ") + ")"
	}
	return s + ", " + cmp.Or(o.Layout, o.grid.String())
}

// maxTimes bounds the bytes that are read to see whether times are whole seconds.
const maxTimes = 1 << 20

// times finds the unit that the times of a set are counted in: by the store that decides what
// the samples are, so that all have one.
func (t *tree) times(ctx context.Context) (map[string]cf.Unit, error) {
	out := map[string]cf.Unit{}
	for i := range t.objects {
		o := &t.objects[i]
		d := o.leaves[0].cf
		if len(o.leaves) != 1 || d == nil {
			continue
		}
		if _, ok := d.Time(); !ok {
			continue
		}
		if out[o.Path] = d.Into(); d.Into() == cf.Seconds || o.bytes > maxTimes || o.PartElements() > sel.MaxBytes/8/4 || o.rows == 0 {
			continue
		}
		plain := o.leaves[0]
		plain.cf = nil
		x := []target{{leaf: &plain, size: int64(o.Type.Size), data: make([]byte, o.rows*o.elems*int64(o.Type.Size))}}
		w := work{ctx: ctx}
		if err := w.read(t.in, o.grid, 0, o.rows, x); err == nil && d.Whole(x[0].data) {
			out[o.Path] = cf.Seconds
		} else if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return out, nil
}

func readBlob(p []byte) (*blob, error) {
	b := &blob{}
	return b, json.Unmarshal(p, b)
}

// Outline lists the arrays of an input, whether or not they make one table, and what cannot be
// read.
func (k *Kind) Outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	o, err := format.CheckOptions(k.Options, nil)
	if err != nil {
		return nil, err
	}
	s := &chooser{fs: fs}
	if s.opts, err = k.settings(o); err != nil {
		return nil, err
	}
	t, err := s.scan(ctx, name)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var out []string
	for i := range t.objects {
		out = append(out, t.objects[i].describe())
	}
	for _, l := range t.left {
		out = append(out, l.Name+": "+l.Reason)
	}
	for _, d := range t.broken {
		out = append(out, fmt.Sprintf("%s: %v", d.Object, d.Err))
	}
	return append(out, t.Notes...), nil
}
