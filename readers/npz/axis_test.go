package npz

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/zips"
	"github.com/shardify/shardify/tests/race"
)

// Arrays of all ranks and types, in both orders, stored and deflated, are what
// numpy.moveaxis makes of them.
func TestAxisEqualsMoveaxis(t *testing.T) {
	race.Sequential(t)
	for _, axis := range []string{"1", "2", "-1", "-2"} {
		want, err := load([]string{filepath.Join("testdata", "want_"+axis+".npz")}, nil, nil, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "axis_"+axis+".npz")
		for _, name := range []string{file, deflate(t, file)} {
			for _, target := range []int64{1, 300, 1 << 30} {
				got, err := load([]string{name}, nil, format.Options{"axis": axis}, target)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got.samples != 6 || !slices.Equal(got.order, want.order) {
					t.Fatalf("%s: %d samples of %v", name, got.samples, got.order)
				}
				for _, f := range got.order {
					g, w := got.cols[f], want.cols[f]
					if !bytes.Equal(g.Data, w.Data) || fmt.Sprint(g.Field, g.Offsets) != fmt.Sprint(w.Field, w.Offsets) {
						t.Errorf("%s, spans of %d bytes, %s:\nis   %v %x\nwant %v %x", name, target, f, g.Field, g.Data, w.Field, w.Data)
					}
				}
			}
		}
	}
}

// deflate copies an archive with its members compressed.
func deflate(t *testing.T, file string) string {
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var all []member
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, member{f.Name, zips.Deflated, b})
	}
	name := filepath.Join(t.TempDir(), filepath.Base(file))
	writeFile(t, name, archive(all...))
	return name
}

// axesOf are arrays of n samples along axis 1, and a list.
func axesOf(rng *rand.Rand, n int, method uint16) []member {
	return []member{
		{"label.npy", method, npyBytes("<i8", false, []int{n}, random(rng, 8*n))},
		{"flat.npy", method, npyBytes("<f4", false, []int{5, n}, random(rng, 20*n))},
		{"flatf.npy", method, npyBytes(">f4", true, []int{5, n}, random(rng, 20*n))},
		{"cube.npy", method, npyBytes("<u2", false, []int{3, n, 4}, random(rng, 24*n))},
		{"first.npy", method, npyBytes("<u2", false, []int{1, n, 4}, random(rng, 8*n))},
		{"cubef.npy", method, npyBytes("|b1", true, []int{3, n, 4, 2}, random(rng, 24*n))},
		{"last.npy", method, npyBytes(">f8", true, []int{2, n, 1}, random(rng, 16*n))},
		{"words.npy", method, npyBytes("|S3", true, []int{2, n, 2}, random(rng, 12*n))},
		{"jet.npy", method, npyBytes("[('pt', '>f4'), ('s', '|S2')]", false, []int{2, n, 2}, random(rng, 24*n))},
	}
}

// Rows that are consecutive in the file are read in parts, though their values are in
// another order: MATLAB's images as scipy gives them, deflated or not.
func TestLastAxisOfFortranOrderIsReadInParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	const n = 500
	for _, method := range []uint16{zips.Stored, zips.Deflated} {
		table := folder(t, npz("a.npz", member{"x.npy", method, npyBytes("|u1", true, []int{4, 5, 3, n}, random(rng, 60*n))}))
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: format.Options{"axis": "-1"}})
		if err != nil {
			t.Fatal(err)
		}
		if spans := readertest.Spans(t, src, 6000); len(spans) != 10 || spans[0].Bytes != 2*60*50 {
			t.Errorf("method %d: %d spans, the first %+v", method, len(spans), spans[0])
		}
		src.Close()
	}
}

// A compressed array whose rows are scattered is read in parts where memory is short: a
// part takes no more than its share.
func TestPartOfAScatteredArrayTakesItsShare(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(33, 34))
	const n = 3000
	for _, m := range []struct {
		axis  string
		array []byte
	}{{"1", npyBytes("<f4", false, []int{50, n, 2}, random(rng, 400*n))}, {"0", npyBytes("<f4", true, []int{n, 100}, random(rng, 400*n))}} {
		table := folder(t, npz("a.npz", member{"x.npy", zips.Deflated, m.array}))
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: format.Options{"axis": m.axis}})
		if err != nil {
			t.Fatal(err)
		}
		whole := readertest.ReadAll(t, src, 1<<30)
		span := readertest.Spans(t, src, 1)[0]
		r, err := src.Reader(span.Run)
		if err != nil {
			t.Fatal(err)
		}
		parts := readertest.NewContent()
		for lo := int64(0); lo < n; lo += 700 {
			part := span
			part.Lo, part.Hi = lo, min(lo+700, n)
			part.Bytes = span.Bytes / n * part.Samples()
			mem, _ := shardify.NewPool(1<<30).Grant(context.Background(), part.Bytes)
			b, err := r.Read(context.Background(), part, mem)
			if err != nil {
				t.Fatal(err)
			}
			if mem.Used() > 2*shardify.ClassBytes(part.Bytes/2) {
				t.Errorf("axis %s: %d bytes for a part of %d", m.axis, mem.Used(), part.Bytes)
			}
			parts.Add(b, 0, b.Samples)
			mem.Release()
		}
		if err := whole.Equal(parts); err != nil {
			t.Errorf("axis %s: %v", m.axis, err)
		}
		r.Close()
		src.Close()
	}
}

func TestAxisErrors(t *testing.T) {
	cube := folder(t, npz("a.npz", member{"x.npy", 0, zeros("<f4", 3, 6)}, member{"v.npy", 0, zeros("<f4", 2, 3, 6)}, member{"y.npy", 0, zeros("<i8", 6)}))
	for _, c := range []struct {
		name, axis string
		table      *format.Table
		columns    []string
		want       string
		usage      bool
	}{
		{"none there", "2", cube, nil, "error: open a.npz: x has the axes 0 to 1: --columns selects arrays that have others", true},
		{"none there, from the end", "-3", cube, nil, "error: open a.npz: x has the axes 0 to 1", true},
		{"of one that has it", "2", cube, []string{"v", "y"}, "v f32[2 3]; y i64[]; 6 samples", false},
		{"without the one that has it not", "2", cube, []string{"!x"}, "v f32[2 3]; y i64[]; 6 samples", false},
		{"lists alone", "2", cube, []string{"y"}, "y i64[]; 6 samples", false},
		{"the lengths along the axis", "1", cube, nil, "error: open a.npz: the arrays have different lengths: x, y 6; v 3", false},
		{"the last", "-1", cube, nil, "x f32[3]; v f32[2 3]; y i64[]; 6 samples", false},
		{"the first", "0", cube, []string{"x"}, "x f32[6]; 3 samples", false},
		{"no number", "x", cube, nil, `error: --axis "x" is neither auto nor the number of an axis`, true},
		{"a fraction", "1.5", cube, nil, `error: --axis "1.5" is neither`, true},
		{"a large one", "64", cube, nil, `error: --axis "64" is neither`, true},
		{"a huge one", "-9223372036854775809", cube, nil, `error: --axis "-9223372036854775809" is neither`, true},
		{"the number of auto", "-9223372036854775808", cube, nil, `error: --axis "-9223372036854775808" is neither`, true},
		{"files of other shapes", "1", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 3, 6)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 4, 6)})), nil,
			"error: open 1.npz: x is <f4 [4,6] along axis 1, in 0.npz it is <f4 [3,6] along axis 1;", false},
		{"files of other lengths", "1", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 3, 6)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 3, 8)})), nil, "x f32[3]; 14 samples", false},
		{"files of other ranks", "2", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 3, 2, 6)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 3, 6)})), nil,
			"error: open 1.npz: x has the axes 0 to 1", true},
		{"files one of which has more", "2", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 3, 2, 6)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 3, 2, 6)}, member{"z.npy", 0, zeros("<f4", 3, 6)})), nil,
			"error: open 1.npz: z has the axes 0 to 1", true},
		{"of a file without samples", "1", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2, 6, 3)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 2, 0, 3)}), npz("2.npz", member{"x.npy", 0, zeros("<f4", 0)})), nil,
			"x f32[2 3]; 6 samples; note no samples in 2 inputs (1.npz, 2.npz)", false},
	} {
		options := format.Options{"axis": c.axis}
		if got := describe(c.table, c.columns, options); got != c.want && !(strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\nis   %s\nwant %s", c.name, got, c.want)
		}
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: c.table, Columns: c.columns, Options: options})
		if errors.Is(err, shardify.ErrUsage) != c.usage {
			t.Errorf("%s: wrong usage %v: %v", c.name, !c.usage, err)
		}
	}
}

// The survey of a plan is of one axis.
func TestStateIsOfOneAxis(t *testing.T) {
	table := folder(t, npz("a.npz", member{"x.npy", 0, zeros("<f4", 2, 6, 3)}))
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: format.Options{"axis": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	for _, axis := range []string{"auto", "0", "2", "-2"} {
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: table, State: state, Options: format.Options{"axis": axis}})
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "other options") {
			t.Errorf("--axis %s with a state of axis 1: %v", axis, err)
		}
	}
	for _, bad := range []string{`"axis":3`, `"axis":-1`} {
		b := bytes.Replace(state, []byte(`"inner":[2,3],"axis":1`), []byte(`"inner":[2,3],`+bad), 1)
		b = append([]byte{b[0], b[1] + byte(len(b)-len(state))}, b[2:]...)
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: table, State: b, Options: format.Options{"axis": "1"}})
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "bad axis") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
