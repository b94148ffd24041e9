package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestIntegersAmongFloatsAreNotRounded: the row of an integer that f64 may not hold is named, and
// every setting that the refusal names reads the table.
func TestIntegersAmongFloatsAreNotRounded(t *testing.T) {
	const many = "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 20000) INSERT INTO t SELECT CASE i WHEN 15000 THEN 9007199254740993 WHEN 12000 THEN 0.5 ELSE i END, 'a' FROM k"
	for _, c := range []struct {
		name    string
		made    []string
		object  string
		setting string
		wrong   string
		want    string // of the first setting
	}{
		{"named", []string{"CREATE TABLE t(x, s)", "INSERT INTO t VALUES (1, 'a'), (-9007199254740993, 'b'), (2.5, 'c')"}, "", "", "column x has -9007199254740993 in row 1, a whole number beyond 2^53 that f64 may not hold, and 2.5 in row 2", "[1 -9007199254740993 2.5]"},
		{"the rowid's kin", []string{"CREATE TABLE t(x, s)", "INSERT INTO t VALUES (9007199254740993, 'a'), (1.0, 'b')"}, "", "types=declared", "9007199254740993 in row 0", "[9007199254740993 1.0]"},
		{"far", []string{"CREATE TABLE t(x, s)", many}, "", "", "9007199254740993 in row 15000, a whole number beyond 2^53 that f64 may not hold, and 0.5 in row 12000", ""},
		{"a view", []string{"CREATE TABLE t(x, s)", many, "CREATE VIEW v AS SELECT x FROM t"}, "v", "", "9007199254740993 in row 15000", ""},
		{"a default", []string{"CREATE TABLE t(s)", "INSERT INTO t VALUES ('a')", "ALTER TABLE t ADD COLUMN x DEFAULT 9007199254740993", "INSERT INTO t VALUES ('b', 0.25)"}, "", "", "9007199254740993 in row 0", "[9007199254740993 0.25]"},
		{"text among integers", []string{"CREATE TABLE t(x, s)", "INSERT INTO t VALUES (7, 'a'), ('b', 'b'), (1e300, 'c'), (NULL, '')"}, "", "", "an integer in row 0 and text in row 1", "[7 b 1e+300 <nil>]"},
		{"exact", []string{"CREATE TABLE t(x, s)", "INSERT INTO t VALUES (9007199254740992, 'a'), (0.5, 'b')"}, "", "", "", ""},
		{"a column of REAL", []string{"CREATE TABLE t(x REAL)", "INSERT INTO t VALUES (9007199254740993), (0.5)"}, "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := made(t, "a.db", c.made...)
			open := func(setting string) (shardify.Source, error) {
				o := format.Options{optObject: c.object}
				if setting != "" {
					o[optTypes] = setting
				}
				return openWith(o, name)
			}
			readertest.Offered(t, optTypes, c.setting, c.wrong, open, func(i int, src shardify.Source) {
				got := strings.ReplaceAll(fmt.Sprint(texts(t, src, 1<<10)["x"]), "t:", "")
				if i == 0 && c.want != "" && got != c.want {
					t.Errorf("%v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestTypesThatHaveNoEffectAreRefused: a setting that changes nothing is an error.
func TestTypesThatHaveNoEffectAreRefused(t *testing.T) {
	name := made(t, "a.db", "CREATE TABLE t(x, s, b BLOB)", "INSERT INTO t VALUES (1, 'a', x'00')")
	for setting, want := range map[string]string{
		"types=no:text": `no column "no"; there is x, s, b`, "types=s:f64": "s holds text in row 0, which f64 does not hold", "types=b:text": "b holds a blob in row 0",
		"x:f64": "want types=", "types=x:i32": "want text or f64",
	} {
		if _, err := openWith(format.Options{optTypes: setting}, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
}
