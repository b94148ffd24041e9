package xyz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/xyz/internal/frame"
)

// sink is where the values of a field go.
type sink struct {
	leaf
	data  []byte
	ends  [2][]int64 // of lists that are not those of the atoms, and of texts in lists
	valid []byte     // nil while none is missing
	size  int        // values of one frame that has a shape
	row   int        // of the last value, from 1
}

// direct reports whether values are written to where the batch has them. Others are copied.
func (k *sink) direct() bool { return k.Of == ofArray && !k.Text }

func (k *sink) reset() {
	k.data, k.valid, k.row = k.data[:0], k.valid[:0], 0
	if k.direct() {
		k.data = nil // the last batch has it
	}
	for i := range k.ends {
		k.ends[i] = append(k.ends[i][:0], 0)
	}
}

// parser turns frames into columns. It is a lines.Parser.
type parser struct {
	fill    bool
	keys    map[string]*sink
	arrays  map[string]*sink
	comment *sink
	z       *sink
	of      []*sink // by column of the schema; nil: it is not in the file
	sinks   []*sink
	atoms   []int64 // where the atoms of frames end
	rows    int     // frames that were read
	mem     *shardify.Arena
	samples int // frames that the batch will have
	inPiece int // of them, those that the piece still has

	line   frame.Comment
	last   []byte // the Properties that steps are for
	known  bool
	steps  []step
	absent []*sink // arrays that frames lack
	exact  bool    // no more columns follow
	cells  int     // of a line
	common bool    // a symbol that becomes Z, and numbers that are kept, as most frames have
}

// step is a column of atoms.
type step struct {
	frame.Column
	to *sink // nil: it is not wanted
	z  *sink // of species, or of the column Z

	next []byte // where values of a frame go
}

// add makes the place of a leaf; false if the plan contradicts itself.
func (x *parser) add(l *leaf) bool {
	k := &sink{leaf: *l, size: 1}
	for _, n := range l.Shape {
		if n <= 0 || n > 1<<20/k.size || l.Of != ofKey || l.Lists > 0 || l.Text {
			return false
		}
		k.size *= n
	}
	if !l.sound() {
		return false
	}
	at := map[string]**sink{ofZ: &x.z, ofComment: &x.comment}[l.Of]
	of := map[string]map[string]*sink{ofKey: x.keys, ofArray: x.arrays}[l.Of]
	switch {
	case at != nil && *at == nil:
		*at = k
	case of != nil && of[l.Key] == nil:
		of[l.Key] = k
	default:
		return false
	}
	x.of, x.sinks = append(x.of, k), append(x.sinks, k)
	return true
}

// sound reports whether a leaf is one that a survey makes.
func (l *leaf) sound() bool {
	value := l.DType == shardify.U8 == l.Text && slices.Contains([]shardify.DType{shardify.U8, shardify.I64, shardify.F64, shardify.Bool}, l.DType)
	switch l.Of {
	case ofKey:
		return value && l.Lists >= 0 && l.Lists <= 1 && l.Count == 0
	case ofArray:
		return value && l.Lists == 0 && !l.Nullable && l.Count >= 1 && l.Count <= 1<<16 && (l.Count == 1 || !l.Text)
	case ofComment:
		return value && l.Lists == 0 && l.Text && l.Count == 0
	}
	return l.DType == shardify.U8 && !l.Text && l.Lists == 0 && !l.Nullable && l.Count == 0
}

// Held implements lines.Parser.
func (x *parser) Held() (n int64) {
	for _, k := range x.sinks {
		if !k.direct() {
			n += int64(cap(k.data))
		}
		n += int64(cap(k.valid)) + 8*int64(cap(k.ends[0])+cap(k.ends[1]))
	}
	return n + 8*int64(cap(x.atoms))
}

// Begin implements lines.Parser.
func (x *parser) Begin(b *shardify.Batch, mem *shardify.Arena) error {
	x.mem, x.samples = mem, b.Samples
	for _, k := range x.sinks {
		k.reset()
	}
	x.atoms, x.rows = append(x.atoms[:0], 0), 0
	return nil
}

// Parse implements lines.Parser.
func (x *parser) Parse(p *lines.Piece, skip, take int64, last bool) error {
	i := 0
	x.inPiece = int(take)
	for n := range skip + take {
		f, bad := frame.Next(p.Data, i)
		if bad != nil {
			return lines.Changed(p)
		}
		if n < skip {
			have := 0
			if i, have = frame.Skip(p.Data, f.Body, f.Atoms); have < f.Atoms {
				return lines.Changed(p)
			}
			continue
		}
		var err error
		if i, err = x.frame(p, &f); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Sample = n })
		}
	}
	if last && !frame.Blank(p.Data[i:]) {
		return lines.Changed(p)
	}
	return nil
}

func changed(field, format string, args ...any) error {
	return &shardify.Error{Sample: -1, Offset: -1, Field: field, Err: fmt.Errorf("%w: "+format, append([]any{shardify.ErrChanged}, args...)...)}
}

// frame reads a frame, and returns where it ends.
func (x *parser) frame(p *lines.Piece, f *frame.Frame) (end int, err error) {
	if err := x.line.Parse(f.Comment); err != nil {
		return 0, p.Corrupt(f.Line, "%v", err)
	}
	x.rows++
	x.inPiece--
	var properties []byte
	lattice := false
	for i := range x.line.Values {
		v := &x.line.Values[i]
		if string(v.Key) == "Properties" {
			properties = v.Text
		} else if k := x.keys[string(v.Key)]; k != nil {
			if err := k.put(v, x.rows); err != nil {
				return 0, err
			}
		}
		lattice = lattice || string(v.Key) == "Lattice"
	}
	if k := x.comment; k != nil && x.line.Free {
		if text := bytes.TrimSpace(f.Comment); len(text) > 0 {
			k.data = append(k.data, text...)
			k.ends[0], k.row = append(k.ends[0], int64(len(k.data))), x.rows
		}
	}
	if k := x.keys["pbc"]; k != nil && k.row < x.rows { // periodic where there is a cell
		c := byte(0)
		if lattice {
			c = 1
		}
		k.data, k.row = append(k.data, c, c, c), x.rows
	}
	for _, k := range x.sinks {
		if k.row < x.rows && (k.Of == ofKey || k.Of == ofComment) {
			if err := k.missing(x.rows); err != nil {
				return 0, err
			}
		}
	}
	if !x.known || !bytes.Equal(properties, x.last) {
		if err := x.prepare(properties); err != nil {
			return 0, p.Corrupt(f.Line, "%v", err)
		}
	}
	x.atoms = append(x.atoms, x.atoms[len(x.atoms)-1]+int64(f.Atoms))
	for _, k := range x.absent {
		if f.Atoms > 0 && (!x.fill || k.DType != shardify.F64) {
			return 0, changed(k.Name, "a frame lacks the array")
		}
		x.room(k, f.Atoms, nil)
		for range f.Atoms * k.Count {
			k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(nan))
		}
	}
	return x.body(p, f)
}

// prepare makes the steps of frames with these Properties.
func (x *parser) prepare(properties []byte) error {
	cols := frame.Plain
	x.exact = properties != nil
	if x.exact {
		var err error
		if cols, err = frame.Columns(properties); err != nil {
			return err
		}
	}
	x.last, x.known, x.steps, x.absent = append(x.last[:0], properties...), true, x.steps[:0], x.absent[:0]
	x.cells = 0
	have := map[*sink]bool{}
	for i, c := range cols {
		s := step{Column: c, to: x.arrays[c.Name]}
		if s.to != nil && (s.to.DType != dtype(&c) || s.to.Count != c.Count) {
			return changed(s.to.Name, "Properties has it as %c:%d", c.Type, c.Count)
		}
		if x.z != nil && i == element(cols) {
			s.z = x.z
			have[x.z] = true
		}
		have[s.to] = true
		x.cells += c.Count
		x.steps = append(x.steps, s)
	}
	x.common = haveFixed && len(x.steps) > 0 && x.steps[0].Type == 'S' && x.steps[0].Count == 1 && x.steps[0].z != nil && x.steps[0].to == nil
	for _, s := range x.steps[min(1, len(x.steps)):] {
		x.common = x.common && s.Type == 'R' && s.to != nil
	}
	for _, k := range x.sinks {
		if !have[k] && (k.Of == ofArray || k.Of == ofZ) {
			x.absent = append(x.absent, k)
		}
	}
	return nil
}

// room makes place for the values of atoms. It is enough for all of the batch if its other frames are like
// those of rest, which is what the piece has from here on, and the lines there are like the first.
func (x *parser) room(k *sink, atoms int, rest []byte) {
	const most = 8 // pieces
	size := k.Count * k.DType.Size()
	need := len(k.data) + atoms*size
	if need <= cap(k.data) {
		return
	}
	pieces := min(float64(x.samples-x.rows+1)/float64(x.inPiece+1), most)
	line := max(bytes.IndexByte(rest, '\n')+1, 2*x.cells)
	likely := int(float64(len(rest)/line) * pieces * (1 + 1./16))
	to := x.mem.Alloc(max(need, 2*cap(k.data), len(k.data)+likely*size))
	k.data = to[:copy(to, k.data)]
}

// body reads the lines of atoms.
func (x *parser) body(p *lines.Piece, f *frame.Frame) (end int, err error) {
	b, i := p.Data, f.Body
	atoms := min(f.Atoms, (len(b)-i)/(2*x.cells)) // a number and the byte behind it take two: more atoms have too few
	for _, s := range x.steps {
		if s.to != nil && s.to.direct() {
			x.room(s.to, atoms, b[i:])
		}
	}
	done := 0
	if x.common {
		i, done = x.quick(b, i, atoms)
	}
	for range f.Atoms - done {
		if i >= len(b) {
			return 0, lines.Changed(p)
		}
		start := i
		for s := range x.steps {
			s := &x.steps[s]
			for n := 0; n < s.Count; n++ {
				if k := s.to; s.Type == 'R' && k != nil {
					m := s.Count - n
					if at := len(k.data); haveFixed && len(b)-i > width*m && cap(k.data)-at >= 8*m {
						k.data = k.data[:at+8*m]
						m = fixedReals(&k.data[at], &b[i], m)
						k.data, i, n = k.data[:at+8*m], i+width*m, n+m
					}
					if n < s.Count {
						k.data, i, m = appendReals(k.data, b, i, s.Count-n)
						n += m
					}
					if n == s.Count {
						break
					}
				}
				for b[i] == ' ' || b[i] == '\t' {
					i++
				}
				if s.Type == 'R' && s.to != nil {
					if n := s.to.quick(b, i); n > 0 {
						i = n
						continue
					}
				}
				from := i
				for b[i] > ' ' {
					i++
				}
				if i == from {
					return 0, x.few(p, start)
				}
				if err := s.store(b[from:i]); err != "" {
					e := p.Corrupt(from, "%s: %s", s.Name, err)
					e.Field = s.Name
					return 0, e
				}
			}
		}
		for b[i] != '\n' {
			if x.exact && b[i] > ' ' {
				return 0, p.Corrupt(start, "%.80q has more columns than Properties", line(b[start:]))
			}
			i++
		}
		i++
	}
	return i, nil
}

// quick reads the first lines of atoms as long as they are a symbol, numbers as most programs write them, and nothing
// else. It returns where the first other line begins, and how many it has read.
func (x *parser) quick(b []byte, i, atoms int) (end, done int) {
	first, cols := x.steps[0].z, x.steps[1:]
	first.data = slices.Grow(first.data, atoms)
	symbols := first.data[len(first.data):][:atoms]
	for c := range cols {
		s := &cols[c]
		s.next = s.to.data[len(s.to.data):][:8*s.Count*atoms]
	}
lines:
	for ; done < atoms && i < len(b); done++ {
		at := i
		for b[at] == ' ' {
			at++
		}
		word := at
		for at < word+2 && b[at] > ' ' {
			at++
		}
		z, ok := frame.Z(b[word:at])
		if !ok || b[at] > ' ' {
			break
		}
		for c := range cols {
			s := &cols[c]
			if len(b)-at <= width*s.Count || fixedReals(&s.next[8*s.Count*done], &b[at], s.Count) < s.Count {
				break lines
			}
			at += width * s.Count
		}
		if b[at] != '\n' {
			break
		}
		symbols[done], i = z, at+1
	}
	first.data = first.data[:len(first.data)+done]
	for c := range cols {
		k := cols[c].to
		k.data = k.data[:len(k.data)+8*cols[c].Count*done]
	}
	return i, done
}

func line(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')] }

func (x *parser) few(p *lines.Piece, start int) error {
	return p.Corrupt(start, "%.80q has fewer columns than the arrays of an atom", line(p.Data[start:]))
}

// quick reads a plain number, and returns where it ends; 0 if the word is something else.
func (k *sink) quick(b []byte, i int) int {
	neg := b[i] == '-'
	if neg {
		i++
	}
	m, e, n, i := numeric.Decimal(b, i)
	if n == 0 || n > 19 || b[i] > ' ' {
		return 0
	}
	v, ok := numeric.Float(m, e)
	if !ok {
		return 0
	}
	if neg {
		v = -v
	}
	k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(v))
	return i
}

// store reads any word of an atom. It returns what is wrong.
func (s *step) store(w []byte) string {
	if s.z != nil {
		z, ok := frame.Z(w)
		if !ok && s.Type == 'S' {
			return fmt.Sprintf("%.20q is not a chemical symbol; --columns '!Z' keeps species as text", w)
		} else if !ok {
			return fmt.Sprintf("%.20q is not an atomic number; --columns '!Z' keeps what does not say the element", w)
		}
		s.z.data = append(s.z.data, z)
	}
	k, ok := s.to, true
	switch s.Type {
	case 'R':
		var v float64
		if v, ok = frame.Real(w); ok && k != nil {
			k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(v))
		}
	case 'I':
		var v int64
		if v, ok = frame.Integer(w); ok && k != nil {
			k.data = binary.LittleEndian.AppendUint64(k.data, uint64(v))
		}
	case 'L':
		var v bool
		if v, ok = frame.Logical(w); ok && k != nil {
			k.data = appendBool(k.data, v)
		}
	default:
		if k != nil {
			k.data = append(k.data, w...)
			k.ends[1] = append(k.ends[1], int64(len(k.data)))
		}
	}
	if !ok {
		return fmt.Sprintf("%.40q is not of type %c", w, s.Type)
	}
	return ""
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// put stores the value of a key.
func (k *sink) put(v *frame.Value, row int) error {
	if !k.Text && isNone(v) {
		return nil
	}
	k.row = row
	if v.DType == shardify.U8 != k.Text && v.DType != shardify.Invalid {
		return changed(k.Name, "a text or a number has become the other")
	}
	if k.Text && v.Dims == 0 {
		k.data = append(k.data, v.Text...)
		k.end(1)
		return nil
	}
	if k.Text {
		for _, w := range v.Words {
			k.data = append(k.data, w...)
			k.ends[1] = append(k.ends[1], int64(len(k.data)))
		}
		k.ends[0] = append(k.ends[0], int64(len(k.ends[1])-1))
		return nil
	}
	if n := len(v.Words); k.Lists == 0 && n != k.size {
		return changed(k.Name, "%d numbers where there were %d", n, k.size)
	}
	for _, w := range v.Words {
		ok := false
		switch k.DType {
		case shardify.F64:
			var x float64
			x, ok = frame.Real(w)
			k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(x))
		case shardify.I64:
			var x int64
			x, ok = frame.Integer(w)
			k.data = binary.LittleEndian.AppendUint64(k.data, uint64(x))
		default:
			var x bool
			x, ok = frame.Logical(w)
			k.data = appendBool(k.data, x)
		}
		if !ok {
			return changed(k.Name, "%.40q where there were values of type %s", w, k.DType)
		}
	}
	if k.Lists > 0 {
		k.ends[0] = append(k.ends[0], int64(len(k.data)/k.DType.Size()))
	}
	return nil
}

// end ends a text, which is n texts of a list where the field has lists.
func (k *sink) end(n int) {
	if k.Lists == 0 {
		k.ends[0] = append(k.ends[0], int64(len(k.data)))
		return
	}
	if n > 0 {
		k.ends[1] = append(k.ends[1], int64(len(k.data)))
	}
	k.ends[0] = append(k.ends[0], int64(len(k.ends[1])-1))
}

// missing stores that a frame has no value.
func (k *sink) missing(row int) error {
	if !k.Nullable {
		return changed(k.Name, "a value is missing where there was one")
	}
	switch {
	case k.Text:
		k.end(0)
	case k.Lists > 0:
		k.ends[0] = append(k.ends[0], int64(len(k.data)/k.DType.Size()))
	default:
		k.data = append(k.data, make([]byte, k.size*k.DType.Size())...)
	}
	for len(k.valid) < row-1 {
		k.valid = append(k.valid, 1)
	}
	k.valid = append(k.valid, 0)
	return nil
}

// End implements lines.Parser.
func (x *parser) End(b *shardify.Batch, mem *shardify.Arena) error {
	var atoms []int64
	copied := func(from []int64) []int64 {
		to := mem.Int64s(len(from))
		copy(to, from)
		return to
	}
	for i, k := range x.of {
		if k == nil {
			continue
		}
		c := &b.Columns[i]
		if c.Data = k.data; !k.direct() {
			c.Data = mem.Alloc(len(k.data))
			copy(c.Data, k.data)
		}
		c.Offsets = make([][]int64, c.Levels)
		if k.Of == ofArray || k.Of == ofZ {
			if atoms == nil {
				atoms = copied(x.atoms)
			}
			if c.Offsets[0] = atoms; k.Text {
				c.Offsets[1] = copied(k.ends[1])
			}
		} else {
			for l := range c.Offsets {
				c.Offsets[l] = copied(k.ends[l])
			}
		}
		if len(k.valid) > 0 {
			c.Valid = mem.Alloc(b.Samples)
			for n := copy(c.Valid, k.valid); n < b.Samples; n++ {
				c.Valid[n] = 1
			}
		}
		if err := rows.CheckText(c, 0); err != nil {
			return err
		}
	}
	return nil
}
