package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/ase"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	derived "github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/readers/xyz"
	"github.com/shardify/shardify/storage"
)

// Databases of ASE have a table of atoms: its rows are read as frames of extended XYZ.

// systems are the columns that are read, and how: i and f are arrays of integers and floats, with the numbers of a row;
// r a number, j JSON, d data.
var systems = []system{
	{"numbers", 'i', 0}, {"positions", 'f', 3}, {"cell", 'f', 3}, {"pbc", 'p', 0}, {"initial_magmoms", 'f', 0}, {"initial_charges", 'f', 0}, {"masses", 'f', 0}, {"tags", 'i', 0},
	{"momenta", 'f', 3}, {"constraints", 'j', 0}, {"energy", 'r', 0}, {"free_energy", 'r', 0}, {"forces", 'f', 3}, {"stress", 'f', 0}, {"dipole", 'f', 0}, {"magmoms", 'f', 0},
	{"magmom", 'r', 0}, {"charges", 'f', 0}, {"key_value_pairs", 'j', 0}, {"data", 'd', 0},
}

// others are the columns that ase.Left names, the number of the row, and what ASE computes of the columns above.
var others = []string{"id", "unique_id", "ctime", "mtime", "username", "calculator", "calculator_parameters", "natoms", "fmax", "smax", "volume", "mass", "charge"}

type system struct {
	name string
	as   byte
	row  int
}

// isAtoms reports whether a file is a database of ASE.
func (s *source) isAtoms(ctx context.Context, path string) (bool, error) {
	d, err := openDatabase(ctx, s.fs, path, -1)
	if err != nil {
		return false, err
	}
	defer d.Close()
	names, _, err := d.tables()
	if err != nil || !slices.Contains(names, "systems") || !slices.Contains(names, "information") {
		return false, err
	}
	t, err := d.table("systems")
	if err != nil || t.view || t.index {
		return false, err
	}
	has := 0
	for _, c := range t.columns {
		if c.rowid && c.name == "id" || slices.Contains([]string{"numbers", "positions", "cell", "pbc", "key_value_pairs"}, c.name) {
			has++
		}
	}
	return has == 6, nil
}

// openAtoms opens databases of ASE; nil for other databases.
func (s *source) openAtoms(ctx context.Context, a format.OpenArgs, opts format.Options) (shardify.Source, error) {
	if a.State == nil && (a.Table == nil || a.Table.Len() == 0) {
		return nil, nil
	}
	if a.State == nil {
		if ok, err := s.isAtoms(ctx, a.Table.Path(0)); err != nil || !ok {
			return nil, nil // the survey of tables finds it, too
		}
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name], format.NullItems.Name: cmp.Or(opts[format.NullItems.Name], "fail")}
	src, err := xyz.Open(ctx, a, &derived.Text{Name: "ASE database", Record: "row", Look: s.lookAtoms, Open: s.openText})
	if err != nil && a.State != nil {
		return nil, nil // a state of tables
	}
	return src, err
}

// lookAtoms finds the rows of a database.
func (s *source) lookAtoms(ctx context.Context, _ storage.File, path string) (*derived.Pieces, error) {
	if ok, err := s.isAtoms(ctx, path); err != nil {
		return nil, err
	} else if !ok {
		return nil, shardify.Mismatch("it is no database of ASE, as the first input is; FILE:systems reads the table of each")
	}
	d, err := openDatabase(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	version := 0
	err = d.each("SELECT value FROM information WHERE name = 'version'", func(r *sqlite.Stmt) error {
		version, _ = strconv.Atoi(r.ColumnText(0))
		return nil
	})
	if err == nil && version > 0 && version < 5 {
		err = shardify.Hint(shardify.Unsupported("version %d of ASE's databases, older than 5", version), "ase db OLD.db --insert-into NEW.db writes the present one")
	}
	if err != nil {
		return nil, err
	}
	t, err := d.table("systems")
	if err != nil {
		return nil, err
	}
	v := scan{database: d, table: t}
	if err := v.look(ctx, true, 1); err != nil {
		return nil, err
	}
	h := &head{Table: t.name, Root: t.root, Stored: t.stored}
	all := &derived.Pieces{Rows: []int64{0}, Left: slices.Clone(ase.Left)}
	for _, c := range t.columns {
		if slices.ContainsFunc(systems, func(x system) bool { return x.name == c.name }) {
			h.Fields = append(h.Fields, field{Name: c.name, At: c.at})
		} else if !slices.Contains(others, c.name) {
			all.Left = append(all.Left, format.Leftover{Name: c.name, Reason: "a column that databases of ASE do not have", Unreadable: true})
		}
	}
	for _, p := range v.parts {
		all.Rows = append(all.Rows, all.Rows[len(all.Rows)-1]+p.rows)
	}
	all.State, err = appendState(h, v.parts)
	if err == nil {
		err = d.unchanged()
	}
	return all, err
}

// openText begins to make frames of a database.
func (s *source) openText(ctx context.Context, f storage.File, path string, state []byte) (derived.Maker, error) {
	d, err := openFile(ctx, s.fs, path, f.Size())
	if err != nil {
		return nil, err
	}
	m := &frames{db: d}
	if m.head, m.parts, err = decodeState(state, -1); err == nil {
		m.cursor = cursor{tree: d.tree(m.head.Root, false)}
		m.cursor.cols = make([]value, m.head.Stored)
		return m, nil
	}
	d.Close()
	return nil, err
}

// frames makes frames of rows. It is a made.Maker.
type frames struct {
	db     *database
	head   *head
	parts  []part
	cursor cursor
	row    []byte
}

// Close implements made.Maker.
func (m *frames) Close() error { return m.db.Close() }

// Piece implements made.Maker.
func (m *frames) Piece(ctx context.Context, k int, lo, hi int64, b []byte) ([]byte, error) {
	if k >= len(m.parts) || m.parts[k].rows != hi-lo {
		return b, errState
	}
	c := &m.cursor
	if err := c.seek(m.parts[k].path, 0); err != nil {
		return b, err
	}
	for n := lo; n < hi; n++ {
		if err := context.Cause(ctx); err != nil {
			return b, err
		}
		more, err := c.next()
		if err == nil && !more {
			err = errFewer
		}
		if err == nil {
			err = c.columns()
		}
		if err == nil && c.beyond {
			err = c.corrupt(c.number, "a row of more values than the %d columns of %s", m.head.Stored, quote(m.head.Table))
		}
		if err == nil {
			if err = m.json(); err == nil {
				b, err = ase.Frame(b, c.rowid, m.row)
			}
			if err != nil {
				err = fmt.Errorf("the row of id %d: %w", c.rowid, err)
			}
		}
		if err != nil {
			return b, shardify.Amend(err, func(e *shardify.Error) { e.Sample = n })
		}
	}
	return b, m.db.unchanged()
}

// json makes the row what ASE writes in JSON.
func (m *frames) json() error {
	b := append(m.row[:0], '{')
	for i := range m.head.Fields {
		x := &m.head.Fields[i]
		v, err := m.cursor.cell(x)
		if err != nil {
			return err
		}
		if v.Class == sqlite.TypeNull || (v.Class == sqlite.TypeText || v.Class == sqlite.TypeBlob) && len(v.Text) == 0 && x.Name != "numbers" && x.Name != "positions" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), x.Name...), `": `...)
		if b, err = m.member(b, x.Name, &v); err != nil {
			return err
		}
	}
	m.row = append(b, '}')
	return nil
}

func (m *frames) member(b []byte, name string, v *cell) (_ []byte, err error) {
	for _, x := range systems {
		if x.name != name {
			continue
		}
		text := v.Class == sqlite.TypeText
		switch {
		case x.as == 'i' && v.Class == sqlite.TypeBlob:
			if name == "tags" || len(v.Text)%4 == 0 {
				return ase.Array(b, name, "int32", 0, v.Text)
			}
		case x.as == 'f' && v.Class == sqlite.TypeBlob:
			return ase.Array(b, name, "float64", x.row, v.Text)
		case x.as == 'p' && v.Class == sqlite.TypeInteger && v.Bits < 8:
			return fmt.Appendf(b, "[%v,%v,%v]", v.Bits&1 > 0, v.Bits&2 > 0, v.Bits&4 > 0), nil
		case x.as == 'r' && (v.Class == sqlite.TypeFloat || v.Class == sqlite.TypeInteger):
			return ase.AppendFloat(b, v.float()), nil
		case x.as == 'd' && v.Class == sqlite.TypeBlob:
			return ase.Data(b, v.Text)
		case (x.as == 'j' || x.as == 'd') && text:
			at := len(b)
			if b, err = appendUTF8(b, v.Text, m.db.encoding); err == nil && string(b[at:]) == `""` {
				b = append(b[:at], "null"...)
			}
			return b, err
		}
		break
	}
	return b, shardify.Corrupt(-1, "the column %s holds %s, as ASE does not write it", name, classNames[v.Class])
}
