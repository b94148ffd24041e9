package xyz

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/xyz/internal/frame"
)

const (
	maxKeys    = 10000 // different ones in all files
	maxLayouts = 10000 // different Properties
	mostFrame  = 512 << 20
)

// met is a place in a file, in order: the first one of several counts.
type met struct {
	input int // which file
	line  int64
	text  string
	file  string
	what  string // "line"
}

func (m *met) before(o *met) bool {
	return m.input < o.input || m.input == o.input && m.line < o.line
}

func (m *met) join(o met) {
	if m.line == 0 || o.line > 0 && o.before(m) {
		*m = o
	}
}

func (m *met) String() string { return fmt.Sprintf("%s %d of %s", m.what, m.line, m.file) }

// key is what was seen of a key.
type key struct {
	first met
	n     int64  // frames that have it
	kinds [4]met // of values: see slot
	dims  [3]met
	wide  met // an integer that f64 may not hold
	none  met // None, which Python writes where there is no value; a text where all others are
	nones int64
	span  [4]int // least and most words, rows: of vectors and matrices
	bytes int64
}

// layout is what was seen of frames with the same Properties.
type layout struct {
	first  met
	cols   []frame.Column
	n      int64
	atoms  int64
	filled met // the first frame with atoms
}

// seen is what a part of the inputs has.
type seen struct {
	frames, atoms int64
	keys          map[string]*key
	layouts       map[string]*layout
	comment       key // that of frames without keys
	more          met // plain XYZ with more than four columns
}

func newSeen() *seen { return &seen{keys: map[string]*key{}, layouts: map[string]*layout{}} }

// slot is the place of a type in key.kinds.
func slot(t shardify.DType) int {
	return max(0, slices.Index([]shardify.DType{shardify.U8, shardify.I64, shardify.F64, shardify.Bool}, t))
}

func (k *key) see(v *frame.Value, at met) {
	k.n++
	k.first.join(at)
	if isNone(v) {
		k.nones++
		k.none.join(at)
		k.bytes += int64(len(v.Text))
		return
	}
	k.dims[v.Dims].join(at)
	if kind := &k.kinds[slot(v.DType)]; v.DType != shardify.Invalid && (kind.line == 0 || at.before(kind)) {
		text := v.Text
		if len(v.Words) > 0 {
			text = v.Words[0]
		}
		*kind = at
		kind.text = fmt.Sprintf("%.40q", text)
	}
	if n := len(v.Words); v.Dims > 0 {
		k.widen([4]int{n, n, v.Rows, v.Rows})
	}
	if v.DType == shardify.I64 {
		for _, w := range v.Words {
			if n, _ := frame.Integer(w); n > coltype.MaxExact || n < -coltype.MaxExact {
				at.text = string(w)
				k.wide.join(at)
			}
		}
	}
	k.bytes += int64(8*len(v.Words) + len(v.Text))
}

// isNone reports whether a value is Python's None.
func isNone(v *frame.Value) bool {
	return v.DType == shardify.U8 && v.Dims == 0 && string(v.Text) == "None"
}

func (k *key) widen(s [4]int) {
	if k.span == [4]int{} {
		k.span = s
	}
	k.span = [4]int{min(k.span[0], s[0]), max(k.span[1], s[1]), min(k.span[2], s[2]), max(k.span[3], s[3])}
}

func (k *key) join(o *key) {
	k.first.join(o.first)
	k.n += o.n
	k.bytes += o.bytes
	for i := range k.kinds {
		k.kinds[i].join(o.kinds[i])
	}
	if o.dims[1].line+o.dims[2].line > 0 {
		if k.dims[1].line+k.dims[2].line == 0 {
			k.span = o.span
		}
		k.widen(o.span)
	}
	for i := range k.dims {
		k.dims[i].join(o.dims[i])
	}
	k.wide.join(o.wide)
	k.none.join(o.none)
	k.nones += o.nones
}

func (l *layout) join(o *layout) {
	l.first.join(o.first)
	l.filled.join(o.filled)
	l.n, l.atoms = l.n+o.n, l.atoms+o.atoms
}

func (s *seen) join(o *seen) {
	s.frames, s.atoms = s.frames+o.frames, s.atoms+o.atoms
	for name, k := range o.keys {
		if s.keys[name] == nil {
			s.keys[name] = &key{}
		}
		s.keys[name].join(k)
	}
	for name, l := range o.layouts {
		if s.layouts[name] == nil {
			s.layouts[name] = &layout{cols: l.cols}
		}
		s.layouts[name].join(l)
	}
	s.comment.join(&o.comment)
	s.more.join(o.more)
}

// bound refuses keys that are data.
func (s *seen) bound() error {
	if len(s.keys) > maxKeys || len(s.layouts) > maxLayouts {
		return shardify.Unsupported("more than %d different keys or Properties", maxKeys)
	}
	return nil
}

// surveyed is what a look at a file found.
type surveyed struct {
	*seen
	size  int64
	index *lines.Index
}

// learner is one worker of a survey.
type learner struct {
	*seen
	comment frame.Comment
	input   int
	file    string
}

const cure = `; "iconv -f latin1 -t utf8 FILE > NEW.xyz" writes UTF-8`

func (s *source) surveyFile(ctx context.Context, input int, path string, workers int) (*surveyed, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	learners := make([]learner, workers)
	for i := range learners {
		learners[i] = learner{seen: newSeen(), input: input, file: s.shown(input), comment: frame.Comment{Quoted: s.made != nil}}
	}
	x := &surveyed{seen: newSeen(), size: f.Size()}
	x.index, err = lines.Survey{Workers: workers, Encoding: lines.UTF8, End: frame.End, Most: mostFrame, Made: s.made, Path: path, Work: func(w int, p *lines.Piece) (int64, error) { return learners[w].piece(p) }}.Run(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range learners {
		x.join(learners[i].seen)
	}
	return x, x.bound()
}

// piece looks at the comment lines of all frames of a piece.
func (l *learner) piece(p *lines.Piece) (frames int64, err error) {
	if err := p.Check(cure); err != nil {
		return 0, err
	}
	for i, n := 0, int64(0); i < len(p.Data); frames++ {
		if frame.Blank(p.Data[i:]) {
			break
		}
		f, bad := frame.Next(p.Data, i)
		if bad != nil {
			return frames, p.Corrupt(i, "%v", bad)
		}
		at, have := frame.Skip(p.Data, f.Body, f.Atoms)
		if have < f.Atoms {
			return frames, p.Corrupt(i, "%d atoms are announced, %d lines follow", f.Atoms, have)
		}
		p.Counted(i, n)
		if n++; !l.comment.Quoted { // it is not a record that was made
			n += int64(f.Atoms) + 1
		}
		if err := l.frame(p, &f); err != nil {
			if shardErr := (*shardify.Error)(nil); errors.As(err, &shardErr) {
				return frames, err
			}
			return frames, p.Corrupt(f.Line, "%v", err)
		}
		i = at
	}
	return frames, l.bound()
}

func (l *learner) frame(p *lines.Piece, f *frame.Frame) error {
	c := &l.comment
	if err := c.Parse(f.Comment); err != nil {
		return err
	}
	at := met{input: l.input, file: l.file, what: p.Record(), line: p.LineAt(f.Line)}
	l.frames++
	l.atoms += int64(f.Atoms)
	properties := ""
	for i := range c.Values {
		v := &c.Values[i]
		if string(v.Key) == "Properties" {
			if properties = string(v.Text); v.DType != shardify.U8 || properties == "" {
				return fmt.Errorf("the key Properties is not NAME:TYPE:COUNT for each array")
			}
			continue
		}
		k := l.keys[string(v.Key)]
		if k == nil {
			k = &key{}
			l.keys[string(v.Key)] = k
		}
		k.see(v, at)
	}
	if text := bytes.TrimSpace(f.Comment); c.Free && len(text) > 0 {
		l.seen.comment.see(&frame.Value{DType: shardify.U8, Text: text}, at)
	}
	y := l.layouts[properties]
	if y == nil {
		y = &layout{cols: frame.Plain}
		if properties != "" {
			var err error
			if y.cols, err = frame.Columns([]byte(properties)); err != nil {
				return err
			}
		}
		l.layouts[properties] = y
	}
	y.first.join(at)
	y.n, y.atoms = y.n+1, y.atoms+int64(f.Atoms)
	if f.Atoms > 0 {
		y.filled.join(at)
		if line := p.Data[f.Body:]; properties == "" && len(bytes.Fields(line[:bytes.IndexByte(line, '\n')])) > 4 {
			l.more.join(at)
		}
	}
	return nil
}

// survey looks at all inputs: the schema is the union of them.
func (s *source) survey(ctx context.Context, a *format.OpenArgs) error {
	which := map[string]int{}
	for i := range a.Table.Len() {
		which[a.Table.Path(i)] = i
	}
	all, err := lines.Each(ctx, a, func(ctx context.Context, path string, workers int) (*surveyed, error) {
		return s.surveyFile(ctx, which[path], path, workers)
	})
	if err != nil {
		return err
	}
	s.found, s.all = map[string]lines.Found[*surveyed]{}, newSeen()
	for i, f := range all {
		s.found[a.Table.Path(i)] = f
		if f.Err == nil {
			s.all.join(f.At.seen)
		}
	}
	return s.all.bound()
}

// look gives package rows what the survey found. The fields are those of all inputs.
func (s *source) look(ctx context.Context, name string, want *columns.Wanted) (*survey.Facts, error) {
	x, err := s.found[name].At, s.found[name].Err
	if err != nil {
		return nil, err
	}
	g := gather{seen: s.all, want: want, fill: s.fill, names: map[string]string{}}
	if err := g.all(); err != nil {
		return nil, err
	}
	facts := &survey.Facts{Samples: x.index.Rows(), Size: x.size, Borders: x.index.Borders(), Left: g.left, Void: g.void}
	for i := range g.leaves {
		l := &g.leaves[i]
		b := x.atoms * int64(l.DType.Size()*max(l.Count, 1))
		if l.Of == ofKey || l.Of == ofComment {
			if b = 0; x.keys[l.Key] != nil {
				b = x.keys[l.Key].bytes
			}
		} else if l.Text {
			b = 10 * x.atoms
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: l.field(), Bytes: b})
	}
	if x.more.line > 0 {
		facts.Remark = "plain XYZ: columns behind the fourth one are not read"
	}
	if p := x.index.Pieces; p != nil {
		facts.Left, facts.Remark = append(slices.Clone(facts.Left), p.Left...), p.Remark
	}
	facts.Blob = x.index.Append(g.blob())
	return facts, nil
}

// gather is what becomes of what was seen.
type gather struct {
	*seen
	want   *columns.Wanted
	fill   bool
	leaves []leaf
	left   []format.Leftover
	void   []string
	names  map[string]string // fields, and where they come from
}

// without is an error that goes away if a field is left out.
func without(name string, e *shardify.Error, ways ...format.Way) error {
	pattern := coltype.PatternOf(name)
	e.Err = fmt.Errorf("%w; --columns '!%s' leaves it out", e.Err, pattern)
	return format.Cure(e, append(ways, format.Way{Columns: []string{"!" + pattern}, Makes: "the other fields"})...)
}

// add keeps a leaf. Two fields of one name are an error.
func (g *gather) add(l leaf, from string) error {
	if was, ok := g.names[l.Name]; ok {
		return without(l.Name, shardify.Mismatch("%s is %s, and %s", l.Name, was, from))
	}
	g.names[l.Name] = from
	g.leaves = append(g.leaves, l)
	return nil
}

func (g *gather) wants(name string) bool { hit, _ := g.want.Match(name); return hit }

func (g *gather) all() error {
	type named struct {
		name string
		*key
	}
	var keys []named
	for name, k := range g.keys {
		keys = append(keys, named{name, k})
	}
	slices.SortFunc(keys, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.first.input, b.first.input), cmp.Compare(a.first.line, b.first.line), strings.Compare(a.name, b.name))
	})
	for _, k := range keys {
		if err := g.key(k.name, k.key); err != nil {
			return err
		}
	}
	if g.seen.comment.n > 0 && g.wants("comment") {
		if err := g.add(leaf{Of: ofComment, Name: "comment", DType: shardify.U8, Text: true, Nullable: true}, "the comment line of plain frames"); err != nil {
			return err
		}
	}
	if g.keys["pbc"] == nil && g.wants("pbc") {
		g.leaves = append(g.leaves, leaf{Of: ofKey, Key: "pbc", Name: "pbc", DType: shardify.Bool, Shape: []int{3}})
	}
	return g.arrays()
}

// key is what becomes of a key.
func (g *gather) key(raw string, k *key) error {
	name := format.PlainName(raw)
	if !g.wants(name) {
		return nil
	}
	l := leaf{Of: ofKey, Key: raw, Name: name, Nullable: k.n < g.frames && raw != "pbc"}
	whole, real, truth, text := k.kinds[1], k.kinds[2], k.kinds[3], k.kinds[0]
	number := whole
	number.join(real)
	scalar, vector, matrix := k.dims[0], k.dims[1], k.dims[2]
	if number.line+truth.line > 0 {
		l.Nullable = raw != "pbc" && k.n-k.nones < g.frames
	} else {
		text.join(k.none)
		scalar.join(k.none)
	}
	have := slices.DeleteFunc([]met{number, truth, text}, func(m met) bool { return m.line == 0 })
	if len(have) > 1 {
		return without(name, shardify.Mismatch("the key %s is %s in %s and %s in %s: a number, a truth value and a text have no type in common", name, have[0].text, &have[0], have[1].text, &have[1]))
	}
	switch {
	case len(have) == 0:
		g.void = append(g.void, name)
		return nil
	case text.line > 0:
		l.DType, l.Text = shardify.U8, true
	case truth.line > 0:
		l.DType = shardify.Bool
	case real.line > 0 && k.wide.line > 0:
		return without(name, shardify.Mismatch("the key %s is %s in %s, which f64 may not hold, and %s in %s", name, k.wide.text, &k.wide, real.text, &real))
	case real.line > 0:
		l.DType = shardify.F64
	default:
		l.DType = shardify.I64
	}
	switch {
	case matrix.line > 0 && (scalar.line > 0 || vector.line > 0):
		other := vector
		other.join(scalar)
		return without(name, shardify.Mismatch("the key %s is a matrix in %s and none in %s", name, &matrix, &other))
	case matrix.line > 0 && l.Text:
		g.left = append(g.left, format.Leftover{Name: name, Reason: "a matrix of texts", Unreadable: true})
		return nil
	case matrix.line > 0:
		if s := k.span; s[0] != s[1] || s[2] != s[3] || s[0] == 0 {
			return without(name, shardify.Mismatch("the key %s is a matrix of different shapes", name))
		}
		l.Shape = []int{k.span[2], k.span[0] / k.span[2]}
	case vector.line > 0 && (l.Text || scalar.line > 0 || k.span[0] != k.span[1]):
		l.Lists = 1
	case vector.line > 0:
		l.Shape = []int{k.span[0]}
	}
	return g.add(l, "a key of comment lines")
}

// arrays are what becomes of the columns of atoms.
func (g *gather) arrays() error {
	all := slices.SortedFunc(maps.Values(g.layouts), func(a, b *layout) int {
		return cmp.Or(cmp.Compare(a.first.input, b.first.input), cmp.Compare(a.first.line, b.first.line))
	})
	made := slices.ContainsFunc(all, func(y *layout) bool { return element(y.cols) >= 0 })
	if made && g.wants("Z") {
		if y := slices.IndexFunc(all, func(y *layout) bool { return y.atoms > 0 && element(y.cols) < 0 }); y >= 0 {
			return without("Z", shardify.Mismatch("the atoms of the frame at %s have neither species nor atomic numbers, those of others have", &all[y].filled))
		}
		if err := g.add(leaf{Of: ofZ, Name: "Z", DType: shardify.U8}, "made of the species"); err != nil {
			return err
		}
	}
	done := map[string]bool{}
	for _, y := range all {
		for _, c := range y.cols {
			if done[c.Name] {
				continue
			}
			done[c.Name] = true
			if err := g.array(c, y, all, made); err != nil {
				return err
			}
		}
	}
	return nil
}

// elements are the columns that may say which elements the atoms are, the one that counts first.
var elements = []frame.Column{{Name: "Z", Type: 'I', Count: 1}, {Name: "species", Type: 'S', Count: 1}, {Name: "species", Type: 'I', Count: 1},
	{Name: "numbers", Type: 'I', Count: 1}, {Name: "atomic_numbers", Type: 'I', Count: 1}}

// element is the column that says which elements the atoms are; -1 without one.
func element(cols []frame.Column) int {
	for _, c := range elements {
		if i := slices.Index(cols, c); i >= 0 {
			return i
		}
	}
	return -1
}

// isZ reports whether Z has all that a column of whole numbers has: it is the one that Z is made of, wherever it is.
func isZ(c frame.Column, all []*layout) bool {
	return c.Type == 'I' && !slices.ContainsFunc(all, func(y *layout) bool {
		i := slices.IndexFunc(y.cols, func(o frame.Column) bool { return o.Name == c.Name })
		return i >= 0 && i != element(y.cols)
	})
}

func (g *gather) array(c frame.Column, first *layout, all []*layout, made bool) error {
	name := format.PlainName(c.Name)
	switch hit := g.wants(name); {
	case made && c.Name == "Z" && c.Type == 'I' && c.Count == 1, !hit:
		return nil
	case made && (c.Name == "species" || isZ(c, all)) && g.want.Open() && !g.want.Excluded("Z"):
		also := "the symbols"
		if c.Type == 'I' {
			also = "them as they are"
		}
		g.left = append(g.left, format.Leftover{Name: name, Reason: "Z has the atomic numbers; --columns '*' has " + also + ", too"})
		return nil
	}
	l := leaf{Of: ofArray, Key: c.Name, Name: name, DType: dtype(&c), Text: c.Type == 'S', Count: c.Count}
	for _, y := range all {
		i := slices.IndexFunc(y.cols, func(o frame.Column) bool { return o.Name == c.Name })
		switch {
		case i >= 0 && (y.cols[i].Type != c.Type || y.cols[i].Count != c.Count):
			o := y.cols[i]
			return without(name, shardify.Mismatch("the array %s is %c:%d in %s and %c:%d in %s", name, c.Type, c.Count, &first.first, o.Type, o.Count, &y.first))
		case i < 0 && y.atoms > 0 && (!g.fill || c.Type != 'R'):
			var ways []format.Way
			if c.Type == 'R' {
				ways = append(ways, format.With(format.NullItems.Name, "fill", "NaN for the atoms of such frames"))
			}
			return without(name, shardify.Mismatch("no array %s in the frame at %s, others have it", name, &y.filled), ways...)
		}
	}
	if c.Type == 'S' && c.Count > 1 {
		g.left = append(g.left, format.Leftover{Name: name, Reason: fmt.Sprintf("texts in %d columns", c.Count), Unreadable: true})
		return nil
	}
	return g.add(l, "an array of atoms")
}

var nan = math.Float64frombits(0x7ff8000000000000)
