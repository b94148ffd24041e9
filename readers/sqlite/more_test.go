package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/race"
)

func openWith(options format.Options, name string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(name), Options: options, Jobs: 2})
}

// texts are all values of a source, by column, as text.
func texts(t *testing.T, src shardify.Source, target int64) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
		for i := range b.Columns {
			for k := range b.Samples {
				out[b.Columns[i].Name] = append(out[b.Columns[i].Name], fmt.Sprint(corpusCell(&b.Columns[i], k)))
			}
		}
	})
	return out
}

const count = "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < %d) INSERT INTO %s SELECT %s FROM k"

// TestTreesOfSeveralLevels: tables of both kinds are read from any part on, with rows that take
// several pages and rows in inner pages.
func TestTreesOfSeveralLevels(t *testing.T) {
	race.Sequential(t)
	partBytes = 64 << 10
	t.Cleanup(func() { partBytes = 1 << 20 })
	const rows = 30000
	values := "(i * 7919) %% 150001, i, printf('%%d', i) || CASE i %% 997 WHEN 0 THEN hex(zeroblob(3000)) ELSE '' END"
	values = strings.ReplaceAll(values, "%%", "%")
	name := made(t, "a.db", "PRAGMA page_size = 512", "CREATE TABLE a(k INT, n, s)", "CREATE TABLE b(n, s, k INT, PRIMARY KEY(k, n)) WITHOUT ROWID", "CREATE INDEX small ON b(n)",
		fmt.Sprintf(count, rows-1, "a(k, n, s)", values), "INSERT INTO b(k, n, s) SELECT k, n, s FROM a")
	for _, object := range []string{"a", "b"} {
		src, err := openWith(format.Options{optObject: object}, name)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		got := texts(t, src, 100<<10)
		if len(got["n"]) != rows {
			t.Fatalf("%s: %d rows", object, len(got["n"]))
		}
		for i := range rows {
			n, k := i, i*7919%150001
			if object == "b" {
				fmt.Sscan(got["n"][i], &n)
				k = n * 7919 % 150001
			}
			s := fmt.Sprint("t:", n)
			if n%997 == 0 {
				s += strings.Repeat("0", 6000)
			}
			if got["n"][i] != fmt.Sprint(n) || got["k"][i] != fmt.Sprint(k) || got["s"][i] != s {
				t.Fatalf("%s, row %d: %s, %s, %.20s, want %d, %d, %.20s", object, i, got["n"][i], got["k"][i], got["s"][i], n, k, s)
			}
		}
		last := -1
		for i, text := range got["k"] {
			k := 0
			if fmt.Sscan(text, &k); object == "b" && k <= last {
				t.Fatalf("row %d: key %d after %d", i, k, last)
			}
			last = k
		}
		if spans := readertest.Spans(t, src, 100<<10); len(spans) < 8 {
			t.Errorf("%s: %d spans", object, len(spans))
		}
	}
}

// TestALeafInThePlaceOfAnother ends no part early: a page belongs to a tree once.
func TestALeafInThePlaceOfAnother(t *testing.T) {
	partBytes = 8 << 10
	t.Cleanup(func() { partBytes = 1 << 20 })
	name := made(t, "a.db", "PRAGMA page_size = 512", "CREATE TABLE t(n)", fmt.Sprintf(count, 5000, "t", "i"))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := func(n uint32) []byte { return b[512*(n-1):][:512] }
	at := func(p []byte, k int) []byte { return p[be.Uint16(p[12+2*k:]):] }
	inner := page(2)
	for leaf := page(be.Uint32(at(inner, 0))); leaf[0] == innerTable; leaf = page(be.Uint32(at(inner, 0))) {
		inner = leaf
	}
	if be.Uint16(inner[3:]) < 30 {
		t.Fatalf("an inner page of %d cells", be.Uint16(inner[3:]))
	}
	be.PutUint32(at(inner, 10), be.Uint32(at(inner, 16))) // the first leaf of the second part
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openWith(nil, name); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
}

// TestDeclaredTypes are taken over without a look at the values, which are checked later.
func TestDeclaredTypes(t *testing.T) {
	name := made(t, "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, x FLOAT NOT NULL, n INT, s TEXT, b BLOB, any)", "INSERT INTO t VALUES (1, 2.5, NULL, 'a', x'00', 3), (2, 3, 4, NULL, NULL, 4.5)")
	src, err := openWith(format.Options{optTypes: "types=declared"}, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var have []string
	for _, f := range src.Schema() {
		have = append(have, fmt.Sprint(f.Name, " ", f.DType, " ", f.Media, f.Nullable))
	}
	if want := "id i64 false, x f64 false, n i64 true, s u8 txttrue, b u8 bintrue, any f64 false"; strings.Join(have, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(have, ", "), want)
	}
	if got := texts(t, src, 1<<20); got["n"][1] != "4" || got["n"][0] != "<nil>" || got["any"][0] != "f:"+floatHex(3) {
		t.Errorf("%v", got)
	}
	name = made(t, "b.db", "CREATE TABLE t(n INT)", "INSERT INTO t VALUES (1), ('x')")
	if src, err = openWith(format.Options{optTypes: "types=declared"}, name); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	_, err = readertest.Walk(func(context.Context) (shardify.Source, error) { return src, nil }, 1<<20, nil)
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "text in a column of type i64") || !strings.Contains(err.Error(), "sample 1") {
		t.Error(err)
	}
}

// TestTextsAsBytes: what is not UTF-8 is named with its cure, which is one.
func TestTextsAsBytes(t *testing.T) {
	name := made(t, "a.db", "CREATE TABLE t(s)", "INSERT INTO t VALUES ('a'), (CAST(x'ff41' AS TEXT)), (x'00')")
	if _, err := openWith(nil, name); err == nil || !strings.Contains(err.Error(), "text in row 0 and a blob in row 2") {
		t.Error(err)
	}
	src, err := openWith(format.Options{optText: "bytes"}, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := texts(t, src, 1<<20)["s"]; fmt.Sprint(got) != "[b:61 b:ff41 b:00]" {
		t.Error(got)
	}
}

// TestColumnsThatWereAdded: rows that are older than a column have its default.
func TestColumnsThatWereAdded(t *testing.T) {
	name := made(t, "a.db", "PRAGMA encoding = 'UTF-16le'", "CREATE TABLE r(k)", "INSERT INTO r VALUES (1), (2)", "ALTER TABLE r ADD COLUMN x FLOAT DEFAULT 2", "ALTER TABLE r ADD COLUMN s TEXT DEFAULT 'none'", "ALTER TABLE r ADD COLUMN e",
		"INSERT INTO r VALUES (3, 4.5, 'x', 7)", "CREATE TABLE w(k INT PRIMARY KEY, v) WITHOUT ROWID", "INSERT INTO w VALUES (2, 1), (1, 2)", "ALTER TABLE w ADD COLUMN n INT DEFAULT 9")
	for _, types := range []string{"types=found", "types=declared"} {
		checkAdded(t, name, types)
	}
}

func checkAdded(t *testing.T, name, types string) {
	for object, want := range map[string]string{
		"r": "[1 2 3] [f:0x1.0000000000000p+1 f:0x1.0000000000000p+1 f:0x1.2000000000000p+2] [t:none t:none t:x] [<nil> <nil> 7]",
		"w": "[1 2] [] [] []",
	} {
		src, err := openWith(format.Options{optObject: object, optTypes: types}, name)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		got := texts(t, src, 1<<20)
		if text := fmt.Sprint(got["k"], got["x"], got["s"], got["e"]); text != want {
			t.Errorf("%s, %s: %s, want %s", object, types, text, want)
		}
		if object == "w" && fmt.Sprint(got["n"], got["v"]) != "[9 9] [2 1]" {
			t.Errorf("%v", got)
		}
	}
}

// TestAColumnThatIsInTheKeyTwice has two places in a row, and is read from the first.
func TestAColumnThatIsInTheKeyTwice(t *testing.T) {
	name := made(t, "a.db", "CREATE TABLE t(x INT, a TEXT, y INT, PRIMARY KEY(a, a COLLATE NOCASE)) WITHOUT ROWID", "INSERT INTO t VALUES (1, 'p', 10), (2, 'q', 20)", "ALTER TABLE t ADD COLUMN z INT DEFAULT 7")
	src, err := openWith(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := texts(t, src, 1<<20); fmt.Sprint(got["x"], got["a"], got["y"], got["z"]) != "[1 2] [t:p t:q] [10 20] [7 7]" {
		t.Errorf("%v", got)
	}
}

// TestPagesWithFewerCells are refused, leaves and inner ones, in trees whose rows were changed and
// removed, which are read as they are.
func TestPagesWithFewerCells(t *testing.T) {
	for what, first := range map[string][]string{
		"small":         {"PRAGMA page_size = 512"},
		"large":         {"PRAGMA page_size = 65536"},
		"auto vacuum":   {"PRAGMA page_size = 1024", "PRAGMA auto_vacuum = full"},
		"zeros":         {"PRAGMA page_size = 1024", "PRAGMA secure_delete = on"},
		"one at a time": {"PRAGMA page_size = 4096"},
	} {
		if race.On && testing.Short() && what != "auto vacuum" {
			continue
		}
		statements := append(first, "CREATE TABLE a(k INT, n, s)", "CREATE TABLE b(n, s, k INT, PRIMARY KEY(k, n)) WITHOUT ROWID", "CREATE TABLE c(z)", "CREATE TABLE d(z INT PRIMARY KEY) WITHOUT ROWID",
			fmt.Sprintf(count, 3000, "a", "i * 7919 % 15001, i, CASE i % 97 WHEN 0 THEN hex(zeroblob(i)) WHEN 1 THEN NULL ELSE printf('%.*c', i % 41, 'x') END"),
			"INSERT INTO b SELECT n, s, k FROM a", "INSERT INTO c SELECT n % 2 FROM a", "INSERT INTO d VALUES (0), (1)")
		for i := range 12 {
			for _, table := range []string{"a", "b"} {
				statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE n * %d %% 31 < 4", table, 2*i+1),
					fmt.Sprintf("UPDATE %s SET s = printf('%%.*c', n * %d %% 67, 'y') WHERE n %% 13 = %d", table, i+3, i),
					fmt.Sprintf("INSERT INTO %s(k, n, s) SELECT k + 20000, n + %d, 'more' FROM a WHERE n %% 17 = %d", table, 20000*(i+1), i))
			}
			statements = append(statements, fmt.Sprintf("DELETE FROM c WHERE rowid %% 13 = %d", i))
		}
		name := made(t, "a.db", statements...)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		size := int(be.Uint16(b[16:]))
		if size == 1 {
			size = 65536
		}
		for _, object := range []string{"a", "b", "c", "d"} {
			options := format.Options{optObject: object}
			src, err := openWith(options, name)
			if err != nil {
				t.Fatalf("%s, %s: %v", what, object, err)
			}
			src.Close()
			pages := pagesOf(t, name, object)
			for k := 0; k < len(pages); k += 1 + len(pages)/40 {
				p := b[(int(pages[k])-1)*size:]
				cells := be.Uint16(p[3:])
				be.PutUint16(p[3:], cells-1)
				if err := os.WriteFile(name, b, 0o666); err != nil {
					t.Fatal(err)
				}
				if _, err := openWith(options, name); !errors.Is(err, shardify.ErrCorrupt) {
					t.Errorf("%s, %s: page %d of kind %d with %d cells of %d: %v", what, object, pages[k], p[0], cells-1, cells, err)
				}
				be.PutUint16(p[3:], cells)
			}
			t.Logf("%s, %s: %d pages", what, object, len(pages))
		}
	}
}

// TestASchemaWithFewerTables is refused: the one that is left is not taken for the only one.
func TestASchemaWithFewerTables(t *testing.T) {
	name := made(t, "a.db", "CREATE TABLE a(x)", "CREATE TABLE b(x)", "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1), (2)")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	be.PutUint16(b[headerBytes+3:], 1)
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openWith(nil, name); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "quick_check") {
		t.Error(err)
	}
}

// TestAKeyWithoutItsIndexIsDamage, as integrity_check of SQLite says: here the rowid's other name
// is one byte away from a key of its own, whose values are not in the rows.
func TestAKeyWithoutItsIndexIsDamage(t *testing.T) {
	race.Sequential(t)
	keys := []string{"CREATE TABLE a(id integer primary key, x)", "CREATE TABLE b(k UNIQUE, x JNIQUE, PRIMARY KEY(k, x))", "CREATE TABLE c(k TEXT PRIMARY KEY, x JNIQUE) WITHOUT ROWID",
		"INSERT INTO a VALUES (7, 1)", "INSERT INTO b VALUES (7, 1)", "INSERT INTO c VALUES (7, 1)"}
	open := func(name, object string) error {
		src, err := openWith(format.Options{optObject: object}, name)
		if err == nil {
			src.Close()
		}
		return err
	}
	for object, damage := range map[string][2]string{
		"a": {"id integer", "id\xa0integer"}, "b": {"x JNIQUE, P", "x UNIQUE, P"}, "c": {"x JNIQUE)", "x UNIQUE)"},
	} {
		name := made(t, "a.db", keys...)
		if err := open(name, object); err != nil {
			t.Errorf("%s, whole: %v", object, err)
		}
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, bytes.Replace(b, []byte(damage[0]), []byte(damage[1]), 1), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := open(name, object); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s, damaged: %v", object, err)
		}
	}
}

// pagesOf are the pages of a table with cells.
func pagesOf(t *testing.T, name, object string) (all []uint32) {
	t.Helper()
	d, err := openDatabase(context.Background(), local.Files, name, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tab, err := d.table(object)
	if err != nil {
		t.Fatal(err)
	}
	tr := d.tree(tab.root, tab.index)
	tr.met = make([]atomic.Uint32, tr.pages/32+1)
	parts, err := tr.parts()
	for i := 0; err == nil && i < len(parts); i++ {
		c := &cursor{tree: tr}
		err = c.seek(parts[i].path, parts[i].leaves)
		for more := err == nil; more && err == nil; {
			more, err = c.next()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := range tr.pages + 1 {
		if tr.met[n/32].Load()&(1<<(n%32)) != 0 {
			all = append(all, n)
		}
	}
	return all
}

// TestSizesThatAreClaimed: those of values do not overflow, and those of rows take no memory.
func TestSizesThatAreClaimed(t *testing.T) {
	row := func(head ...byte) []byte { // a cell of a leaf, with numbers behind the head
		head = append([]byte{byte(len(head) + 1)}, head...)
		return append([]byte{byte(len(head) + 16), 1}, append(head, make([]byte, 16)...)...)
	}
	for what, cell := range map[string][]byte{
		"a value of type":         row(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 6, 6),
		"a row of 4294967296 byt": append([]byte{0x90, 0x80, 0x80, 0x80, 0, 1}, make([]byte, 500)...),
		"end early":               append([]byte{0x87, 0xff, 0xff, 0xff, 0x70, 1}, make([]byte, 500)...),
	} {
		name := made(t, "a.db", "PRAGMA page_size = 1024", "CREATE TABLE t(a, b, c)", "INSERT INTO t VALUES (1, 2, 3)")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page := b[1024:2048]
		at := 1024 - 512
		copy(page[at:], cell)
		be.PutUint16(page[8:], uint16(at))
		be.PutUint16(page[5:], uint16(at))
		k, n := varint(cell)
		claimed := int64(k)
		tr := &tree{size: 1024, usable: 1024, index: false}
		end := at + n + 1 + tr.local(claimed)
		if int64(tr.local(claimed)) < claimed && end+4 <= 1024 {
			be.PutUint32(page[end:], 3)
			end += 4
		}
		if end+4 <= 1024 { // the rest is free
			be.PutUint16(page[1:], uint16(end))
			be.PutUint32(page[end:], uint32(1024-end))
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 8<<30); err != nil { // a hole
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = openWith(nil, name)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), what) {
			t.Errorf("%s: %v", what, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes of memory", what, n)
		}
	}
}

// TestNaNIsNull as SQLite has it, which never writes one: in the bytes of another writer.
func TestNaNIsNull(t *testing.T) {
	const mark = 12345.671875
	name := made(t, "n.db", "CREATE TABLE a(x REAL, y, z)", "INSERT INTO a VALUES (1.5, 2.5, 3), (12345.671875, 12345.671875, 12345.671875), (-2.5, 1.5, 4)")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var old, nan [8]byte
	binary.BigEndian.PutUint64(old[:], math.Float64bits(mark))
	for _, bits := range []uint64{0x7ff8 << 48, 0xfff0<<48 | 1, 0x7ff0 << 48} {
		binary.BigEndian.PutUint64(nan[:], bits)
		if err := os.WriteFile(name, bytes.ReplaceAll(b, old[:], nan[:]), 0o666); err != nil {
			t.Fatal(err)
		}
		src, err := openWith(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		want := "[f:0x1.8000000000000p+0 <nil> f:-0x1.4000000000000p+1] [3 <nil> 4]"
		if bits == 0x7ff0<<48 {
			want = "[f:0x1.8000000000000p+0 f:inf f:-0x1.4000000000000p+1] [f:0x1.8000000000000p+1 f:inf f:0x1.0000000000000p+2]"
		}
		if x := texts(t, src, 1000); fmt.Sprint(x["x"], " ", x["z"]) != want || fmt.Sprint(x["y"][1]) != x["x"][1] {
			t.Errorf("%x: %v, want %s", bits, x, want)
		}
		src.Close()
	}
}

// TestAViewWithoutEnd is an error after a while, with rows and without.
func TestAViewWithoutEnd(t *testing.T) {
	defer func(old time.Duration) { viewTime = old }(viewTime)
	viewTime = 200 * time.Millisecond
	const endless = "CREATE VIEW v AS WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k) SELECT %s AS i FROM k"
	for _, what := range []string{"i", "sum(i)"} {
		name := made(t, "v.db", fmt.Sprintf(endless, what))
		if _, err := openWith(format.Options{optObject: "v"}, name); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "view v has no end after 200ms") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
