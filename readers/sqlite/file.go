package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/guard"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

const (
	magic        = "SQLite format 3\x00"
	hotJournal   = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	logHeader    = 32 // bytes of a write-ahead log without a page
	headerBytes  = 100
	counterBytes = 24 // where the number of changes is
)

// database is an open one. One goroutine uses its connection at a time.
type database struct {
	storage.File
	name     string
	fs       storage.FS
	changes  uint32
	encoding uint32
	page     int // bytes
	usable   int // of them
	conn     *sqlite.Conn
}

// Close closes the file and the connection, if there is one.
func (d *database) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	return errors.Join(err, d.File.Close())
}

// Unwrap is the file below.
func (d *database) Unwrap() any { return d.File }

// unchanged returns an error if another process has written since the database was opened.
func (d *database) unchanged() error {
	var b [4]byte
	if _, err := d.ReadAt(b[:], counterBytes); err != nil {
		return err
	}
	if be.Uint32(b[:]) != d.changes {
		return fmt.Errorf("%w: another process writes to it", shardify.ErrChanged)
	}
	return nil
}

// openFile opens a database of size bytes; -1 is any. SQLite itself is not asked.
func openFile(ctx context.Context, fs storage.FS, name string, size int64) (*database, error) {
	f, err := rows.OpenFile(ctx, fs, name, size)
	if err != nil {
		return nil, err
	}
	d := &database{File: f, name: name, fs: fs}
	if err = d.check(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return d, nil
}

// openDatabase opens a database with a connection of SQLite.
func openDatabase(ctx context.Context, fs storage.FS, name string, size int64) (*database, error) {
	path, ok := storage.Path(fs, name)
	if !ok {
		return nil, shardify.Unsupported("SQLite databases are read from file systems only: copy it here first")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d, err := openFile(ctx, fs, name, size)
	if err != nil {
		return nil, err
	}
	err = do(func() error {
		d.conn, err = sqlite.OpenConn("file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
		return err
	})
	if err == nil {
		err = d.each("PRAGMA cell_size_check=ON", nil)
	}
	if err == nil { // a page of the schema with fewer cells hides tables
		err = d.quickCheck("'sqlite_schema'")
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	d.conn.SetInterrupt(ctx.Done())
	return d, nil
}

// check looks at the header, and at what writers leave beside a database.
func (d *database) check(ctx context.Context) error {
	fs, name := d.fs, d.name
	b := make([]byte, headerBytes)
	if n, err := d.ReadAt(b, 0); err != nil && err != io.EOF {
		return err
	} else if n < headerBytes || string(b[:len(magic)]) != magic {
		return shardify.Corrupt(0, "not an SQLite database, or an encrypted one")
	}
	page := int64(be.Uint16(b[16:]))
	if page == 1 {
		page = 1 << 16
	}
	if page < 512 || page&(page-1) != 0 || b[19] > 2 || page-int64(b[20]) < 480 || b[21] != 64 || b[22] != 32 || b[23] != 32 {
		return shardify.Corrupt(16, "a header that contradicts itself")
	}
	d.changes, d.page, d.usable = be.Uint32(b[counterBytes:]), int(page), int(page)-int(b[20])
	pages := int64(be.Uint32(b[28:]))
	if size := d.Size(); size%page != 0 || be.Uint32(b[92:]) == d.changes && size < pages*page {
		return shardify.Corrupt(size, "the file ends early: %d bytes are not %d pages of %d", size, pages, page)
	}
	if d.encoding = be.Uint32(b[56:]); d.encoding > encUTF16BE {
		return shardify.Corrupt(56, "text encoding %d", d.encoding)
	}
	if st, err := fs.Stat(ctx, name+"-wal"); err == nil && st.Size >= logHeader {
		return shardify.Hint(shardify.Unsupported("its write-ahead log %s-wal holds changes that are not in the database yet", filepath.Base(name)),
			fmt.Sprintf("sqlite3 '%s' 'pragma wal_checkpoint(truncate)' puts them there", name))
	}
	if st, err := fs.Stat(ctx, name+"-journal"); err != nil || st.Size < int64(len(hotJournal)) {
		return nil
	}
	j, err := rows.OpenFile(ctx, fs, name+"-journal", -1)
	if err != nil {
		return err
	}
	defer j.Close()
	head := make([]byte, len(hotJournal))
	if _, err := j.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	if string(head) == hotJournal {
		return shardify.Hint(shardify.Unsupported("a writer died, or is at work: the journal %s-journal is not empty", filepath.Base(name)),
			fmt.Sprintf("sqlite3 '%s' 'pragma quick_check' repairs it, once no process writes to it", name))
	}
	return nil
}

// do calls the library, and says of its errors what they mean.
func do(f func() error) error {
	err := guard.Do(f)
	if err == nil {
		return nil
	}
	var e *shardify.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultNoMem, sqlite.ResultCantOpen, sqlite.ResultPerm, sqlite.ResultInterrupt, sqlite.ResultBusy, sqlite.ResultAuth:
		return err
	}
	return shardify.Corrupt(-1, "%v", err)
}

// each calls f, if any, for every row of a statement.
func (d *database) each(query string, f func(s *sqlite.Stmt) error, args ...int64) error {
	return do(func() error {
		s, _, err := d.conn.PrepareTransient(query)
		if err != nil {
			return err
		}
		defer s.Finalize()
		for i, a := range args {
			s.BindInt64(i+1, a)
		}
		for {
			row, err := s.Step()
			if err != nil || !row {
				return err
			}
			if f != nil {
				if err := f(s); err != nil {
					return err
				}
			}
		}
	})
}

// quickCheck lets SQLite look at the pages of a table, or at all with a number of errors.
func (d *database) quickCheck(what string) error {
	return d.each("PRAGMA quick_check("+what+")", func(r *sqlite.Stmt) error {
		if t := r.ColumnText(0); t != "ok" {
			return shardify.Corrupt(-1, "quick_check: %s", t)
		}
		return nil
	})
}

// quote writes a name for a statement.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// table is a table or a view.
type table struct {
	name    string
	view    bool
	columns []column
	left    []format.Leftover

	// Of a table:
	root   uint32 // page
	index  bool   // WITHOUT ROWID
	stored int    // values in a row
}

// column is a column of a table.
type column struct {
	name      string
	typed     bool   // a type is declared
	affinity  string // "INTEGER", "TEXT", "BLOB", "REAL", "NUMERIC"
	notNull   bool
	byDefault bool // it has a default that is not NULL
	rowid     bool // it is another name of the rowid
	at        int  // in the rows of a table
}

// tables lists what a database holds. Those of extensions are left out.
func (d *database) tables() (names []string, left []string, err error) {
	err = d.each("SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name", func(s *sqlite.Stmt) error {
		if t := s.ColumnText(1); t == "table" || t == "view" {
			names = append(names, s.ColumnText(0))
		} else {
			left = append(left, fmt.Sprintf("%s is left out: a %s table", s.ColumnText(0), t))
		}
		return nil
	})
	return names, left, err
}

// table reads what a table has.
func (d *database) table(name string) (*table, error) {
	t := &table{name: name}
	err := d.each("SELECT l.type = 'view', l.wr, s.rootpage FROM pragma_table_list l JOIN sqlite_schema s ON s.name = l.name AND s.type = l.type WHERE l.schema = 'main' AND l.name = "+literal(name), func(s *sqlite.Stmt) error {
		t.view, t.index, t.root = s.ColumnBool(0), s.ColumnBool(1), uint32(s.ColumnInt64(2))
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A key has its index in the file, unless it is the rowid or the order of the rows.
	err = d.each("SELECT l.name FROM pragma_index_list("+literal(name)+") l WHERE l.origin = 'u' OR l.origin = 'pk' AND NOT (SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = "+literal(name)+")"+
		" EXCEPT SELECT name FROM sqlite_schema WHERE type = 'index'", func(s *sqlite.Stmt) error {
		return shardify.Corrupt(-1, "table %s has a key without its index %s", name, s.ColumnText(0))
	})
	if err != nil {
		return nil, err
	}
	order := map[int]int{} // by number of the column: its place in rows
	keyed := false         // an index of its own has the primary key
	places := 0            // in that index
	err = d.each("SELECT x.cid, x.seqno FROM pragma_index_list("+literal(name)+") l, pragma_index_xinfo(l.name) x WHERE l.origin = 'pk' ORDER BY x.seqno DESC", func(s *sqlite.Stmt) error {
		order[s.ColumnInt(0)] = s.ColumnInt(1) // the first place: a key may have a column twice, in two collations
		keyed, places = true, max(places, s.ColumnInt(1)+1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = d.each("SELECT name, type, \"notnull\", hidden, pk, cid, dflt_value IS NOT NULL FROM pragma_table_xinfo("+literal(name)+") ORDER BY cid", func(s *sqlite.Stmt) error {
		c := column{name: s.ColumnText(0), typed: s.ColumnText(1) != "", affinity: affinity(s.ColumnText(1)), notNull: s.ColumnBool(2), byDefault: s.ColumnBool(6)}
		if h := s.ColumnInt(3); h == 1 || h == 2 {
			t.left = append(t.left, format.Leftover{Name: format.PlainName(c.name), Reason: "a generated column, which is not stored"})
			return nil
		}
		c.rowid = s.ColumnInt(4) > 0 && !keyed && strings.EqualFold(s.ColumnText(1), "INTEGER")
		if c.at = t.stored; t.index {
			k, ok := order[s.ColumnInt(5)]
			if !ok {
				return shardify.Corrupt(-1, "table %s has no place for column %s", name, c.name)
			}
			c.at = k
		}
		t.stored++
		t.columns = append(t.columns, c)
		return nil
	})
	if t.index {
		t.stored = places
	}
	return t, err
}

// tree is the b-tree of a table.
func (d *database) tree(root uint32, index bool) *tree {
	return &tree{file: d, size: d.page, usable: d.usable, pages: uint32(d.Size() / int64(d.page)), root: root, index: index}
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// affinity of a declared type, as SQLite finds it.
func affinity(decl string) string {
	decl = strings.ToUpper(decl)
	for _, x := range []struct{ words, is string }{{"INT", "INTEGER"}, {"CHAR CLOB TEXT", "TEXT"}, {"BLOB", "BLOB"}, {"REAL FLOA DOUB", "REAL"}} {
		for _, w := range strings.Fields(x.words) {
			if strings.Contains(decl, w) {
				return x.is
			}
		}
	}
	if decl == "" {
		return "BLOB"
	}
	return "NUMERIC"
}

// query reads columns of a view or table in the order that it has.
func (t *table) query(columns []column) string {
	var names []string
	for _, c := range columns {
		names = append(names, quote(c.name))
	}
	if len(names) == 0 {
		names = []string{"1"}
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + quote(t.name)
}
