package mat

import (
	"context"
	"encoding/binary"
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

func load(t testing.TB, o format.Options, names ...string) *readertest.Columns {
	t.Helper()
	src, err := openFiles(o, nil, names...)
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

func TestConformance(t *testing.T) {
	b, err := os.ReadFile("testdata/columns.mat")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{readertest.Put(t, "a.mat", string(b)), readertest.Put(t, "b.mat", string(b))}
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, State: state, Jobs: 2})
	})
}

func TestRows(t *testing.T) {
	c := load(t, nil, "testdata/columns.mat")
	if got := fmt.Sprint(c.Samples, c.Order); got != "20 [X y names]" {
		t.Errorf("%s", got)
	}
	names := c.ByName["names"]
	if got := string(names.Data[names.Offsets[0][19]:]); got != "s19" {
		t.Errorf("the last name is %q", got)
	}
	if x := c.ByName["X"]; !slices.Equal(x.Shape, []int{3}) || x.DType != shardify.F64 {
		t.Errorf("X is %v %v", x.DType, x.Shape)
	}
}

// TestAxis: images along the last axis, as SVHN has them, go with their labels.
func TestAxis(t *testing.T) {
	c := load(t, format.Options{"axis": "-1"}, "testdata/svhn_like.mat")
	if got := fmt.Sprint(c.Samples, c.Order, c.ByName["X"].Shape, c.ByName["y"].Data); got != "7 [X y] [4 5 3] [6 4 1 6 8 6 4]" {
		t.Errorf("%s", got)
	}
	whole := load(t, format.Options{"sample": "file"}, "testdata/svhn_like.mat").ByName["X"].Data
	x := c.ByName["X"].Data
	for i := range 60 { // a value of each image is beside that of the next one in the file
		for n := range 7 {
			if x[n*60+i] != whole[i*7+n] {
				t.Fatalf("value %d of image %d is %d, want %d", i, n, x[n*60+i], whole[i*7+n])
			}
		}
	}
}

func TestWholeFiles(t *testing.T) {
	c := load(t, format.Options{"sample": "file"}, "testdata/misc.mat")
	text := func(name string) string { f := c.ByName[name]; return string(f.Data) }
	if got := fmt.Sprint(c.Samples, c.Order); got != "1 [b z c sp st.a st.b tx tt]" {
		t.Errorf("%s", got)
	}
	if text("tx") != "hello" || text("tt") != "ab cde" {
		t.Errorf("texts %q, %q", text("tx"), text("tt"))
	}
	sp := c.ByName["sp"]
	if got := fmt.Sprint(shardify.View[float64](sp.Data), sp.Shape); got != "[0 1.5 0 2.5 0 0] [2 3]" {
		t.Errorf("sparse: %s", got)
	}
	if old := load(t, format.Options{"sample": "file"}, "testdata/v4.mat"); fmt.Sprint(old.Order) != "[a s c]" {
		t.Errorf("MATLAB 4: %v", old.Order)
	}
}

// TestSparse4: the values that scipy has of sparse matrices of MATLAB 4. Places and dimensions below 0 are damage.
func TestSparse4(t *testing.T) {
	const name = "testdata/sparse4.mat"
	c := load(t, format.Options{"sample": "file"}, name)
	for field, want := range map[string]string{
		"real":    "[2 3] [0 1.5 0 2.5 0 0]",
		"complex": "[3 2 2] [0 0 1 2 0 0 0 0 0 -3 0 0]",
		"column":  "[3] [0 7 0]",
	} {
		x := c.ByName[field]
		if x == nil {
			t.Fatalf("no field %s of %v", field, c.Order)
		}
		if got := fmt.Sprint(x.Shape, shardify.View[float64](x.Data)); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	places, refused := 0, 0
	for at := 24; at+8 <= len(b); at++ {
		if math.Float64frombits(binary.LittleEndian.Uint64(b[at:])) != 2 {
			continue
		}
		places++
		bad := slices.Clone(b)
		binary.LittleEndian.PutUint64(bad[at:], math.Float64bits(-1))
		src, err := openFiles(format.Options{"sample": "file"}, nil, readertest.Put(t, "bad.mat", string(bad)))
		if err == nil {
			_, err = readertest.Load(src, 100)
			src.Close()
		}
		switch {
		case errors.Is(err, shardify.ErrCorrupt):
			refused++
		case err != nil:
			t.Errorf("-1 at byte %d: %v", at, err)
		}
	}
	if refused < 5 || refused != places-1 { // one is a value
		t.Errorf("%d of %d refused", refused, places)
	}
}

func TestSniff(t *testing.T) {
	for name, want := range map[string]bool{"columns.mat": true, "v4.mat": true, "README.md": false} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sniff(b[:min(len(b), 512)], name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if sniff([]byte("\x89HDF\r\n\x1a\n"+strings.Repeat("\x00", 200)), "x.mat") {
		t.Error("HDF5 is taken")
	}
}

func TestMutants(t *testing.T) {
	race.Sequential(t)
	var seeds [][]byte
	for _, name := range []string{"columns.mat", "svhn_like.mat", "misc.mat", "v4.mat", "sparse4.mat"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	m := readertest.Mutants{Format: "mat", Quick: 300, Seeds: len(seeds),
		Kind: func(err error) bool {
			return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
		},
		Make: func(rng *rand.Rand) readertest.Mutant {
			b := slices.Clone(seeds[rng.IntN(len(seeds))])
			at := 128 + rng.IntN(max(len(b)-136, 1))
			if len(b) < 500 { // of MATLAB 4
				at = rng.IntN(len(b) - 8)
			}
			switch rng.IntN(8) {
			case 0:
				b = b[:at]
			case 1:
				copy(b[at&^3:], []byte{0xff, 0xff, 0xff, 0x7f})
			case 2, 3:
				b[at] = byte(readertest.Interesting[rng.IntN(len(readertest.Interesting))])
			default:
				b[at] ^= 1 << rng.IntN(8)
			}
			return readertest.Mutant{Seed: "seed.mat", Data: b, Read: func(name string) (readertest.Walked, error) {
				return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
					return openFiles(format.Options{"sample": "file"}, nil, name)
				}, 4096, nil)
			}}
		}}
	m.Run(t)
}

// TestSlashInName: a name that no MATLAB writes is a name.
func TestSlashInName(t *testing.T) {
	b, err := os.ReadFile("testdata/lines.mat")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(b), "a\x00\x00\x00")
	b[at] = '/'
	if c := load(t, format.Options{"sample": "file"}, readertest.Put(t, "a.mat", string(b))); c.Samples != 1 {
		t.Errorf("%d samples", c.Samples)
	}
}
