package star

import (
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
	"github.com/shardify/shardify/tests/corpus"
	_ "github.com/shardify/shardify/tests/race"
)

func openFile(name string, state []byte, columns []string, o format.Options) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(name), Columns: columns, Options: o, State: state, Jobs: 2})
}

func load(t testing.TB, text string, o format.Options) (*readertest.Columns, error) {
	t.Helper()
	src, err := openFile(readertest.Put(t, "a.star", text), nil, nil, o)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return readertest.Load(src, 1000)
}

// TestCorpus compares with what starfile reads (the corpus was made for RELION's two forms).
func TestCorpus(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "science_images"), "mrc")
	for name, want := range map[string]string{
		"particles.star":   "5 [10012.5 10025 10037.5 10062.5 10100] mic_1.mrcmic_0.mrcmic_1.mrcmic_1.mrcmic_0.mrc",
		"particles31.star": "2 [1 1] two wordsx",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := load(t, string(b), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(c.Samples, " ")
		if f := c.ByName["rlnDefocusU"]; f != nil {
			got += fmt.Sprint(shardify.View[float64](f.Data), " ", string(c.ByName["rlnMicrographName"].Data))
		} else {
			got += fmt.Sprint(shardify.View[int64](c.ByName["rlnOpticsGroup"].Data), " ", string(c.ByName["rlnComment"].Data))
		}
		if got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

const two = "# made by hand\n\ndata_optics\n\nloop_\n_rlnOpticsGroup #1\n_rlnVoltage #2\n1 300.0\n\ndata_particles\n\nloop_\n_rlnImageName #1\n_rlnDefocusU #2\n_rlnNumber\n" +
	"000002@a.mrcs 1.5 000012\n'000001@b c.mrcs' +3 000013\n\n"

func TestForms(t *testing.T) {
	c, err := load(t, two, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(string(c.ByName["rlnImageName"].Data), shardify.View[float64](c.ByName["rlnDefocusU"].Data), string(c.ByName["rlnNumber"].Data))
	if got != "000002@a.mrcs000001@b c.mrcs[1.5 3]000012000013" {
		t.Error(got)
	}
	if c, err = load(t, strings.ReplaceAll(two, "\n", "\r\n"), format.Options{"object": "optics"}); err != nil || shardify.View[float64](c.ByName["rlnVoltage"].Data)[0] != 300 {
		t.Errorf("the block that was asked for: %v", err)
	}
	if c, err = load(t, strings.Replace(two, "000002@a.mrcs", "_", 1), nil); err != nil || !strings.HasPrefix(string(c.ByName["rlnImageName"].Data), "_0000") {
		t.Errorf("an underscore among other values: %v", err)
	}
	for _, x := range []struct{ from, to, want string }{
		{"1.5 000012", "1.5", "2 values, where data_particles has 3 columns"},
		{"'000001@b c.mrcs'", "'000001@b c.mrcs", "quote"},
		{"data_particles", "data_micrographs", "--object NAME takes one: optics, micrographs"},
		{"+3 000013\n", "+3 000013\n\n1@c 1 1\n", "values behind the end of a table"},
		{"_rlnNumber", "_rlnDefocusU", "there twice"},
		{"'000001@b c.mrcs'", ";000001@b.mrcs", "block of text"},
		{"000002@a.mrcs", "\xff@a.mrcs", "UTF-8"},
		{"000002@a.mrcs", "\x1f@a.mrcs", "control characters"},
		{"_rlnOpticsGroup #1\n_rlnVoltage #2\n1 300.0\n", "_rlnOpticsGroup\n_", "an underscore alone"},
		{"+3 000013\n", "+3 000013\n_rlnImageName\n", "_rlnImageName\" has no value, and is in no table"},
	} {
		if _, err := load(t, strings.Replace(two, x.from, x.to, 1), nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("want %q: %v", x.want, err)
		}
	}
}

// TestComments: lines of comments among the rows are no samples, and a note says so.
func TestComments(t *testing.T) {
	for _, at := range []string{"000002@a", "'000001@b", "\n\n"} {
		text, last := strings.Replace(two, at, "#"+at, 1), at == "\n\n"
		if last {
			text = strings.TrimSuffix(two, "\n") + "#000003@a.mrcs 1 2\n\n"
		}
		src, err := openFile(readertest.Put(t, "a.star", text), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := readertest.Load(src, 1000)
		notes := fmt.Sprint(src.(format.Noter).Notes())
		src.Close()
		if err != nil || (c.Samples == 2) != last || !strings.Contains(notes, "comments among the rows are no samples: 1 in this file") {
			t.Errorf("%q: %+v, %v, %s", at, c, err, notes)
		}
	}
}

func TestConformance(t *testing.T) {
	var b strings.Builder
	b.WriteString("data_\nloop_\n_name\n_x\n_n\n")
	for i := range 300 {
		fmt.Fprintf(&b, "%06d@some.mrcs %g %d\n", i, float64(i)/8, i)
	}
	name := readertest.Put(t, "a.star", b.String())
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return openFile(name, state, columns, nil)
	})
}

func TestMutants(t *testing.T) {
	m := readertest.Mutants{Format: "star", Quick: 300, Seeds: 1,
		Kind: func(err error) bool {
			return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
		},
		Make: func(rng *rand.Rand) readertest.Mutant {
			b := []byte(two)
			at := rng.IntN(len(b))
			switch rng.IntN(3) {
			case 0:
				b = b[:at]
			case 1:
				b[at] = " \n'\"#_;\x00"[rng.IntN(8)]
			default:
				b[at] ^= 1 << rng.IntN(8)
			}
			return readertest.Mutant{Seed: "two", Data: b, Read: func(name string) (readertest.Walked, error) {
				return readertest.Walk(func(context.Context) (shardify.Source, error) { return openFile(name, nil, nil, nil) }, 4096, nil)
			}}
		}}
	m.Run(t)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := parse(b)
		if err != nil {
			return
		}
		for _, l := range all {
			if !l.valid(int64(len(b))) {
				t.Fatalf("a table that is not valid: %+v", l)
			}
			for k := range len(l.Rows) - 1 {
				if _, err := l.append(nil, b[l.Offset[k]:l.Offset[k+1]], l.Offset[k]); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
