package mtx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

const (
	matrixText   = "%%MatrixMarket matrix coordinate integer general\n%metadata_json: {\"format\": 2}\n4 3 6\n1 1 5\n4 1 2\n2 3 7\n1 3 -1\n3 3 0\n4 3 9\n"
	barcodesText = "AAAC-1\nAAAG-1\nAAAT-1\n"
	featuresText = "ENSG1\tA\tGene Expression\nENSG2\tB\tGene Expression\nENSG3\tC\tGene Expression\nCD3\tCD3\tAntibody Capture\n"
)

// folder writes a folder, and names its matrix.
func folder(t testing.TB, prefix, ext string, matrix, barcodes, features string) string {
	dir := t.TempDir()
	names := "features.tsv"
	if ext == "" {
		names = "genes.tsv"
	}
	for name, text := range map[string]string{"matrix.mtx": matrix, "barcodes.tsv": barcodes, names: features} {
		if text == "-" {
			continue
		}
		b := []byte(text)
		if ext == ".gz" {
			b = readertest.Gzip(b)
		} else if ext == ".zst" {
			b = readertest.Zstd(b)
		}
		if err := os.WriteFile(filepath.Join(dir, prefix+name+ext), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, prefix+"matrix.mtx"+ext)
}

func read(path string, o format.Options) (*readertest.Columns, error) {
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(path), Options: o, Jobs: 2})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return readertest.Load(src, 30)
}

// TestBarcodesAreSamples: values in any order become rows of barcodes, one of which has none.
func TestBarcodesAreSamples(t *testing.T) {
	for _, ext := range []string{"", ".gz", ".zst"} {
		for _, prefix := range []string{"", "GSM1_"} {
			all, err := read(folder(t, prefix, ext, matrixText, barcodesText, featuresText), nil)
			if err != nil {
				t.Fatal(err)
			}
			data, indices := all.ByName["X/data"], all.ByName["X/indices"]
			if got := fmt.Sprint(all.Order, shardify.View[int64](data.Data), shardify.View[int32](indices.Data), data.Offsets[0]); got != "[X/data X/indices obs/_index] [5 2 7 -1 0 9] [0 3 1 0 2 3] [0 2 2 6]" {
				t.Errorf("%s%s: %s", prefix, ext, got)
			}
			if a := indices.Attrs; a["columns"] != "ENSG1\nENSG2\nENSG3\nCD3" || a["sparse_columns"] != "4" {
				t.Errorf("attributes %q", a)
			}
			if s := string(all.ByName["obs/_index"].Data); s != "AAAC-1AAAG-1AAAT-1" {
				t.Errorf("barcodes %q", s)
			}
		}
	}
	all, err := read(folder(t, "", "", strings.NewReplacer("integer", "real", "-1", "2.5e-1").Replace(matrixText), barcodesText, featuresText), format.Options{"genes": readertest.Put(t, "genes", "CD3\nENSG1\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(shardify.View[float64](all.ByName["X/data"].Data), shardify.View[int32](all.ByName["X/indices"].Data)); got != "[2 5 9 0.25] [0 1 0 1]" {
		t.Errorf("genes by name: %s", got)
	}
	all, err = read(folder(t, "", "", "%%MatrixMarket matrix coordinate pattern general\r\n\r\n4 3 2\r\n1 2\r\n4 2", barcodesText, featuresText), nil)
	if err != nil || fmt.Sprint(shardify.View[int64](all.ByName["X/data"].Data), all.ByName["X/data"].Offsets[0]) != "[1 1] [0 0 2 2]" {
		t.Errorf("a pattern: %v", err)
	}
}

func TestConformance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b, barcodes strings.Builder
	fmt.Fprint(&b, "%%MatrixMarket matrix coordinate real general\n4 90 2000\n")
	for range 2000 {
		fmt.Fprintln(&b, 1+rng.IntN(4), 1+rng.IntN(90), rng.Float32())
	}
	for i := range 90 {
		fmt.Fprintf(&barcodes, "cell%d\n", i)
	}
	p := folder(t, "", ".gz", b.String(), barcodes.String(), featuresText)
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(p, p), Columns: columns, State: state})
	})
}

// TestDamageIsNamed: what contradicts itself is an error with the file and the line.
func TestDamageIsNamed(t *testing.T) {
	for _, c := range []struct{ what, from, to, want string }{
		{"a row too high", "4 1 2", "5 1 2", "line 5: row 5 of 4"},
		{"a row of 0", "4 1 2", "0 1 2", "line 5: row 0 of 4"},
		{"a column too high", "4 1 2", "4 4 2", "line 5: column 4 of 3"},
		{"no number", "4 1 2", "4 1 2x", `line 5: the value "2x" is not i64`},
		{"a fraction", "4 1 2", "4 1 2.5", `line 5: the value "2.5" is not i64`},
		{"a short line", "4 1 2", "4", `line 5: a row, a column and a value are expected: "4"`},
		{"a value missing", "4 1 2\n", "", "5 values, its header says 6"},
		{"a value too many", "4 1 2\n", "4 1 2\n4 1 2\n", "line 10: more than the 6 values"},
		{"10^9 values", "4 3 6", "4 3 1000000000", "line 3: 1000000000 values in a file of"},
		{"2^62 values", "4 3 6", "4 3 4611686018427387904", "rows, columns and values are expected"},
		{"other barcodes", "4 3 6", "4 7 6", "3 lines, 7 columns in the matrix"},
		{"fewer barcodes", "4 3 6", "4 2 6", "2 columns in the matrix"},
		{"other features", "4 3 6", "9 3 6", "4 lines, 9 rows in the matrix"},
		{"no header", "%%MatrixMarket", "%MatrixMarket", "no header of Matrix Market"},
		{"nothing behind", matrixText[50:], "", "no line of three numbers"},
	} {
		p := folder(t, "", "", strings.Replace(matrixText, c.from, c.to, 1), barcodesText, featuresText)
		_, err := read(p, nil)
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "matrix.mtx") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	for _, c := range []struct{ matrix, barcodes, features, want string }{
		{strings.Replace(matrixText, "general", "symmetric", 1), barcodesText, featuresText, "coordinate integer symmetric"},
		{strings.Replace(matrixText, "coordinate", "array", 1), barcodesText, featuresText, "array integer general"},
		{matrixText, "-", featuresText, "neither barcodes.tsv nor the same with .gz or .zst is beside it"},
		{matrixText, barcodesText, "-", "neither features.tsv nor genes.tsv"},
		{matrixText, "AAAC-1\n\nAAAT-1\n", featuresText, "barcodes.tsv: line 2 of 3 is empty"},
		{matrixText, barcodesText, strings.Replace(featuresText, "\tB\tGene Expression", "", 1), "3 of 4 lines have a column 2"},
	} {
		if _, err := read(folder(t, "", "", c.matrix, c.barcodes, c.features), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
}

func clean(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

func walk(p string) (readertest.Walked, error) {
	return readertest.Walk(func(context.Context) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(p), Jobs: 1})
	}, 40, nil)
}

// FuzzMatrix reads any text as a matrix of three barcodes and four features.
func FuzzMatrix(f *testing.F) {
	race.Sequential(f)
	f.Add([]byte(matrixText))
	f.Add([]byte(strings.Replace(matrixText, "integer", "real", 1)))
	f.Add(readertest.Gzip([]byte(matrixText)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := walk(folder(t, "", "", string(b), barcodesText, featuresText)); err != nil && !clean(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside an intact folder.
func FuzzState(f *testing.F) {
	p := folder(f, "", "", matrixText, barcodesText, featuresText)
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(p), State: state})
	})
}

// TestMutants reads damaged matrices: each is refused, or has as many values as its header says.
func TestMutants(t *testing.T) {
	p := folder(t, "", "", matrixText, barcodesText, featuresText)
	m := readertest.Mutants{Format: "mtx", Quick: 300, Seeds: 1, Kind: clean, Make: func(rng *rand.Rand) readertest.Mutant {
		b := bytes.Clone([]byte(matrixText))
		for range 1 + rng.IntN(2) {
			switch at := rng.IntN(len(b)); rng.IntN(4) {
			case 0:
				b[at] ^= 1 << rng.IntN(8)
			case 1:
				b[at] = "0123456789 \n.e-"[rng.IntN(15)]
			case 2:
				b = append(b[:at], b[min(at+1+rng.IntN(8), len(b)):]...)
			case 3:
				b = append(b[:at:at], append([]byte(fmt.Sprint(rng.Uint32()>>rng.IntN(32))), b[at:]...)...)
			}
		}
		return readertest.Mutant{Seed: "matrix.mtx", Data: b, Read: func(name string) (readertest.Walked, error) {
			if err := os.WriteFile(p, b, 0o666); err != nil {
				return readertest.Walked{}, err
			}
			all, err := read(p, nil)
			if err == nil {
				said := int64(0)
				for line := range strings.Lines(string(b)) {
					if n, _ := fmt.Sscan(line, new(int64), new(int64), &said); n == 3 {
						break
					}
				}
				if n := int64(len(shardify.View[int32](all.ByName["X/indices"].Data))); n != said || all.Samples != 3 {
					t.Errorf("%d values of %d in %q", n, said, b)
				}
			}
			return walk(p)
		}}
	}}
	m.Run(t)
}
