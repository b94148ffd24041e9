package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// random is a table with a column of every type. long: it has several pieces.
func random(seed uint64, rows int) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	b.WriteString("id,x,flag,big,\"na\"\"me\",hole\n")
	for i := range rows {
		name := []string{"plain", `"a, b"`, `"two
lines"`, `"say ""hi"""`, "", "ünï", strings.Repeat("long ", rng.IntN(20))}[rng.IntN(7)]
		hole := ""
		if rng.IntN(3) > 0 {
			hole = fmt.Sprint(rng.IntN(100) - 50)
		}
		fmt.Fprintf(&b, "%d,%v,%v,%d,%s,%s\n", rng.Int64()-rng.Int64(), rng.NormFloat64(), rng.IntN(2) == 0, uint64(i)<<60|1<<63, name, hole)
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	wide := "a,b,c\n1,2,3\n4,5.5,6\n" + strings.Repeat("7,,9\n", 200)
	for _, c := range []struct {
		name    string
		files   []string
		setting string
	}{
		{"plain", []string{readertest.Put(t, "a.csv", random(1, 300)), readertest.Put(t, "b.csv", "id,x,flag,big,\"na\"\"me\",hole\n"), readertest.Put(t, "c.csv", random(2, 120))}, ""},
		{"packed", []string{readertest.Put(t, "a.csv.gz", readertest.Gzip(random(1, 300))), readertest.Put(t, "c.csv.zst", readertest.Zstd(random(2, 150))), readertest.Put(t, "d.csv", random(3, 70))}, ""},
		{"several pieces", []string{readertest.Put(t, "a.csv", random(1, 16000)), readertest.Put(t, "b.csv.gz", readertest.Gzip(random(2, 15000)))}, ""},
		{"types given", []string{readertest.Put(t, "a.csv", random(1, 300)), readertest.Put(t, "b.csv", random(5, 200))}, `types=id:i64,x:f32,flag:bool,big:u64,hole:i8?,*:text`},
		{"wide", []string{readertest.Put(t, "a.csv", wide), readertest.Put(t, "b.csv", wide)}, "wide=v"},
		{"utf16", []string{readertest.Put(t, "a.csv", "\xff\xfea\x00,\x00b\x00\n\x00"+strings.Repeat("1\x00,\x00x\x00\n\x00", 200))}, "encoding=utf16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := &format.Table{Roots: c.files}
			for i := range c.files {
				table.Append(i, "", format.SizeUnknown, 0)
			}
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state, Options: format.Options{optCSV: c.setting}, Jobs: 3})
			})
		})
	}
}

// TestTheNumberOfGoroutinesChangesNothing compares states.
func TestTheNumberOfGoroutinesChangesNothing(t *testing.T) {
	files := []string{readertest.Put(t, "a.csv", random(1, 60000)), readertest.Put(t, "b.csv.gz", readertest.Gzip(random(2, 3000)))}
	var first []byte
	for _, jobs := range []int{1, 2, 5} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		state, err := src.(format.Stater).State()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = state
		}
		if !bytes.Equal(first, state) {
			t.Errorf("%d goroutines: another state", jobs)
		}
	}
}

// TestDamage names lines, and is an error of its kind.
func TestDamage(t *testing.T) {
	race.Sequential(t)
	long := strings.Repeat("1,2\n", 400000)
	for i, c := range []struct {
		name, data, setting, want string
		kind                      error
	}{
		{"a.csv", "a\n" + strings.Repeat("x", maxTest) + "\n", "", "line 2 or a quoted cell behind it has no end within 64", shardify.ErrCorrupt},
		{"a.csv", "a\nb\"\n\"" + strings.Repeat("x", maxTest) + "\n", "", "line 3: a quote is never closed", shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,2\n3\n", "", "line 3 has 1 of 2 columns", shardify.ErrCorrupt},
		{"a.csv", "a,b\n" + long + "1,2,3\n", "", "line 400002 has 3 of 2 columns", shardify.ErrCorrupt},
		{"a.csv", "a,b\n" + long + "1,\"2\n" + long, "", "line 400002: a quote is never closed", shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,\"2\"3\n", "", "line 2: text behind the quote", shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,2\rx\n", "", "line 2: a carriage return", shardify.ErrCorrupt},
		{"a.csv", "a,b\n" + long + "1,\x00\n", "", "line 400002: a zero byte", shardify.ErrCorrupt},
		{"a.csv", "a,b\n" + long + "1,\xff\n", "", "line 400002 is not UTF-8", shardify.ErrUnsupported},
		{"a.csv", "", "", "empty file", shardify.ErrCorrupt},
		{"a.csv", "a,b,a\n1,2,3\n", "", "two columns", shardify.ErrSchema},
		{"a.csv.gz", readertest.Gzip("a,b\n1,2\n")[:20], "", "gzip", shardify.ErrCorrupt},
		{"a.csv.zst", readertest.Zstd("a,b\n1,2\n")[:14], "", "unexpected end", shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,x\n", "types=*:f64", `field b sample 0 at byte 6: "x" is not a value of type f64`, shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,\n", "types=*:f64", `types=b:f64? lets cells be empty`, shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,300\n", "types=*:u8", `"300" is not a value of type u8`, shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,2\n3,4,5\n", "types=*:i64", "2 columns", shardify.ErrCorrupt},
		{"a.csv", "a,b\n1,2\n", "sep=;", "seems to be separated by ','", shardify.ErrUsage},
		{"a.csv", "a,b\n1,2\n", "sop=;", "is not a setting", shardify.ErrUsage},
		{"a.csv", "a,b\n1,2\n", "decimal=,", "one character for two things", shardify.ErrUsage},
	} {
		if i < 2 && os.Getenv("SHARDIFY_LONG") == "" {
			continue
		}
		src, err := openFiles(c.setting, readertest.Put(t, c.name, c.data))
		if err == nil {
			_, err = readertest.Walk(func(context.Context) (shardify.Source, error) { return src, nil }, 1<<20, nil)
		}
		if err == nil || !errors.Is(err, c.kind) || !strings.Contains(strings.ReplaceAll(err.Error(), "a.csv b", "field b"), c.want) {
			t.Errorf("%.40q %s: %v, want %q (%v)", c.data, c.setting, err, c.want, c.kind)
		}
	}
}

const maxTest = 70 << 20

// TestAQuotedCellLiesOverTheEndOfAPiece: line feeds in quotes end no record, wherever a piece
// would end.
func TestAQuotedCellLiesOverTheEndOfAPiece(t *testing.T) {
	long := strings.Repeat("x\n", 1<<19)
	src, err := openFiles("", readertest.Put(t, "a.csv", "a,b\n1,\""+long+"\"\"\n\"\n2,y\n"+strings.Repeat("3,z\n", 1<<18)))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got := values(t, src, 1<<40)
	if len(got["a"]) != 2+(1<<18) || got["b"][0] != long+"\"\n" || got["b"][1] != "y" || got["a"][1] != int64(2) {
		t.Errorf("%d rows", len(got["a"]))
	}
}

// TestWhatDoesNotJoinIsText: bools among numbers, and whole numbers that no type has all of.
func TestWhatDoesNotJoinIsText(t *testing.T) {
	src, err := openFiles("", readertest.Put(t, "a.csv", "a,b,c\ntrue,-1,1\n1,18446744073709551615,1e3\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for i, want := range []string{"txt", "txt", "f64"} {
		if f := src.Schema()[i]; typeOf(&f) != want {
			t.Errorf("%s is %s, want %s", f.Name, typeOf(&f), want)
		}
	}
}

// TestAnEmptyEntryOfNA makes empty texts missing, and their column one that has missing values.
func TestAnEmptyEntryOfNA(t *testing.T) {
	for _, setting := range []string{"na=|NA", "na=NA|"} {
		src, err := openFiles(strings.ReplaceAll(setting, "|", ","), readertest.Put(t, "a.csv", "a,b\n1,x\n2,\n3,y\n"))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if got := values(t, src, 1<<40); !src.Schema()[1].Nullable || len(got["b"]) != 3 || got["b"][0] != "x" || got["b"][2] != "y" {
			t.Errorf("%s: %v", setting, got["b"])
		}
	}
}
