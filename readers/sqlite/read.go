package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// reader walks through the rows of a table, or steps through a view.
type reader struct {
	s       *source
	run     uint32
	in      uint32
	db      *database
	head    *head
	parts   []part
	cursor  cursor
	stmt    *sqlite.Stmt // of a view
	next    int64        // the row that it is before; -1 for nowhere
	sinks   []sink
	scratch shardify.Scratch
	closed  bool
}

// sink is where the values of a column go.
type sink struct {
	field
	*shardify.Column
	number  int // of the column in the batch
	text    lines.Collector
	samples int
}

// cacheBytes is about what SQLite holds for a connection.
const cacheBytes = 3 << 20

// Close implements shardify.Reader.
func (r *reader) Close() error {
	err := r.drop()
	r.scratch.Close()
	r.closed = true
	return err
}

func (r *reader) drop() error {
	r.rewind()
	if r.db == nil {
		return nil
	}
	err := r.db.Close()
	r.db = nil
	return err
}

// rewind ends the statement of a view.
func (r *reader) rewind() {
	if r.next = -1; r.stmt != nil {
		do(func() error { return r.stmt.Finalize() }) // returns the error of Step again
		r.stmt = nil
	}
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("sqlite: Read after Close")
	}
	in, b, err := r.s.BeginRun(ctx, sp, r.run, mem)
	if err != nil {
		return nil, err
	}
	if err = r.open(ctx, &in, b); err == nil {
		if err = r.read(ctx, sp, b, mem); err == nil {
			err = r.db.unchanged()
		}
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		r.drop()
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return r.s.Finish(&in, b, mem)
}

// open makes the span's input the current one.
func (r *reader) open(ctx context.Context, in *set.Input, b *shardify.Batch) error {
	if r.db == nil || r.in != in.Index {
		r.drop()
		var err error
		if r.head, r.parts, err = decodeState(in.Blob, in.Samples); err != nil {
			return err
		}
		if r.in = in.Index; r.head.View {
			r.db, err = openDatabase(ctx, r.s.fs, in.Path(), in.Size)
		} else if r.db, err = openFile(ctx, r.s.fs, in.Path(), in.Size); err == nil {
			r.cursor = cursor{tree: r.db.tree(r.head.Root, r.head.Index)}
		}
		if err != nil {
			return err
		}
		r.sinks = nil
		for i := range b.Columns {
			if k := in.Field(i); k >= len(r.head.Fields) {
				return errState
			} else if k >= 0 {
				x := sink{field: r.head.Fields[k], number: i}
				r.sinks = append(r.sinks, x)
				if !x.Rowid && x.At >= len(r.cursor.cols) {
					r.cursor.cols = make([]value, x.At+1)
				}
			}
		}
	}
	for i := range r.sinks {
		x := &r.sinks[i]
		x.Column, x.samples = &b.Columns[x.number], b.Samples
		if c := x.Column; len(c.Shape) > 0 || c.Levels > 1 || c.Levels == 0 && c.DType != shardify.I64 && c.DType != shardify.F64 {
			return errState
		}
	}
	return nil
}

// seek goes before a row of a table.
func (r *reader) seek(row int64) error {
	if r.next == row {
		return nil
	}
	r.next = 0
	for _, p := range r.parts {
		if r.next+p.rows > row {
			if err := r.cursor.seek(p.path, 0); err != nil {
				return err
			}
			break
		}
		r.next += p.rows
	}
	for ; r.next < row; r.next++ {
		if err := r.advance(); err != nil {
			return err
		}
	}
	return nil
}

var errFewer = fmt.Errorf("%w: it has fewer rows", shardify.ErrChanged)

func (r *reader) advance() error {
	more, err := r.cursor.next()
	if err == nil && !more {
		err = errFewer
	}
	return err
}

func (r *reader) read(ctx context.Context, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	held := int64(cacheBytes) + r.cursor.held()
	for i := range r.sinks {
		held += r.sinks[i].text.Held()
	}
	if err := r.scratch.Hold(ctx, mem, held); err != nil {
		return err
	}
	for i := range r.sinks {
		if x := &r.sinks[i]; x.Levels > 0 {
			x.text.Reset()
		} else {
			x.Data = mem.Alloc(b.Samples * 8)
		}
	}
	var err error
	if r.head.View {
		err = do(func() error { return r.step(ctx, sp, mem) })
	} else {
		err = r.walk(ctx, sp, mem)
	}
	if err != nil {
		return err
	}
	for i := range r.sinks {
		x := &r.sinks[i]
		if x.Levels == 0 {
			continue
		}
		var ends []int64
		x.Data, ends = x.text.Move(mem)
		x.Offsets = [][]int64{ends}
		if err := rows.CheckText(x.Column, sp.Lo); err != nil {
			return err
		}
	}
	return nil
}

// walk reads rows of a table.
func (r *reader) walk(ctx context.Context, sp shardify.Span, mem *shardify.Arena) error {
	if err := r.seek(sp.Lo); err != nil {
		return err
	}
	c := &r.cursor
	for row := range int(sp.Samples()) {
		if row%4096 == 4095 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.advance()
		if err == nil {
			err = c.columns()
		}
		if err != nil {
			return err
		}
		r.next++
		for i := range r.sinks {
			x := &r.sinks[i]
			if x.Levels == 0 && !x.Rowid && x.At < c.have {
				if v := c.cols[x.At]; v.serial-1 < 9 && v.off+v.size() <= int64(len(c.row)) {
					if x.DType == shardify.I64 && v.serial != 7 {
						binary.LittleEndian.PutUint64(x.Data[8*row:], uint64(whole(c.row[v.off:], v.serial)))
						continue
					}
					if x.DType == shardify.F64 && v.serial != 7 {
						binary.LittleEndian.PutUint64(x.Data[8*row:], math.Float64bits(float64(whole(c.row[v.off:], v.serial))))
						continue
					}
					if x.DType == shardify.F64 && !isNaN(c.row[v.off:]) {
						binary.LittleEndian.PutUint64(x.Data[8*row:], be.Uint64(c.row[v.off:]))
						continue
					}
				}
			}
			encoding := r.db.encoding
			if x.At >= c.have {
				encoding = 0 // of a default, which comes from SQLite
			}
			v, err := c.cell(&x.field)
			if err == nil {
				err = x.put(row, v, encoding, mem)
			}
			if err != nil {
				return x.at(err, sp.Lo+int64(row))
			}
		}
	}
	return nil
}

// step reads rows of a view.
func (r *reader) step(ctx context.Context, sp shardify.Span, mem *shardify.Arena) error {
	r.db.conn.SetInterrupt(ctx.Done())
	if r.stmt == nil || r.next > sp.Lo {
		r.rewind()
		v := table{name: r.head.Table}
		for i := range r.sinks {
			v.columns = append(v.columns, column{name: r.sinks[i].field.Name})
		}
		s, _, err := r.db.conn.PrepareTransient(v.query(v.columns))
		if err != nil {
			return err
		}
		r.stmt, r.next = s, 0
	}
	for ; r.next < sp.Hi; r.next++ {
		if more, err := r.stmt.Step(); err != nil {
			return err
		} else if !more {
			return errFewer
		}
		if r.next < sp.Lo {
			continue
		}
		for i := range r.sinks {
			x := &r.sinks[i]
			if err := x.put(int(r.next-sp.Lo), stepped(r.stmt, i), 0, mem); err != nil {
				return x.at(err, r.next)
			}
		}
	}
	return nil
}

// stepped is a value of the row that a statement is at.
func stepped(s *sqlite.Stmt, i int) cell {
	v := cell{Class: s.ColumnType(i)}
	switch v.Class {
	case sqlite.TypeInteger:
		v.Bits = uint64(s.ColumnInt64(i))
	case sqlite.TypeFloat:
		v.Bits = math.Float64bits(s.ColumnFloat(i))
	case sqlite.TypeText, sqlite.TypeBlob:
		v.Text = make([]byte, s.ColumnLen(i))
		s.ColumnBytes(i, v.Text)
	}
	return v
}

// at says of an error where it is.
func (x *sink) at(err error, sample int64) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Sample = x.Column.Name, sample })
}

// put stores a value.
func (x *sink) put(row int, v cell, encoding uint32, mem *shardify.Arena) (err error) {
	switch {
	case v.Class == sqlite.TypeNull && x.Nullable:
		if x.Valid == nil {
			x.Valid = mem.Alloc(x.samples)
			for k := range x.Valid {
				x.Valid[k] = 1
			}
		}
		x.Valid[row] = 0
		if x.Levels > 0 {
			x.text.End()
			return nil
		}
		v.Bits = 0
	case v.Class == sqlite.TypeText && x.Levels > 0:
		x.text.Data, err = appendUTF8(x.text.Data, v.Text, encoding)
		x.text.End()
		return err
	case v.Class == sqlite.TypeBlob && x.Media == "bin":
		x.text.Data = append(x.text.Data, v.Text...)
		x.text.End()
		return nil
	case x.field.Text && v.Class == sqlite.TypeInteger:
		x.text.Data = strconv.AppendInt(x.text.Data, int64(v.Bits), 10)
		x.text.End()
		return nil
	case x.field.Text && v.Class == sqlite.TypeFloat:
		x.text.Data = appendFloat(x.text.Data, v.Bits)
		x.text.End()
		return nil
	case v.Class == sqlite.TypeInteger && x.DType == shardify.I64:
	case x.DType == shardify.F64 && (v.Class == sqlite.TypeInteger || v.Class == sqlite.TypeFloat):
		v.Bits = math.Float64bits(v.float())
	default:
		return shardify.Corrupt(-1, "%s in a column of type %s: the values or the declared types are others than when the plan was made", classNames[v.Class], x.DType)
	}
	binary.LittleEndian.PutUint64(x.Data[8*row:], v.Bits)
	return nil
}
