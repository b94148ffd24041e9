package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
)

// What cells of a column were seen, by the numbers of SQLite's types.
const (
	seenInt   = 1 << sqlite.TypeInteger
	seenFloat = 1 << sqlite.TypeFloat
	seenText  = 1 << sqlite.TypeText
	seenBlob  = 1 << sqlite.TypeBlob
	seenNull  = 1 << sqlite.TypeNull
	seenBig   = 1 // an integer of more than 53 bits
)

var classNames = map[int]string{seenInt: "an integer", seenFloat: "a float", seenText: "text", seenBlob: "a blob"}

// seen is what is known of a column.
type seen struct {
	what  uint8
	bytes int64
	first [6]int64 // the first row of each type, from 1
}

func (x *seen) join(o *seen, rows int64) {
	x.what |= o.what
	x.bytes += o.bytes
	for i, r := range o.first {
		if r > 0 && (x.first[i] == 0 || r+rows < x.first[i]) {
			x.first[i] = r + rows
		}
	}
}

// part is rows with rowids from lo to hi.
type part struct {
	lo, hi, rows int64
	seen         []seen
}

// partRows is about how many rows a part has.
const (
	partRows = 1 << 15
	maxParts = 1 << 13
)

// parts cuts a table by rowids.
func (d *database) parts(t *table) ([]part, error) {
	if t.rowid == "" {
		return []part{{}}, nil
	}
	lo, hi := int64(0), int64(-1)
	err := d.each(fmt.Sprintf("SELECT min(%s), max(%s) FROM %s", t.rowid, t.rowid, quote(t.name)), func(s *sqlite.Stmt) error {
		if !s.ColumnIsNull(0) {
			lo, hi = s.ColumnInt64(0), s.ColumnInt64(1)
		}
		return nil
	})
	if err != nil || hi < lo {
		return []part{{lo: lo, hi: hi}}, err
	}
	width := max(uint64(hi-lo)/maxParts+1, partRows)
	var all []part
	for at := lo; ; at += int64(width) {
		p := part{lo: at, hi: hi}
		if uint64(hi-at) >= width {
			p.hi = at + int64(width) - 1
		}
		if all = append(all, p); p.hi == hi {
			return all, nil
		}
	}
}

// look steps through the rows of a part.
func (d *database) look(t *table, columns []column, p *part) error {
	p.seen = make([]seen, len(columns))
	var args []int64
	if t.rowid != "" {
		args = []int64{p.lo, p.hi}
	}
	return d.each(t.query(columns), func(s *sqlite.Stmt) error {
		p.rows++
		for i := range columns {
			x := &p.seen[i]
			c := s.ColumnType(i)
			if x.what&(1<<c) == 0 {
				x.what |= 1 << c
				x.first[c] = p.rows
			}
			switch c {
			case sqlite.TypeInteger:
				if v := s.ColumnInt64(i); v > 1<<53 || v < -1<<53 {
					x.what |= seenBig
				}
			case sqlite.TypeText, sqlite.TypeBlob:
				x.bytes += int64(s.ColumnLen(i))
			}
		}
		return nil
	}, args...)
}

// survey looks at all cells of some columns, with several connections.
func (s *source) survey(ctx context.Context, d *database, path string, t *table, columns []column, jobs int) ([]part, []seen, error) {
	parts, err := d.parts(t)
	if err != nil {
		return nil, nil, err
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(jobs, len(parts)) {
		g.Go(func() error {
			own, err := openDatabase(ctx, s.fs, path, d.file.Size())
			if err != nil {
				return err
			}
			defer own.close()
			own.conn.SetInterrupt(ctx.Done())
			for i := next.Add(1) - 1; i < int64(len(parts)); i = next.Add(1) - 1 {
				if err := own.look(t, columns, &parts[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		if cause := context.Cause(ctx); cause != nil && ctx.Err() == nil {
			err = cause
		}
		return nil, nil, err
	}
	all := make([]seen, len(columns))
	rows := int64(0)
	for i := range parts {
		for k := range all {
			all[k].join(&parts[i].seen[k], rows)
		}
		rows += parts[i].rows
		parts[i].seen = nil
	}
	return parts, all, nil
}

// field is what a column becomes; ok is false if it has no type.
func (c *column) field(x *seen) (f shardify.Field, ok bool, err error) {
	f = shardify.Field{Name: c.name, Nullable: x.what&seenNull != 0}
	switch what := int(x.what &^ (seenNull | seenBig)); {
	case c.affinity == "REAL" && what&^(seenInt|seenFloat) == 0:
		f.DType = shardify.F64
	case what == 0:
		return f, false, nil
	case what == seenInt:
		f.DType = shardify.I64
	case what == seenFloat, what == seenInt|seenFloat && x.what&seenBig == 0:
		f.DType = shardify.F64
	case what == seenText:
		f.DType, f.Levels, f.Media = shardify.U8, 1, "txt"
	case what == seenBlob:
		f.DType, f.Levels, f.Media = shardify.U8, 1, "bin"
	default:
		row, class, other := int64(math.MaxInt64), 0, 0
		for k, first := range x.first {
			if bit := 1 << k; what&bit != 0 && classNames[bit] != "" {
				if first < row {
					if class != 0 {
						other = class
					}
					row, class = first, bit
				} else {
					other = bit
				}
			}
		}
		at := x.first[bitOf(other)]
		return f, false, shardify.Mismatch("column %s holds %s in row %d and %s in row %d", c.name, classNames[class], row-1, classNames[other], at-1)
	}
	return f, true, nil
}

func bitOf(x int) int {
	n := 0
	for ; x > 1; x >>= 1 {
		n++
	}
	return n
}

// appendParts encodes parts: rowids and rows.
func appendParts(b []byte, parts []part) []byte {
	b = binary.AppendUvarint(b, uint64(len(parts)))
	for _, p := range parts {
		b = binary.AppendVarint(b, p.lo)
		b = binary.AppendUvarint(b, uint64(p.rows))
	}
	return b
}

var errState = shardify.Corrupt(-1, "survey of the plan: rows")

func decodeParts(b []byte, rows int64) ([]part, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n == 0 || n > maxParts+1 {
		return nil, errState
	}
	b = b[k:]
	parts, sum := make([]part, n), int64(0)
	for i := range parts {
		lo, k := binary.Varint(b)
		if k <= 0 {
			return nil, errState
		}
		b = b[k:]
		r, k := binary.Uvarint(b)
		if k <= 0 || r > 1<<50 {
			return nil, errState
		}
		b = b[k:]
		parts[i] = part{lo: lo, rows: int64(r)}
		sum += int64(r)
	}
	if sum != rows || len(b) > 0 {
		return nil, errState
	}
	return parts, nil
}
