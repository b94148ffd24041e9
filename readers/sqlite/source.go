package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/lines"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for SQLite.
var Format = format.Input{
	Name:    "sqlite",
	Help:    "SQLite databases: a table or view, FILE:TABLE; a row is a sample",
	Sniff:   sniff,
	Options: options,
	Open:    open,
	Outline: outline,
}

const optObject = "object"

var options = []format.Option{
	{Name: optObject, Kind: format.KindString, Help: "what to read in a file that holds several things; also as FILE:OBJECT"},
	rows.Option,
}

func sniff(head []byte, name string) bool {
	if len(head) > 0 {
		return strings.HasPrefix(string(head), magic)
	}
	return slices.Contains([]string{".db", ".sqlite", ".sqlite3", ".db3", ".gpkg"}, strings.ToLower(filepath.Ext(name)))
}

// source is many databases as one table.
type source struct {
	*rows.Set
	fs     storage.FS
	object string
	want   *rows.Wanted
	jobs   int
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), object: opts[optObject], jobs: a.Jobs}
	if s.jobs <= 0 {
		s.jobs = runtime.GOMAXPROCS(0)
	}
	if a.Table != nil {
		s.jobs = max(s.jobs/max(a.Table.Len(), 1), 1)
	}
	if s.want, err = rows.NewWanted(a.Columns); err != nil {
		return nil, err
	}
	a.Options = format.Options{rows.Option.Name: opts[rows.Option.Name]}
	s.Set, err = rows.Open(ctx, a, rows.Format{Name: "SQLite", Look: s.look, Key: "1\x00" + s.object})
	return s, err
}

// outline lists the tables of a database.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	d, err := openDatabase(ctx, fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer d.close()
	names, left, err := d.tables()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range names {
		t, err := d.table(n)
		if err != nil {
			return nil, err
		}
		kind := "table"
		if t.view {
			kind = "view"
		}
		out = append(out, fmt.Sprintf("%s  %s of %d columns", n, kind, len(t.columns)))
	}
	return append(out, left...), nil
}

// choose finds the table: the one that was asked for, the only one, or the one of the most rows.
func (s *source) choose(d *database) (name string, line string, err error) {
	names, _, err := d.tables()
	if err != nil {
		return "", "", err
	}
	if s.object != "" {
		for _, n := range names {
			if strings.EqualFold(n, s.object) {
				return n, "", nil
			}
		}
		return "", "", shardify.Misuse("there is no table %s; there is %s", s.object, strings.Join(names[:min(len(names), 20)], ", "))
	}
	if len(names) == 0 {
		return "", "", shardify.Unsupported("no tables")
	}
	most := int64(-1)
	for _, n := range names {
		t, err := d.table(n)
		if err != nil {
			return "", "", err
		}
		if t.view && len(names) > 1 {
			continue
		}
		err = d.each("SELECT count(*) FROM "+quote(n), func(r *sqlite.Stmt) error {
			if c := r.ColumnInt64(0); c > most {
				most, name = c, n
			}
			return nil
		})
		if err != nil {
			return "", "", err
		}
	}
	if name == "" {
		name = names[0]
	}
	if len(names) > 1 {
		line = fmt.Sprintf("table %s, the largest of %s; FILE:TABLE reads another", name, strings.Join(names[:min(len(names), 20)], ", "))
	}
	return name, line, nil
}

// look surveys one file.
func (s *source) look(ctx context.Context, path string, want *rows.Wanted) (*rows.Facts, error) {
	d, err := openDatabase(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer d.close()
	d.conn.SetInterrupt(ctx.Done())
	err = d.each("PRAGMA quick_check(1)", func(r *sqlite.Stmt) error {
		if t := r.ColumnText(0); t != "ok" {
			return shardify.Corrupt(-1, "quick_check: %s", t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	name, line, err := s.choose(d)
	if err != nil {
		return nil, err
	}
	t, err := d.table(name)
	if err != nil {
		return nil, err
	}
	facts := &rows.Facts{Size: d.file.Size()}
	if line != "" {
		facts.Lines = []string{line}
	}
	for _, c := range t.left {
		if hit, _ := want.Match(format.PlainName(c.name)); hit {
			facts.Left = append(facts.Left, format.Leftover{Name: format.PlainName(c.name), Reason: c.affinity})
		}
	}
	columns := t.wanted(want)
	parts, found, err := s.survey(ctx, d, path, t, columns, s.jobs)
	if err != nil {
		return nil, err
	}
	own := binary.AppendUvarint(nil, uint64(len(name)))
	own = appendParts(append(own, name...), parts)
	for i := range columns {
		f, ok, err := columns[i].field(&found[i])
		if err != nil {
			return nil, err
		}
		if f.Name = format.PlainName(f.Name); !ok {
			facts.Void = append(facts.Void, f.Name)
			continue
		}
		facts.Fields = append(facts.Fields, rows.Field{Field: f, Bytes: found[i].bytes})
	}
	for _, p := range parts {
		facts.Samples += p.rows
		facts.Borders.At = append(facts.Borders.At, facts.Samples)
	}
	facts.Borders.Inside, facts.Blob = 1, own
	return facts, d.unchanged()
}

// wanted are the columns that are asked for.
func (t *table) wanted(want *rows.Wanted) (out []column) {
	for _, c := range t.columns {
		if hit, _ := want.Match(format.PlainName(c.name)); hit {
			out = append(out, c)
		}
	}
	return out
}

// Close implements shardify.Source.
func (s *source) Close() error { return nil }

// Reader implements shardify.Source.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("sqlite: there is no run %d", run)
	}
	return &reader{s: s}, nil
}

// reader steps through a table with a connection of its own. Spans that follow each other are
// one statement.
type reader struct {
	s       *source
	in      uint32
	db      *database
	table   *table
	parts   []part
	stmt    *sqlite.Stmt
	next    int64 // the row that the statement is before
	fields  []shardify.Field
	texts   []lines.Collector
	scratch shardify.Scratch
	closed  bool
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
	err := r.reset()
	if r.db != nil {
		err = errors.Join(err, r.db.close())
	}
	r.db, r.fields = nil, nil
	return err
}

func (r *reader) reset() error {
	if r.stmt == nil {
		return nil
	}
	s := r.stmt
	r.stmt = nil
	return guardClose(s)
}

func guardClose(s *sqlite.Stmt) error {
	do(func() error { s.Finalize(); return nil }) // says once more what Step said
	return nil
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("sqlite: Read after Close")
	}
	in, b, err := r.s.Begin(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	if err = r.open(ctx, &in, b); err == nil {
		r.db.conn.SetInterrupt(ctx.Done())
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

// open makes the span's input the one at hand.
func (r *reader) open(ctx context.Context, in *rows.Input, b *shardify.Batch) error {
	if r.db != nil && r.in == in.Index {
		return nil
	}
	r.drop()
	n, k := binary.Uvarint(in.Blob)
	if k <= 0 || n > uint64(len(in.Blob)-k) {
		return errState
	}
	name := string(in.Blob[k : k+int(n)])
	var err error
	if r.parts, err = decodeParts(in.Blob[k+int(n):], in.Samples); err != nil {
		return err
	}
	if r.db, err = openDatabase(ctx, r.s.fs, in.Path(), in.Size); err != nil {
		return err
	}
	t, err := r.db.table(name)
	if err != nil {
		return err
	}
	byName := map[string]column{}
	for _, c := range t.columns {
		byName[format.PlainName(c.name)] = c
	}
	var columns []column
	for i := range b.Columns {
		if c := &b.Columns[i]; in.Field(i) >= 0 {
			x, ok := byName[c.Name]
			if !ok || len(c.Shape) > 0 || c.Media == "" && c.DType != shardify.I64 && c.DType != shardify.F64 || c.Levels > 1 {
				return errState
			}
			columns = append(columns, x)
			r.fields = append(r.fields, c.Field)
		}
	}
	t.columns = columns
	r.in, r.table, r.texts = in.Index, t, make([]lines.Collector, len(columns))
	return nil
}

// seek puts the statement before a row.
func (r *reader) seek(row int64) error {
	if r.stmt != nil && r.next == row {
		return nil
	}
	if err := r.reset(); err != nil {
		return err
	}
	s, _, err := r.db.conn.PrepareTransient(r.table.query(r.table.columns))
	if err != nil {
		return err
	}
	r.stmt, r.next = s, 0
	if r.table.rowid != "" {
		lo := r.parts[0].lo
		for _, p := range r.parts {
			if lo = p.lo; r.next+p.rows > row {
				break
			}
			r.next += p.rows
		}
		s.BindInt64(1, lo)
		s.BindInt64(2, math.MaxInt64)
	}
	for ; r.next < row; r.next++ {
		if err := r.step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) step() error {
	ok, err := r.stmt.Step()
	if err == nil && !ok {
		err = fmt.Errorf("%w: it has fewer rows", shardify.ErrChanged)
	}
	return err
}

func (r *reader) read(ctx context.Context, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	held := int64(cacheBytes)
	for i := range r.texts {
		held += r.texts[i].Held()
		r.texts[i].Reset()
	}
	if err := r.scratch.Hold(ctx, mem, held); err != nil {
		return err
	}
	columns := make([]*shardify.Column, 0, len(r.fields))
	for i := range b.Columns {
		if c := &b.Columns[i]; len(columns) < len(r.fields) && c.Name == r.fields[len(columns)].Name {
			columns = append(columns, c)
			if c.Levels == 0 {
				c.Data = mem.Alloc(b.Samples * 8)
			}
		}
	}
	err := do(func() error {
		if err := r.seek(sp.Lo); err != nil {
			return err
		}
		for row := range b.Samples {
			if err := r.step(); err != nil {
				return err
			}
			r.next++
			for i, c := range columns {
				if err := r.cell(i, row, c, mem, b.Samples); err != nil {
					return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Sample = c.Name, sp.Lo+int64(row) })
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, c := range columns {
		if c.Levels == 0 {
			continue
		}
		var ends []int64
		c.Data, ends = r.texts[i].Move(mem)
		c.Offsets = [][]int64{ends}
		if err := rows.CheckText(c, sp.Lo); err != nil {
			return err
		}
	}
	return nil
}

// cell reads the cell of a column in the row at hand.
func (r *reader) cell(i, row int, c *shardify.Column, mem *shardify.Arena, samples int) error {
	s := r.stmt
	t := s.ColumnType(i)
	var v uint64
	switch {
	case t == sqlite.TypeNull:
		if !c.Nullable {
			return shardify.Corrupt(-1, "NULL, where there was none when the plan was made")
		}
		if c.Valid == nil {
			c.Valid = mem.Alloc(samples)
			for k := range c.Valid {
				c.Valid[k] = 1
			}
		}
		if c.Valid[row] = 0; c.Levels > 0 {
			r.texts[i].End()
			return nil
		}
	case c.Levels > 0 && (t == sqlite.TypeText && c.Media == "txt" || t == sqlite.TypeBlob && c.Media == "bin"):
		x := &r.texts[i]
		n := s.ColumnLen(i)
		have := len(x.Data)
		x.Data = slices.Grow(x.Data, n)[:have+n]
		s.ColumnBytes(i, x.Data[have:])
		x.End()
		return nil
	case c.DType == shardify.I64 && t == sqlite.TypeInteger:
		v = uint64(s.ColumnInt64(i))
	case c.DType == shardify.F64 && (t == sqlite.TypeFloat || t == sqlite.TypeInteger):
		v = math.Float64bits(s.ColumnFloat(i))
	default:
		return shardify.Corrupt(-1, "%s, where there was none when the plan was made", strings.ToLower(strings.TrimPrefix(t.String(), "SQLITE_")))
	}
	binary.LittleEndian.PutUint64(c.Data[8*row:], v)
	return nil
}
