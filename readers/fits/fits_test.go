package fits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(o format.Options, columns []string, names ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(names...), Options: o, Columns: columns, Jobs: 2})
}

func load(t testing.TB, o format.Options, columns []string, names ...string) *readertest.Columns {
	t.Helper()
	src, err := openFiles(o, columns, names...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c, err := readertest.Load(src, 100)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func data(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		o     format.Options
		names []string
	}{
		{nil, []string{"table_types.fits", "table_types.fits"}},
		{nil, []string{"table_lists.fits"}},
		{nil, []string{"ascii_table.fits", "ascii_table.fits"}},
		{nil, []string{"multi_hdu.fits", "multi_hdu.fits"}},
		{format.Options{"sample": "section"}, []string{"cube.fits", "cube.fits"}},
		{format.Options{"sample": "file"}, []string{"tile_RICE_1_i2.fits"}},
		{nil, []string{"gz.fits.gz"}},
	} {
		var files []string
		for _, name := range c.names {
			files = append(files, readertest.Put(t, name, string(data(t, name))))
		}
		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
			return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, State: state, Options: c.o, Jobs: 2})
		})
	}
}

// TestSectionsOfImages: sections are cut from cubes, and rows of an image are no samples.
func TestSectionsOfImages(t *testing.T) {
	if c := load(t, format.Options{"sample": "section"}, nil, "testdata/cube.fits"); len(c.ByName["image"].Shape) != 2 {
		t.Errorf("sections of %v", c.ByName["image"].Shape)
	}
	src, err := openFiles(format.Options{"sample": "section"}, nil, "testdata/tile_RICE_1_i2.fits")
	if err == nil {
		src.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "2 axes") || !strings.Contains(err.Error(), "--sample file") {
		t.Errorf("an image: %v", err)
	}
}

func TestTable(t *testing.T) {
	c := load(t, nil, nil, "testdata/table_types.fits")
	if got := fmt.Sprint(c.Samples, c.Order); got != "7 [flag bits b i j k s e d c m v3 mat names]" {
		t.Errorf("%s", got)
	}
	i := c.ByName["i"]
	if got := fmt.Sprint(shardify.View[int16](i.Data), i.Valid); got != "[-3 -2 -1 0 1 2 3] [0 1 1 1 1 1 1]" { // TNULL is -3
		t.Errorf("i: %s", got)
	}
	if u := c.ByName["d"].Attrs["unit"]; u != "keV" {
		t.Errorf("the unit of d is %q", u)
	}
	names := c.ByName["names"]
	if got := fmt.Sprint(len(names.Offsets), names.Offsets[0]); got != "2 [0 3 6 9 12 15 18 21]" {
		t.Errorf("names: %s", got)
	}
	lists := load(t, nil, nil, "testdata/table_lists.fits").ByName["hits"]
	if got := fmt.Sprint(lists.Offsets[0], shardify.View[int32](lists.Data)); got != "[0 3 3 4 8 10] [0 1 2 2 3 4 5 6 4 5]" {
		t.Errorf("hits: %s", got)
	}
}

// TestPackedTable: a table packed by gzip has the same rows.
func TestPackedTable(t *testing.T) {
	name := readertest.Put(t, "a.fits.gz", readertest.Gzip(string(data(t, "table_lists.fits"))))
	a, b := load(t, nil, nil, name), load(t, nil, nil, "testdata/table_lists.fits")
	for f, x := range b.ByName {
		if !slices.Equal(a.ByName[f].Data, x.Data) {
			t.Errorf("%s differs", f)
		}
	}
}

func TestImages(t *testing.T) {
	whole := load(t, nil, nil, "testdata/cube.fits").ByName["image"]
	parts := load(t, format.Options{"sample": "section"}, nil, "testdata/cube.fits")
	if parts.Samples != 3 || !slices.Equal(parts.ByName["image"].Data, whole.Data) || !slices.Equal(parts.ByName["image"].Shape, []int{6, 5}) {
		t.Errorf("%d sections of %v", parts.Samples, parts.ByName["image"].Shape)
	}
	raw := load(t, format.Options{"scaled": "no"}, nil, "testdata/scaled_i16_blank.fits")
	scaled := load(t, nil, nil, "testdata/scaled_i16_blank.fits").ByName["image"]
	plain := load(t, format.Options{"scaled": "no"}, nil, "testdata/cube.fits")
	if s, z := shardify.View[float64](plain.ByName["image.slope"].Data), shardify.View[float64](plain.ByName["image.inter"].Data); s[0] != 1 || z[0] != 0 {
		t.Errorf("without BSCALE: slope %v, inter %v", s, z)
	}
	slope, inter := shardify.View[float64](raw.ByName["image.slope"].Data)[0], shardify.View[float64](raw.ByName["image.inter"].Data)[0]
	blanks := 0
	for i, v := range shardify.View[int16](raw.ByName["image"].Data) {
		got := shardify.View[float32](scaled.Data)[i]
		if math.IsNaN(float64(got)) {
			blanks++
		} else if want := float32(float32(v)*float32(slope)) + float32(inter); got != want {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
	if blanks == 0 || blanks == len(scaled.Data)/4 {
		t.Errorf("%d blanks", blanks)
	}
	both := load(t, nil, []string{"sci", "EXTNAME"}, "testdata/multi_hdu.fits")
	if got := fmt.Sprint(both.Order, string(both.ByName["EXTNAME"].Data)); got != "[sci EXTNAME]SCI" {
		t.Errorf("%s", got)
	}
	if helped := load(t, nil, []string{"!EXTNAME", "!!EXTNAME"}, "testdata/multi_hdu.fits"); string(helped.ByName["EXTNAME"].Data) != "SCI" {
		t.Errorf("a keyword that is left out, and that decides which samples there are: %v", helped.Order)
	}
}

// TestChoice: several kinds of HDUs are the user's choice, by number and by name.
func TestChoice(t *testing.T) {
	b := append(data(t, "cube.fits"), data(t, "table_types.fits")[2880:]...)
	name := readertest.Put(t, "both.fits", string(b))
	_, err := openFiles(nil, nil, name)
	if d := (*format.Ambiguous)(nil); !errors.As(err, &d) || len(d.Ways) != 2 {
		t.Fatalf("%v", err)
	}
	if c := load(t, format.Options{"object": "tab"}, nil, name); c.Samples != 7 {
		t.Errorf("%d rows", c.Samples)
	}
	if c := load(t, format.Options{"object": "0"}, nil, name); c.Samples != 1 || c.Order[0] != "image" {
		t.Errorf("%d samples of %v", c.Samples, c.Order)
	}
	for _, o := range []format.Options{{"object": "nothing"}, {"object": "0,1"}, {"object": "1", "sample": "section"}, {"object": "1", "keys": "name"}} {
		if _, err := openFiles(o, nil, name); err == nil {
			t.Errorf("%v: no error", o)
		}
	}
}

// TestChecksums: a flipped bit is damage, unless the user says otherwise.
func TestChecksums(t *testing.T) {
	b := data(t, "multi_hdu.fits")
	b[5760+17] ^= 4 // data of the first extension
	name := readertest.Put(t, "a.fits", string(b))
	for _, sums := range []string{"on", "off"} {
		src, err := openFiles(format.Options{"checksums": sums}, nil, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = readertest.Load(src, 100); (err != nil) != (sums == "on") || sums == "on" && (!errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "DATASUM")) {
			t.Errorf("--checksums %s: %v", sums, err)
		}
		src.Close()
	}
}

func TestMutants(t *testing.T) {
	race.Sequential(t)
	names := []string{"table_types.fits", "table_lists.fits", "ascii_table.fits", "cube.fits", "tile_RICE_1_i2.fits", "scaled_i16_blank.fits"}
	m := readertest.Mutants{Format: "fits", Quick: 300, Seeds: len(names),
		Kind: func(err error) bool {
			return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
		},
		Make: func(rng *rand.Rand) readertest.Mutant {
			b := slices.Clone(data(t, names[rng.IntN(len(names))]))
			at := rng.IntN(len(b) - 8)
			switch rng.IntN(8) {
			case 0:
				b = b[:at]
			case 1: // a digit of a header
				for at > 0 && (b[at] < '0' || b[at] > '9') {
					at--
				}
				b[at] = byte('0' + rng.IntN(10))
			case 2:
				copy(b[at&^3:], []byte{0x7f, 0xff, 0xff, 0xff})
			default:
				b[2880+rng.IntN(len(b)-2880)] ^= 1 << rng.IntN(8)
			}
			return readertest.Mutant{Seed: "seed.fits", Data: b, Read: func(name string) (readertest.Walked, error) {
				return readertest.Walk(func(ctx context.Context) (shardify.Source, error) { return openFiles(nil, nil, name) }, 4096, nil)
			}}
		}}
	m.Run(t)
}

// TestLabels: rows of a table go to the images that they name; a table has no labels.
func TestLabels(t *testing.T) {
	b := data(t, "scaled_i16_blank.fits")
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a.fits", "b.fits", "c.fits"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	table := filepath.Join(dir, "labels.csv")
	if err := os.WriteFile(table, []byte("mag,file\n3,c.fits\n1,a.fits\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := load(t, format.Options{"labels": table, "key": "file", "missing": "drop"}, nil, files...)
	if got := fmt.Sprint(c.Samples, c.Order, shardify.View[int64](c.ByName["mag"].Data)); got != "2 [image mag] [1 3]" {
		t.Errorf("%s", got)
	}
	if _, err := openFiles(format.Options{"labels": table, "key": "file"}, nil, "testdata/table_types.fits"); err == nil {
		t.Error("labels of rows are taken")
	}
	if _, err := openFiles(format.Options{"key": "i"}, nil, "testdata/table_types.fits"); err == nil || !strings.Contains(err.Error(), "--join") {
		t.Errorf("--key of rows: %v", err)
	}
}

// TestRowsInThePadding: rows that the header does not count are not lost without a word.
func TestRowsInThePadding(t *testing.T) {
	b := slices.Clone(data(t, "table_types.fits"))
	for _, c := range []struct {
		rows byte
		note bool
	}{{'7', false}, {'6', true}} {
		b[3229] = c.rows
		src, err := openFiles(nil, nil, readertest.Put(t, "a.fits", string(b)))
		if err != nil {
			t.Fatal(err)
		}
		notes := fmt.Sprint(src.(format.Noter).Notes())
		if src.Close(); strings.Contains(notes, "bytes that are no zeros fill its last block") != c.note {
			t.Errorf("%c rows: %s", c.rows, notes)
		}
	}
}
