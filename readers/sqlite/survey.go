package sqlite

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// What cells of a column were seen, by the numbers of SQLite's types.
const (
	seenInt   = 1 << sqlite.TypeInteger
	seenFloat = 1 << sqlite.TypeFloat
	seenText  = 1 << sqlite.TypeText
	seenBlob  = 1 << sqlite.TypeBlob
	seenNull  = 1 << sqlite.TypeNull
	seenWide  = 1 << wide
	wide      = 0 // the class of an integer that f64 may not hold, beside its own
	added     = 6 // the class of a value that a row, older than the column, does not have
)

var classNames = [...]string{sqlite.TypeInteger: "an integer", sqlite.TypeFloat: "a float", sqlite.TypeText: "text", sqlite.TypeBlob: "a blob", sqlite.TypeNull: "NULL"}

// seen is what is known of a column.
type seen struct {
	what  uint8
	bytes int64
	first [7]int64  // the first row of each class, from 1
	bits  [7]uint64 // of the number there
}

func (x *seen) join(o *seen, before int64) {
	x.what |= o.what
	x.bytes += o.bytes
	for i, r := range o.first {
		if r > 0 && (x.first[i] == 0 || r+before < x.first[i]) {
			x.first[i], x.bits[i] = r+before, o.bits[i]
		}
	}
}

// note takes in a value of row number row, from 1.
func (x *seen) note(c sqlite.ColumnType, row int64) {
	if x.what&(1<<c) == 0 {
		x.what |= 1 << c
		x.first[c] = row
	}
}

// noteWhole notes an integer that may be beyond what floats hold exactly.
func (x *seen) noteWhole(v, row int64) {
	if (v > coltype.MaxExact || v < -coltype.MaxExact) && x.what&seenWide == 0 {
		x.note(wide, row)
		x.bits[wide] = uint64(v)
	}
}

// noteFloat notes a floating-point number.
func (x *seen) noteFloat(bits uint64, row int64) {
	if x.what&seenFloat == 0 {
		x.note(sqlite.TypeFloat, row)
		x.bits[sqlite.TypeFloat] = bits
	}
}

// declared is what a column holds by its type; false if that does not say it.
func (c *column) declared() (what uint8, ok bool) {
	what, ok = map[string]uint8{"INTEGER": seenInt, "REAL": seenFloat, "TEXT": seenText, "BLOB": seenBlob}[c.affinity]
	if !c.notNull && !c.rowid {
		what |= seenNull
	}
	return what, ok && c.typed
}

// scan is a look at the rows of one table.
type scan struct {
	*database
	*table
	columns []column
	all     []seen // by column
	looked  []int  // the columns whose values are looked at
	parts   []part
}

// look goes through the rows of a table with several goroutines, or of a view with one.
func (s *scan) look(ctx context.Context, declared bool, jobs int) error {
	s.all = make([]seen, len(s.columns))
	for i := range s.columns {
		what, ok := s.columns[i].declared()
		if ok = ok && declared && !s.view; ok {
			s.all[i] = seen{what: what, bytes: s.Size() / int64(len(s.table.columns))}
		}
		if !ok || s.columns[i].byDefault { // there may be rows that are older than it
			s.looked = append(s.looked, i)
		}
	}
	if s.view {
		return s.step(ctx)
	}
	t := s.tree(s.root, s.index)
	t.met = make([]atomic.Uint32, t.pages/32+1)
	var err error
	if s.parts, err = t.parts(); err != nil {
		return err
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(jobs, len(s.parts)) {
		g.Go(func() error {
			c := &cursor{tree: t}
			if len(s.looked) > 0 {
				c.cols = make([]value, s.stored)
			}
			for i := next.Add(1) - 1; i < int64(len(s.parts)); i = next.Add(1) - 1 {
				if err := s.part(ctx, c, &s.parts[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return s.join()
}

// part looks at the rows of a part.
func (s *scan) part(ctx context.Context, c *cursor, p *part) error {
	p.seen = make([]seen, len(s.columns))
	if err := c.seek(p.path, p.leaves); err != nil {
		return err
	}
	for {
		more, err := c.next()
		if err != nil || !more {
			p.hi = c.rowid
			return err
		}
		if p.rows++; p.rows == 1 {
			p.lo = c.rowid
		}
		if p.rows%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.fetch(); err != nil {
			return err
		}
		if len(s.looked) == 0 {
			continue
		}
		if err := c.columns(); err != nil {
			return err
		}
		if c.beyond {
			return c.corrupt(c.number, "a row of more values than the %d columns of %s", s.stored, quote(s.table.name))
		}
		for _, i := range s.looked {
			x, y := &s.columns[i], &p.seen[i]
			switch {
			case x.rowid:
				y.note(sqlite.TypeInteger, p.rows)
				y.noteWhole(c.rowid, p.rows)
			case x.at >= c.have:
				y.note(added, p.rows)
			default:
				v := c.cols[x.at]
				if v.serial == 7 && isNaN(c.row[v.off:]) {
					y.note(sqlite.TypeNull, p.rows)
					continue
				}
				if v.serial == 7 {
					y.noteFloat(be.Uint64(c.row[v.off:]), p.rows)
				} else if y.note(v.class(), p.rows); v.serial == 6 {
					y.noteWhole(int64(be.Uint64(c.row[v.off:])), p.rows)
				} else if v.serial >= 12 {
					y.bytes += v.size()
				}
			}
		}
	}
}

// join puts together what the parts have.
func (s *scan) join() error {
	before, last := int64(0), int64(math.MinInt64)
	for i := range s.parts {
		p := &s.parts[i]
		if p.rows > 0 && !s.index {
			if i > 0 && p.lo <= last {
				return shardify.Corrupt(-1, "rowids that do not rise: %d after %d", p.lo, last)
			}
			last = p.hi
		}
		for _, k := range s.looked {
			s.all[k].join(&p.seen[k], before)
		}
		before += p.rows
		p.seen = nil
	}
	return nil
}

// viewTime is how long it may take to step through a view: one with a recursion may have no end.
var viewTime = 10 * time.Minute

var errEndless = errors.New("no end")

// step looks at the rows of a view.
func (s *scan) step(ctx context.Context) error {
	in, stop := context.WithTimeoutCause(ctx, viewTime, errEndless)
	defer stop()
	s.conn.SetInterrupt(in.Done())
	defer s.conn.SetInterrupt(ctx.Done())
	p := part{}
	err := s.each(s.query(s.columns), func(r *sqlite.Stmt) error {
		p.rows++
		for _, i := range s.looked {
			x, class := &s.all[i], r.ColumnType(i)
			if class == sqlite.TypeFloat {
				x.noteFloat(math.Float64bits(r.ColumnFloat(i)), p.rows)
				continue
			}
			switch x.note(class, p.rows); class {
			case sqlite.TypeInteger:
				x.noteWhole(r.ColumnInt64(i), p.rows)
			case sqlite.TypeText, sqlite.TypeBlob:
				x.bytes += int64(r.ColumnLen(i))
			}
		}
		return nil
	})
	s.parts = []part{p}
	if err != nil && context.Cause(in) == errEndless {
		err = shardify.Hint(shardify.Unsupported("view %s has no end after %v and %d rows: does its recursion end?", s.table.name, viewTime, p.rows),
			"make a table from it, which is read faster, too: CREATE TABLE t AS SELECT * FROM "+quote(s.table.name))
	}
	return err
}

// added finds the value of a column in rows that are older than it. It asks SQLite, since a
// default may be any constant.
func (s *scan) added(i int) (*cell, error) {
	x := &s.all[i]
	row := x.first[added]
	if row == 0 {
		return nil, nil
	}
	var v cell
	err := s.each(fmt.Sprintf("SELECT %s FROM %s NOT INDEXED LIMIT 1 OFFSET %d", quote(s.columns[i].name), quote(s.table.name), row-1), func(r *sqlite.Stmt) error {
		v = stepped(r, 0)
		v.Text = slices.Clone(v.Text)
		return nil
	})
	if v.Class == sqlite.TypeFloat {
		x.noteFloat(v.Bits, row)
	} else if x.note(v.Class, row); v.Class == sqlite.TypeInteger {
		x.noteWhole(int64(v.Bits), row)
	}
	return &v, err
}

// field is what a column becomes; ok is false if it has no type.
func (o *settings) field(c *column, x *seen) (f shardify.Field, ok bool, err error) {
	f = shardify.Field{Name: format.PlainName(c.name), Nullable: x.what&seenNull != 0}
	given := o.types.Of(f.Name)
	what := x.what &^ (seenNull | seenWide | 1<<added)
	if given != nil {
		given.Use()
	}
	switch {
	case what == 0 && given == nil && c.affinity != "REAL":
		return f, false, nil
	case given != nil && given.DType == shardify.F64 && what&^(seenInt|seenFloat) == 0, c.affinity == "REAL" && what&^(seenInt|seenFloat) == 0:
		f.DType = shardify.F64
	case given != nil && given.DType == shardify.Invalid && what&^(seenInt|seenFloat|seenText) == 0:
		f.DType, f.Levels, f.Media = shardify.U8, 1, "txt"
	case given != nil:
		k := sqlite.TypeBlob
		if what&seenText != 0 && given.DType == shardify.F64 {
			k = sqlite.TypeText
		}
		return f, false, shardify.Mismatch("--%s types: column %s holds %s in row %d, which %s does not hold", optTypes, c.name, classNames[k], x.first[k]-1, given)
	case what == seenInt:
		f.DType = shardify.I64
	case what == seenInt|seenFloat && x.what&seenWide != 0:
		return f, false, coltype.Inexact(c.name, "", coltype.Met{Text: fmt.Sprintf("%d in row %d", int64(x.bits[wide]), x.first[wide]-1)},
			coltype.Met{Text: fmt.Sprintf("%s in row %d", appendFloat(nil, x.bits[sqlite.TypeFloat]), x.first[sqlite.TypeFloat]-1)}, o.typeWays(f.Name)...)
	case what == seenFloat, what == seenInt|seenFloat:
		f.DType = shardify.F64
	case what == seenText && !o.bytes:
		f.DType, f.Levels, f.Media = shardify.U8, 1, "txt"
	case what == seenBlob, o.bytes && what&^(seenText|seenBlob) == 0:
		f.DType, f.Levels, f.Media = shardify.U8, 1, "bin"
		if what != seenBlob {
			o.used.Mark(optText)
		}
	default:
		var have []sqlite.ColumnType
		for k := sqlite.TypeInteger; k <= sqlite.TypeBlob; k++ {
			if what&(1<<k) != 0 {
				have = append(have, k)
			}
		}
		slices.SortFunc(have, func(a, b sqlite.ColumnType) int { return cmp.Compare(x.first[a], x.first[b]) })
		err := shardify.Mismatch("column %s holds %s in row %d and %s in row %d", c.name, classNames[have[0]], x.first[have[0]]-1, classNames[have[1]], x.first[have[1]]-1)
		if what&seenBlob == 0 {
			err = format.Cure(err, o.typeWays(f.Name)[0])
		}
		return f, false, err
	}
	return f, true, nil
}

var errState = shardify.Corrupt(-1, "survey of the plan: rows")

// head is what a plan has of a file, beside its parts.
type head struct {
	Table  string  `json:"table"`
	View   bool    `json:"view,omitempty"`
	Root   uint32  `json:"root,omitempty"`
	Index  bool    `json:"index,omitempty"`
	Stored int     `json:"stored,omitempty"`
	Fields []field `json:"fields"`
}

// field is where the values of a field are in a row.
type field struct {
	Name  string `json:"name,omitempty"` // of the column of a view
	At    int    `json:"at"`
	Rowid bool   `json:"rowid,omitempty"`
	Text  bool   `json:"text,omitempty"`  // numbers are texts, too
	Added *cell  `json:"added,omitempty"` // in rows that are older than the column
}

// appendState encodes a head, and parts: their number, the depth of the tree, and of each the
// path and the rows.
func appendState(h *head, parts []part) ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(text)))
	b = append(b, text...)
	b = binary.AppendUvarint(b, uint64(len(parts)))
	b = binary.AppendUvarint(b, uint64(len(parts[0].path)))
	for _, p := range parts {
		for _, k := range p.path {
			b = binary.AppendUvarint(b, uint64(k))
		}
		b = binary.AppendUvarint(b, uint64(p.rows))
	}
	return b, nil
}

// decodeState is the inverse of appendState, for a table of so many rows; -1 is any number. A plan may be damaged.
func decodeState(b []byte, rows int64) (*head, []part, error) {
	bad, known := false, rows >= 0
	number := func(most uint64) int {
		v, k := binary.Uvarint(b)
		if k <= 0 || v > most {
			bad = true
			return 0
		}
		b = b[k:]
		return int(v)
	}
	n := number(uint64(len(b)))
	h := &head{}
	if bad || n > len(b) || json.Unmarshal(b[:n], h) != nil || h.Stored < 0 || h.Stored > maxColumns {
		return nil, nil, errState
	}
	b = b[n:]
	parts := make([]part, number(uint64(len(b))))
	depth := number(maxDepth)
	for i := range parts {
		for range depth {
			parts[i].path = append(parts[i].path, uint32(number(1<<16)))
		}
		parts[i].rows = int64(number(1 << 50))
		rows -= parts[i].rows
	}
	if bad || rows != 0 && known || len(b) > 0 || len(parts) == 0 {
		return nil, nil, errState
	}
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.At < 0 || !h.View && f.At >= h.Stored || f.Added != nil && (f.Added.Class < sqlite.TypeInteger || f.Added.Class > sqlite.TypeNull) {
			return nil, nil, errState
		}
	}
	return h, parts, nil
}

// maxColumns is what SQLite allows.
const maxColumns = 1 << 15
