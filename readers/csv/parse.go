package csv

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
)

// parser turns cells into columns of one file. It is a lines.Parser.
type parser struct {
	scanner
	sinks []sink // by column of the file
	texts []lines.Collector
	first []int // sink of each column of the schema; -1: none
	wide  bool
	mem   *shardify.Arena
	rows  int // in the batch
	row   int
}

// sink is where the values of a column go.
type sink struct {
	kind     kind
	dtype    shardify.DType
	nullable bool
	holes    bool // missing numbers are NaN: there is no other place for them
	name     string
	data     []byte
	at, step int // of the next value, and to the one after it
	valid    []byte
	text     *lines.Collector
}

// Held implements lines.Parser.
func (x *parser) Held() int64 {
	n := int64(cap(x.plain))
	for i := range x.texts {
		n += x.texts[i].Held()
	}
	return n
}

// Begin implements lines.Parser.
func (x *parser) Begin(b *shardify.Batch, mem *shardify.Arena) error {
	x.mem, x.rows, x.row = mem, b.Samples, 0
	for i, k := range x.first {
		c := &b.Columns[i]
		switch {
		case k < 0:
		case x.wide:
			c.Data = mem.Alloc(x.rows * c.ElemBytes())
			for j := range x.sinks {
				s := &x.sinks[j]
				s.data, s.at, s.step = c.Data, j*s.dtype.Size(), c.ElemBytes()
			}
		default:
			s := &x.sinks[k]
			if s.valid = nil; s.kind == textKind {
				s.text.Reset()
				continue
			}
			c.Data = mem.Alloc(x.rows * s.dtype.Size())
			s.data, s.at, s.step = c.Data, 0, s.dtype.Size()
		}
	}
	return nil
}

// End implements lines.Parser.
func (x *parser) End(b *shardify.Batch, mem *shardify.Arena) error {
	for i, k := range x.first {
		if k < 0 || x.wide {
			continue
		}
		c, s := &b.Columns[i], &x.sinks[k]
		c.Valid = s.valid
		if s.kind != textKind {
			continue
		}
		var ends []int64
		c.Data, ends = s.text.Move(mem)
		c.Offsets = [][]int64{ends}
		if err := rows.CheckText(c, 0); err != nil {
			return err
		}
	}
	return nil
}

// Parse implements lines.Parser.
func (x *parser) Parse(p *lines.Piece, skip, take int64, last bool) (err error) {
	x.reset(p)
	i := 0
	for range skip {
		if i, err = x.begin(i); err == nil && i < 0 {
			err = lines.Changed(p)
		}
		if err == nil {
			i, err = x.skipRecord(i)
		}
		if err != nil {
			return err
		}
	}
	for n := range take {
		if i, err = x.begin(i); err == nil && i < 0 {
			return lines.Changed(p)
		}
		if err == nil {
			i, err = x.record(i)
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Sample = skip + n })
		}
		x.row++
	}
	if last {
		if i, err = x.begin(i); err == nil && i >= 0 {
			err = lines.Changed(p)
		}
	}
	return err
}

// record reads the cells of the record at i, and says where it ends.
func (x *parser) record(i int) (int, error) {
	b, start, last := x.b, i, x.columns-1
	for c := range x.sinks {
		s := &x.sinks[c]
		end := -1
		if x.fast {
			switch s.kind {
			case intKind:
				end = s.quickInt(b, i, x.sep)
			case floatKind:
				end = s.quickFloat(b, i, x.sep)
			}
		}
		if end < 0 {
			text, at, err := x.cell(i)
			if err != nil {
				return 0, err
			}
			if end = at; s.kind == textKind && x.na == nil {
				s.text.Data = append(s.text.Data, text...)
				s.text.End()
			} else if s.kind != skipKind {
				if err := x.store(s, text, i); err != nil {
					return 0, err
				}
			}
		}
		if (b[end] == '\n') != (c == last) {
			return 0, x.ragged(start)
		}
		i = end + 1
	}
	return i, nil
}

// ends is where the cell before i ends, at a separator or line feed; -1 if it continues.
func ends(b []byte, i int, sep byte) int {
	switch {
	case b[i] == sep || b[i] == '\n':
		return i
	case b[i] == '\r' && b[i+1] == '\n':
		return i + 1
	}
	return -1
}

// quickInt reads a plain whole number; -1 if the cell is something else.
func (s *sink) quickInt(b []byte, i int, sep byte) int {
	neg := b[i] == '-'
	if neg {
		i++
	}
	from, m := i, uint64(0)
	for ; b[i]-'0' <= 9; i++ {
		m = m*10 + uint64(b[i]-'0')
	}
	if n := i - from; n == 0 || n > 18 {
		return -1
	}
	end := ends(b, i, sep)
	if end < 0 {
		return -1
	}
	v := int64(m)
	if neg {
		v = -v
	}
	if s.dtype != shardify.I64 {
		return -1
	}
	binary.LittleEndian.PutUint64(s.data[s.at:], uint64(v))
	s.at += s.step
	return end
}

// quickFloat reads a plain number; -1 if the cell is something else.
func (s *sink) quickFloat(b []byte, i int, sep byte) int {
	neg := b[i] == '-'
	if neg {
		i++
	}
	m, e, n, i := numeric.Decimal(b, i)
	if n == 0 || n > 19 {
		return -1
	}
	end := ends(b, i, sep)
	if end < 0 {
		return -1
	}
	v, ok := numeric.Float(m, e)
	if !ok {
		return -1
	}
	if neg {
		v = -v
	}
	if s.dtype == shardify.F64 {
		binary.LittleEndian.PutUint64(s.data[s.at:], math.Float64bits(v))
	} else {
		binary.LittleEndian.PutUint32(s.data[s.at:], math.Float32bits(float32(v)))
	}
	s.at += s.step
	return end
}

// store reads any cell, which begins at byte i of the piece.
func (x *parser) store(s *sink, text []byte, i int) error {
	t := bytes.Trim(text, " \t")
	if len(text) == 0 && s.kind != textKind || x.na != nil && x.na[string(text)] {
		return x.missing(s, i)
	}
	switch s.kind {
	case textKind:
		s.text.Data = append(s.text.Data, text...)
		s.text.End()
		return nil
	case boolKind:
		v := byte(0)
		switch {
		case fold(t, "true"), len(t) == 1 && t[0] == '1':
			v = 1
		case fold(t, "false"), len(t) == 1 && t[0] == '0':
		default:
			return x.wrong(s, text, i)
		}
		s.data[s.at] = v
	case floatKind:
		t = x.program(t)
		v, err := numeric.ParseFloat(t)
		if err != nil || !isNumber(t) {
			return x.wrong(s, text, i)
		}
		if s.dtype == shardify.F32 {
			f := float32(v)
			if math.IsInf(float64(f), 0) != math.IsInf(v, 0) {
				return x.wrong(s, text, i)
			}
			binary.LittleEndian.PutUint32(s.data[s.at:], math.Float32bits(f))
		} else {
			binary.LittleEndian.PutUint64(s.data[s.at:], math.Float64bits(v))
		}
	default:
		m, neg, ok := whole(x.program(t))
		if !ok || !s.put(m, neg) {
			return x.wrong(s, text, i)
		}
	}
	s.at += s.step
	return nil
}

// put stores a whole number, if the type has it.
func (s *sink) put(m uint64, neg bool) bool {
	size := s.dtype.Size()
	limit := uint64(1)<<(8*size-1) - 1
	if s.kind == uintKind {
		limit = limit<<1 + 1
		if neg {
			limit = 0
		}
	} else if neg {
		limit++
	}
	if m > limit {
		return false
	}
	if neg {
		m = -m
	}
	for k := range size {
		s.data[s.at+k] = byte(m >> (8 * k))
	}
	return true
}

// missing marks a cell without a value.
func (x *parser) missing(s *sink, i int) error {
	if !s.nullable && !s.holes {
		is := s.dtype.String()
		if s.kind == textKind {
			is = "text"
		}
		e := x.p.Corrupt(i, "an empty cell; --csv types=%s:%s? lets cells be empty", s.name, is)
		e.Field = s.name
		return e
	}
	switch {
	case s.kind == textKind:
		s.text.End()
	case s.holes && s.dtype == shardify.F32:
		binary.LittleEndian.PutUint32(s.data[s.at:], 0x7fc00000)
	case s.holes:
		binary.LittleEndian.PutUint64(s.data[s.at:], 0x7ff8000000000000)
	default:
		clear(s.data[s.at : s.at+s.dtype.Size()])
	}
	if s.at += s.step; s.holes {
		return nil
	}
	if s.valid == nil {
		s.valid = x.mem.Alloc(x.rows)
		for k := range s.valid {
			s.valid[k] = 1
		}
	}
	s.valid[x.row] = 0
	return nil
}

// wrong is the error of a cell that the type of its column does not have.
func (x *parser) wrong(s *sink, text []byte, i int) error {
	e := x.p.Corrupt(i, "%.40q is not a value of type %s", text, s.dtype)
	e.Field = s.name
	return e
}
