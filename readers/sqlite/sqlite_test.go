package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(object string, columns []string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, Options: format.Options{optObject: object}, Jobs: 2})
}

// made is a database that statements make.
func made(t testing.TB, name string, statements ...string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	c, err := sqlite.OpenConn(name, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range statements {
		stmt, _, err := c.PrepareTransient(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		for more := true; more; {
			if more, err = stmt.Step(); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		stmt.Finalize()
	}
	return name
}

const (
	pulses = "CREATE TABLE pulses(event_no, charge FLOAT, q REAL, n INT, s TEXT, b BLOB)"
	fill   = `WITH RECURSIVE k(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM k WHERE i < %d) INSERT INTO pulses(rowid, event_no, charge, q, n, s, b)
		SELECT i * %d, i / 7, i * 0.5, CASE i %% 3 WHEN 0 THEN NULL ELSE i END, CASE i %% 5 WHEN 0 THEN NULL ELSE -i END, printf('text %%d', i), zeroblob(i %% 4) FROM k`
	truth = "CREATE TABLE truth(k, v REAL, PRIMARY KEY(k)) WITHOUT ROWID"
	view  = "CREATE VIEW joined AS SELECT event_no, charge, v FROM pulses JOIN truth ON k = event_no ORDER BY pulses.rowid"
)

func small(t testing.TB, name string, step int) string {
	return made(t, name, pulses, fmt.Sprintf(fill, 1, 200, step), truth, "INSERT INTO truth SELECT DISTINCT event_no, event_no * 2 FROM pulses", view)
}

func TestConformance(t *testing.T) {
	a, b := small(t, "a.db", 1), small(t, "b.db", 50000)
	for name, object := range map[string]string{"table": "pulses", "without rowid": "truth", "view": "joined"} {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(a, b), Columns: columns, State: state, Options: format.Options{optObject: object}, Jobs: 3})
			})
		})
	}
}

// corpusCell is a value as the corpus writes it.
func corpusCell(c *shardify.Column, k int) any {
	switch {
	case c.Valid != nil && c.Valid[k] == 0:
		return nil
	case c.Media == "txt":
		return "t:" + string(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]])
	case c.Media == "bin":
		return "b:" + hex.EncodeToString(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]])
	case c.DType == shardify.F64:
		return "f:" + floatHex(shardify.View[float64](c.Data)[k])
	}
	return shardify.View[int64](c.Data)[k]
}

// floatHex is Python's float.hex.
func floatHex(v float64) string {
	s := strconv.FormatFloat(v, 'x', 13, 64)
	if at := strings.IndexByte(s, 'p'); at > 0 {
		e, _ := strconv.Atoi(s[at+1:])
		s = fmt.Sprintf("%sp%+d", s[:at], e)
	}
	s = strings.Replace(s, "0x0.0000000000000p+0", "0x0.0p+0", 1)
	return strings.Replace(s, "+Inf", "inf", 1)
}

// compact is a row as Python's json.dumps writes it.
func compact(row []any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(row)
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r >= 0x7f && r != 0x7f:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// TestCorpus reads every table of the corpus, and refuses what is to be refused.
func TestCorpus(t *testing.T) {
	race.Sequential(t)
	dir := corpus.Dir(t, "sqlite")
	names, _ := filepath.Glob(filepath.Join(dir, "*.db"))
	read, equal, refused := 0, 0, 0
	for _, name := range names {
		base := filepath.Base(name)
		b, err := os.ReadFile(name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Expect string
			Tables map[string]struct {
				Columns []struct{ Name, Decltype, Hidden string }
				Classes map[string][]string
				Rows    int
				Sum     string `json:"sha256_rows_json"`
			}
		}
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		if strings.HasPrefix(want.Expect, "refuse") {
			src, err := openFiles("", nil, name)
			if err == nil {
				_, err = readertest.Walk(func(context.Context) (shardify.Source, error) { return src, nil }, 1<<20, nil)
			}
			if err == nil || !isKind(err) {
				t.Errorf("%s: %v, want %s", base, err, want.Expect)
			}
			refused++
			continue
		}
		tables := 0
		for table, w := range want.Tables {
			if tables++; tables > 20 && os.Getenv("SHARDIFY_LONG") == "" || strings.HasPrefix(table, "ft_") || strings.HasPrefix(table, "rt_") { // of extensions
				continue
			}
			mixed := false
			for _, c := range w.Columns {
				n := 0
				for _, class := range w.Classes[c.Name] {
					if class != "NoneType" {
						n++
					}
				}
				mixed = mixed || n != 1 || c.Hidden == "virtual" || format.PlainName(c.Name) != c.Name
			}
			src, err := openFiles(table, nil, name)
			if err != nil {
				if !mixed && w.Rows > 0 && base != "text_bad_utf8.db" {
					t.Errorf("%s:%s: %v", base, table, err)
				}
				continue
			}
			read++
			if mixed || w.Rows == 0 || len(src.Schema()) != len(w.Columns) {
				src.Close()
				continue
			}
			var lines []string
			walked, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return src, nil }, 1<<20, func(b *shardify.Batch) {
				for k := range b.Samples {
					var row []any
					for i := range b.Columns {
						row = append(row, corpusCell(&b.Columns[i], k))
					}
					lines = append(lines, compact(row))
				}
			})
			if err != nil || !walked.Whole {
				if base != "text_bad_utf8.db" {
					t.Errorf("%s:%s: %v", base, table, err)
				}
				continue
			}
			sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
			if hex.EncodeToString(sum[:]) != w.Sum {
				t.Errorf("%s:%s: other rows, the first: %.200s", base, table, lines[0])
				continue
			}
			equal++
		}
	}
	t.Logf("%d databases: %d tables read, %d compared and equal, %d databases refused", len(names), read, equal, refused)
}

// TestLogsAndJournals: what SQLite would hide is refused with the cure, and nothing is written.
func TestLogsAndJournals(t *testing.T) {
	name := small(t, "a.db", 1)
	dir := filepath.Dir(name)
	for file, c := range map[string]struct {
		data string
		hint string
	}{
		"a.db-wal":     {strings.Repeat("x", 40), "wal_checkpoint"},
		"a.db-journal": {hotJournal + "rest", "quick_check"},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(c.data), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := openFiles("pulses", nil, name)
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), file) {
			t.Errorf("%s: %v", file, err)
		}
		os.WriteFile(filepath.Join(dir, file), nil, 0o666)
		src, err := openFiles("pulses", nil, name)
		if err != nil {
			t.Fatalf("empty %s: %v", file, err)
		}
		readertest.ReadAll(t, src, 1<<20)
		src.Close()
		os.Remove(filepath.Join(dir, file))
	}
	var files []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		files = append(files, filepath.Base(path))
		return err
	})
	if len(files) != 2 {
		t.Errorf("files beside the database: %v", files)
	}
}

// TestMixedColumnsAreNamed with both rows.
func TestMixedColumnsAreNamed(t *testing.T) {
	name := made(t, "m.db", "CREATE TABLE t(a, b)", "INSERT INTO t VALUES (1, 1), (2.5, 2), (3, 'x')")
	_, err := openFiles("", nil, name)
	if err == nil || !strings.Contains(err.Error(), "column b holds an integer in row 0 and text in row 2") {
		t.Error(err)
	}
	src, err := openFiles("", []string{"a"}, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if f := src.Schema()[0]; f.DType != shardify.F64 {
		t.Errorf("%+v", f)
	}
	if _, err := openFiles("none", nil, name); !errors.Is(err, shardify.ErrUsage) {
		t.Error(err)
	}
}

// TestAWriterIsNoticed: the number of changes is compared.
func TestAWriterIsNoticed(t *testing.T) {
	name := small(t, "a.db", 1)
	src, err := openFiles("pulses", nil, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spans := readertest.Spans(t, src, 1000)
	read := func(sp shardify.Span) error {
		mem := shardify.NewPool(1 << 30).Overdraft()
		defer mem.Release()
		_, err := r.Read(context.Background(), sp, mem)
		return err
	}
	if err := read(spans[0]); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.OpenConn(name, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	stmt, _, _ := c.PrepareTransient("UPDATE pulses SET charge = 1 WHERE rowid = 5")
	stmt.Step()
	stmt.Finalize()
	c.Close()
	if err := read(spans[1]); !errors.Is(err, shardify.ErrChanged) {
		t.Error(err)
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema) || errors.Is(err, shardify.ErrChanged)
}

func walk(name string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: format.Options{optObject: "pulses"}, Jobs: 1})
	}, 4<<10, nil)
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little memory, and
// errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	var seeds [][]byte
	for i, statements := range [][]string{
		{pulses, fmt.Sprintf(fill, 1, 200, 1), truth, "INSERT INTO truth SELECT DISTINCT event_no, event_no * 2 FROM pulses", view},
		{"PRAGMA page_size = 512", pulses, fmt.Sprintf(fill, 1, 60, 9), "UPDATE pulses SET s = hex(zeroblob(event_no * 90))", "ALTER TABLE pulses ADD COLUMN z TEXT DEFAULT 'z'"},
		{"PRAGMA page_size = 512", "PRAGMA encoding = 'UTF-16be'", "CREATE TABLE pulses(a, s TEXT, k INT, PRIMARY KEY(k, a)) WITHOUT ROWID", fmt.Sprintf(count, 90, "pulses", "i / 3, printf('text %d', i), i")},
	} {
		b, err := os.ReadFile(made(t, fmt.Sprintf("%d.db", i), statements...))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	m := readertest.Mutants{Format: "sqlite", Quick: 400, Seeds: len(seeds), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		b := bytes.Clone(seeds[rng.IntN(len(seeds))])
		page := int(be.Uint16(b[16:]))
		at := rng.IntN(len(b))
		if rng.IntN(4) == 0 {
			at = rng.IntN(len(b)/page)*page + rng.IntN(16)
		}
		switch rng.IntN(4) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2:
			k := rng.IntN(len(b))
			copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(16), len(b))]))
		case 3:
			if rng.IntN(8) == 0 {
				b = b[:at+1]
			}
		}
		return readertest.Mutant{Seed: "m.db", Data: b, Read: walk}
	}}
	m.Run(t)
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	b, err := os.ReadFile(made(f, "a.db", pulses, fmt.Sprintf(fill, 1, 5, 1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.db")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walk(name); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := readertest.TableOf(small(f, "a.db", 1))
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state, Options: format.Options{optObject: "pulses"}})
	})
}
