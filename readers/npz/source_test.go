package npz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/zips"
)

func zeros(descr string, shape ...int) []byte {
	t, err := npy.ParseScalar(descr)
	if err != nil {
		panic(err)
	}
	n := t.Size
	for _, d := range shape {
		n *= d
	}
	return npyBytes(descr, false, shape, make([]byte, n))
}

func npz(name string, members ...member) member { return member{name, 0, archive(members...)} }

// describe opens a source and writes its schema, samples, leftovers and notes.
func describe(table *format.Table, columns []string, o format.Options) string {
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, Options: o})
	if err != nil {
		return "error: " + err.Error()
	}
	defer src.Close()
	var b strings.Builder
	for _, f := range src.Schema() {
		fmt.Fprintf(&b, "%s %v%v", f.Name, f.DType, f.Shape)
		if f.Levels > 0 {
			fmt.Fprintf(&b, " levels=%d", f.Levels)
		}
		if f.Media != "" {
			fmt.Fprintf(&b, " media=%s", f.Media)
		}
		if f.Ragged {
			b.WriteString(" ragged")
		}
		if len(f.Attrs) > 0 {
			fmt.Fprintf(&b, " %v", f.Attrs)
		}
		b.WriteString("; ")
	}
	n := int64(0)
	for sp, err := range src.Spans(context.Background(), 1<<40) {
		if err != nil {
			return "error: " + err.Error()
		}
		n += sp.Samples()
	}
	fmt.Fprintf(&b, "%d samples", n)
	for _, l := range src.(format.Reporter).Leftovers() {
		fmt.Fprintf(&b, "; left %s: %s", l.Name, l.Reason)
		if l.Count > 0 {
			fmt.Fprintf(&b, " (%d files)", l.Count)
		}
	}
	for _, n := range src.(format.Noter).Notes() {
		b.WriteString("; note " + n)
	}
	return b.String()
}

func TestWhatIsASample(t *testing.T) {
	file := format.Options{"sample": "file"}
	mnist := folder(t, npz("m.npz",
		member{"x_train.npy", 0, zeros("|u1", 60, 28, 28)}, member{"y_train.npy", 0, zeros("|u1", 60)},
		member{"x_test.npy", 0, zeros("|u1", 10, 28, 28)}, member{"y_test.npy", 0, zeros("|u1", 10)}))
	alike := folder(t, npz("m.npz", member{"x_train.npy", 0, zeros("<f4", 9)}, member{"x_test.npy", 0, zeros("<f4", 9)}))
	mixed := folder(t, npz("m.npz",
		member{"x.npy", 0, zeros("<f4", 50, 7)}, member{"classes.npy", 0, zeros("<U4", 3)}, member{"y.npy", 8, zeros("<i8", 50)},
		member{"mean.npy", 0, zeros("<f8")}, member{"o.npy", 0, npyBytes("|O", false, []int{50}, nil)}, member{"README", 0, []byte("hello")}))
	image := func(name string) member {
		return npz(name, member{"image.npy", 0, zeros("|u1", 8, 9, 3)}, member{"label.npy", 0, zeros("<i8")})
	}
	images := folder(t, image("0.npz"), image("1.npz"))
	for _, c := range []struct {
		name    string
		table   *format.Table
		columns []string
		options format.Options
		want    string
	}{
		{"the largest array decides", mixed, nil, nil,
			"error: open m.npz: the arrays have different lengths: x, y 50; classes 3: --columns x,y makes 50 samples of x, y; --columns classes makes 3 samples of classes"},
		{"what is excluded has no say", mixed, []string{"!classes"}, nil,
			"x f32[7]; y i64[]; mean f64[]; 50 samples; left o: object array (a pickle): save it as a numeric array; left README: no NPY array"},
		{"two lengths", folder(t, npz("m.npz", member{"x.npy", 0, zeros("<f4", 20)}, member{"y.npy", 0, zeros("<f4", 30)})), nil, nil,
			"error: open m.npz: the arrays have different lengths: x 20; y 30: --columns y makes 30 samples of y; --columns x makes 20 samples of x; --sample file makes each file one sample"},
		{"no form in one of two", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, zeros("<f4", 2)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, npyBytes("|O", false, []int{2}, nil)})), nil, nil,
			"error: open 1.npz y.npy: object array (a pickle): save it as a numeric array: not supported; it is read in 0.npz; --columns '!y' leaves it out"},
		{"no form in the first of two", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, npyBytes("|O", false, []int{2}, nil)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, zeros("<f4", 2)})), nil, nil,
			"error: open 1.npz: y is read here and cannot be in 0.npz: object array (a pickle): save it as a numeric array; --columns '!y' leaves it out: not supported"},
		{"left out of both", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, npyBytes("|O", false, []int{2}, nil)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, zeros("<f4", 2)})), []string{"!y"}, nil, "x f32[]; 4 samples"},
		{"no form where it is", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, npyBytes("|O", false, []int{2}, nil)})), nil, nil,
			"x f32[]; 4 samples; left y: object array (a pickle): save it as a numeric array, in 1.npz"},
		{"a column more of another length", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, zeros("<f4", 3)})), nil, nil,
			"error: open 1.npz: there is y <f4 [3], as there is not in 0.npz"},
		{"two lengths by name", mixed, []string{"x", "classes"}, nil, "error: open m.npz: the arrays have different lengths: x 50; classes 3"},
		{"a leftover alone is the largest", mixed, []string{"classes"}, nil, "classes u8[] levels=1 media=txt; 3 samples"},
		{"an object array by name", mixed, []string{"o"}, nil, "error: open m.npz o.npy: object array (a pickle): save it as a numeric array: not supported"},
		{"no such name", mixed, []string{"x", "nope"}, nil, "error: there is no nope; m.npz has x <f4 [50,7]"},
		{"nothing matches", mixed, []string{"q*"}, nil, "error: nothing to read with --columns 'q*'; m.npz has x <f4 [50,7]"},
		{"bad pattern", mixed, []string{"[x"}, nil, `error: column pattern "[x": syntax error in pattern`},
		{"train and test", mnist, nil, nil,
			"error: open m.npz: it holds the splits train, test: x_train, y_train 60; x_test, y_test 10: --columns x_train,y_train makes a set of train; --columns x_test,y_test makes a set of test; --sample file makes each file one sample"},
		{"as many in train and test", alike, nil, nil,
			"error: open m.npz: it holds the splits train, test: x_train 9; x_test 9: --columns x_train makes a set of train; --columns x_test makes a set of test; --sample axis makes them columns of the same samples; --sample file makes each file one sample"},
		{"splits as columns", alike, nil, format.Options{"sample": "axis"}, "x_train f32[]; x_test f32[]; 9 samples"},
		{"splits as columns by name", alike, []string{"x_train", "x_test"}, nil, "x_train f32[]; x_test f32[]; 9 samples"},
		{"splits in files", folder(t, member{"x_test.npy", 0, zeros("<f4", 9, 2)}, member{"x_train_1.npy", 0, zeros("<f4", 7, 2)}, member{"x_train_2.npy", 0, zeros("<f4", 7, 2)}), nil, nil,
			"error: the files are splits by their names, x_train_1.npy and x_test.npy: convert each split by itself; --sample axis makes rows of one field of them, which --split-from 'train=*train*,test=*test*' parts; --sample file makes each file one sample"},
		{"splits in files as rows", folder(t, member{"x_test.npy", 0, zeros("<f4", 9, 2)}, member{"x_train.npy", 0, zeros("<f4", 7, 2)}), nil, format.Options{"sample": "axis"},
			"x_t f32[2]; 16 samples"},
		{"one split in files", folder(t, member{"train_1.npy", 0, zeros("<f4", 9, 2)}, member{"train_2.npy", 0, zeros("<f4", 7, 2)}), nil, nil, "train f32[2]; 16 samples"},
		{"masks are no splits", folder(t, npz("m.npz", member{"x.npy", 0, zeros("<f4", 9)}, member{"train_mask.npy", 0, zeros("|b1", 9)}, member{"test_mask.npy", 0, zeros("|b1", 9)})), nil, nil,
			"x f32[]; train_mask bool[]; test_mask bool[]; 9 samples"},
		{"test by name", mnist, []string{"*_test"}, nil, "x_test u8[28 28]; y_test u8[]; 10 samples"},
		{"a file a sample", mixed, []string{"x", "classes", "mean"}, file, "x f32[50 7]; classes u8[] levels=2 media=txt; mean f64[]; 1 samples"},
		{"only scalars", folder(t, npz("s.npz", member{"n.npy", 0, zeros("<i8")})), nil, nil,
			"error: open s.npz: no array has a sample axis: n <i8 []; --sample file makes each file one sample: not supported"},
		{"scipy sparse", folder(t, npz("s.npz", member{"data.npy", 0, zeros("<f8", 9)}, member{"indices.npy", 0, zeros("<i4", 9)},
			member{"indptr.npy", 0, zeros("<i4", 4)}, member{"shape.npy", 0, zeros("<i8", 2)}, member{"format.npy", 0, zeros("|S3")})), nil, nil,
			"error: open s.npz: a scipy sparse matrix"},
		{"bfloat16", folder(t, npz("s.npz", member{"x.npy", 0, zeros("<V2", 9, 3)}, member{"y.npy", 0, zeros(">V2", 9)})), nil, nil, "x bf16[3]; y bf16[]; 9 samples"},
		{"two bytes without a type", folder(t, npz("s.npz", member{"x.npy", 0, zeros("|V2", 9, 3)})), nil, nil,
			"x u8[3 2] map[void:true]; 9 samples; note x is pairs of bytes, which have no type (|V2): if they are bfloat16, save x.view(ml_dtypes.bfloat16)"},
		{"reserved name", folder(t, npz("s.npz", member{"__x__.npy", 0, zeros("<f8", 9)}, member{"y.npy", 0, zeros("<f8", 9)})), nil, nil,
			"_x__ f64[]; y f64[]; 9 samples; note __x__ is named _x__: #, control characters and __ in front are reserved in names; --columns and --rename take both names"},
		{"the last of equal names", folder(t, npz("s.npz", member{"x.npy", 0, zeros("<f8", 9)}, member{"x.npy", 0, zeros("<f4", 5)})), nil, nil,
			"x f32[]; 5 samples; left x: an earlier member of the same name; the last one counts, as for numpy"},
		{"times and complex", folder(t, npz("s.npz", member{"t.npy", 0, zeros("<M8[25ns]", 2)}, member{"d.npy", 0, zeros(">m8", 2)},
			member{"z.npy", 0, zeros("<c16", 2)}, member{"v.npy", 0, zeros("|V5", 2)})), nil, nil,
			"t i64[] map[time:25ns]; d i64[] map[delta:true time:generic]; z f64[2] map[complex:true]; v u8[5] map[void:true]; 2 samples"},
		{"fields of a struct in an archive", folder(t, npz("s.npz", member{"jet.npy", 0, npyBytes("[('pt', '<f4'), ('sub', [('id', '|u1')])]", false, []int{3, 2}, make([]byte, 30))})),
			[]string{"jet/sub/*"}, nil, "jet/sub/id u8[2]; 3 samples"},
		{"a struct by its key", folder(t, npz("s.npz", member{"jet.npy", 0, npyBytes("[('pt', '<f4'), ('id', '|u1')]", false, []int{3}, make([]byte, 15))})),
			[]string{"jet"}, nil, "jet/pt f32[]; jet/id u8[]; 3 samples"},
		{"fields of a struct in a file", folder(t, member{"jets.npy", 0, npyBytes("[('pt', '<f4'), ('id', '|u1')]", false, []int{3}, make([]byte, 15))}),
			nil, nil, "pt f32[]; id u8[]; 3 samples"},
		{"a lone npy is named by its stem", folder(t, member{"run 07/x_07.NPY", 0, zeros("<f4", 3)}), nil, nil, "x_07 f32[]; 3 samples"},
		{"npy files are named by what they share", folder(t, member{"a/x_00.npy", 0, zeros("<f4", 3)}, member{"b/x_01.npy", 0, zeros(">f4", 4)},
			member{"notes.txt", 0, []byte("hi")}), nil, nil, "x f32[]; 7 samples; left notes.txt: not an NPY or NPZ file (1 files)"},
		{"npy files that share nothing", folder(t, member{"00.npy", 0, zeros("<f4", 3)}, member{"01.npy", 0, zeros("<f4", 4)}), nil, nil, "data f32[]; 7 samples"},
		{"bytes behind an npy array", folder(t, member{"x.npy", 0, append(zeros("<f4", 3), 1, 2)}), nil, nil,
			"error: open x.npy at byte 140: <f4 [3] ends here, the file has 2 bytes more: corrupt data"},
		{"two arrays in a file", folder(t, member{"x.npy", 0, append(zeros("<f4", 3), zeros("<f4", 2)...)}), nil, nil,
			"error: open x.npy: several arrays in one file, the second at byte 140: np.savez stores them separately: not supported"},
		{"texts of other widths are one column", folder(t, member{"a/s.npy", 0, zeros("<U3", 3)}, member{"b/s.npy", 0, zeros(">U9", 4)}), nil, nil,
			"s u8[] levels=1 media=txt; 7 samples"},
		{"empty files are legal", folder(t, member{"0/x.npy", 0, zeros("<f4", 0, 2)}, member{"1/x.npy", 0, zeros("<f4", 4, 2)}), nil, nil, "x f32[2]; 4 samples; note no samples in 1 input (0/x.npy)"},
		{"empty files have no say", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f8", 0)}), npz("1.npz", member{"x.npy", 0, zeros("<i8", 4, 2)}),
			npz("2.npz", member{"x.npy", 8, npyBytes("<f8", true, []int{0, 3, 3}, nil)}, member{"w.npy", 0, zeros("<f8", 0)})), nil, nil,
			"x i64[2]; 4 samples; note no samples in 2 inputs (0.npz, 2.npz)"},
		{"nothing but empty files", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 0)}), npz("1.npz", member{"x.npy", 0, zeros("<f8", 0)})), nil, nil,
			"x f64[]; 0 samples; note no samples in 2 inputs (0.npz, 1.npz); note field x is widened to f64: f32 in 1 input (0.npz), f64 in 1 input (1.npz)"},
		{"one sample a file, by rows", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 1, 8, 9)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 1, 8, 9)})), nil, nil,
			"x f32[8 9]; 2 samples"},
		{"images", images, nil, nil, "error: a sample may be a row or a file: --sample axis makes 16 of image |u1 [9,3], label <i8 repeated; " +
			"--sample file makes 2 samples of image |u1 [8,9,3], label <i8"},
		{"some of images", images, []string{"image"}, nil, "error: a sample may be a row or a file"},
		{"images, a file a sample", images, nil, file, "image u8[8 9 3]; label i64[]; 2 samples"},
		{"images, a row a sample", images, nil, format.Options{"sample": "axis"}, "image u8[9 3]; label i64[]; 16 samples; " +
			"note each row is a sample, 16 of image |u1 [9,3], label <i8 repeated; --sample file makes 2 samples of image |u1 [8,9,3], label <i8"},
		{"volumes", folder(t, member{"a.npy", 0, zeros("<f4", 8, 9, 9)}, member{"b.npy", 0, zeros("<f4", 8, 9, 9)}), nil, nil, "error: a sample may be a row or a file"},
		{"pieces of a series", folder(t, member{"x0.npy", 0, zeros("<f4", 8, 9, 9)}, member{"x1.npy", 0, zeros("<f4", 7, 9, 9)}), nil, nil, "x f32[9 9]; 15 samples"},
		{"batches with labels", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 4, 3, 3)}, member{"y.npy", 0, zeros("<i8", 4)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 4, 3, 3)}, member{"y.npy", 0, zeros("<i8", 4)})), []string{"x"}, nil, "x f32[3 3]; 8 samples"},
		{"a single value that one file lacks", folder(t, npz("0.npz", member{"y.npy", 0, zeros("<i8", 4)}),
			npz("1.npz", member{"y.npy", 0, zeros("<i8", 3)}, member{"v.npy", 0, zeros("<i8")})), nil, nil, "error: open 1.npz: there is v <i8 [], as there is not in 0.npz"},
		{"one sample a file of many shapes", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 1, 8, 9)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 1, 7, 9)})), nil, nil,
			"error: open 1.npz: x is <f4 [1,7,9], in 0.npz it is <f4 [1,8,9]; if each file is one sample, say --sample file: schema mismatch"},
		{"ragged", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 1, 8, 9)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 1, 7, 9)})), nil, file,
			"x f32[] levels=1 ragged; x.shape i64[3]; 2 samples"},
		{"types are widened", folder(t,
			npz("0.npz", member{"x.npy", 0, zeros("<f4", 2, 3)}, member{"n.npy", 0, zeros("|u1", 2)}, member{"z.npy", 0, zeros("<c8", 2)}, member{"s.npy", 0, zeros("<U5", 2)}),
			npz("1.npz", member{"x.npy", 8, zeros(">f8", 1, 3)}, member{"n.npy", 0, zeros(">i2", 1)}, member{"z.npy", 0, zeros(">c16", 1)}, member{"s.npy", 0, zeros("<U9", 1)}),
			npz("2.npz", member{"x.npy", 0, zeros(">f4", 4, 3)}, member{"n.npy", 0, zeros("|u1", 4)}, member{"z.npy", 0, zeros(">c8", 4)}, member{"s.npy", 0, zeros(">U5", 4)})), nil, nil,
			"x f64[3]; n i16[]; z f64[2] map[complex:true]; s u8[] levels=1 media=txt; 7 samples; " +
				"note field x is widened to f64: f32 in 2 inputs (0.npz, 2.npz), f64 in 1 input (1.npz); " +
				"note field n is widened to i16: u8 in 2 inputs (0.npz, 2.npz), i16 in 1 input (1.npz); " +
				"note field z is widened to f64: f32 in 2 inputs (0.npz, 2.npz), f64 in 1 input (1.npz)"},
		{"types of a struct are widened", folder(t, member{"0/jets.npy", 0, npyBytes("[('pt', '<f4'), ('id', '|u1', (2,))]", false, []int{3}, make([]byte, 18))},
			member{"1/jets.npy", 0, npyBytes("[('pt', '<f4'), ('id', '<u4', (2,))]", false, []int{1}, make([]byte, 12))}), nil, nil,
			"pt f32[]; id u32[2]; 4 samples; note field id is widened to u32: u8 in 1 input (0/jets.npy), u32 in 1 input (1/jets.npy)"},
		{"only what is wanted must agree", folder(t, npz("0.npz", member{"x.npy", 0, npyBytes("[('a', '<f4'), ('b', '<f8')]", false, []int{1}, make([]byte, 12))}),
			npz("1.npz", member{"x.npy", 0, npyBytes("[('a', '<f4'), ('b', '<i8')]", false, []int{1}, make([]byte, 12))})), []string{"x/a"}, nil, "x/a f32[]; 2 samples"},
		{"types are widened where a file is a sample", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<i4", 1, 8)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 1, 7)})), nil, file,
			"x f64[] levels=1 ragged; x.shape i64[2]; 2 samples; note field x is widened to f64: i32 in 1 input (0.npz), f32 in 1 input (1.npz)"},
		{"types that nothing holds", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<i8", 2)}, member{"b.npy", 0, zeros("|b1", 2)}, member{"t.npy", 0, zeros("<M8[s]", 2)}, member{"s.npy", 0, zeros("|S3", 2)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f8", 2)}, member{"b.npy", 0, zeros("|u1", 2)}, member{"t.npy", 0, zeros("<M8[ms]", 2)}, member{"s.npy", 0, zeros("<U3", 2)})), nil, nil,
			"error: field x differs in type: i64 in 1 input (0.npz), f64 in 1 input (1.npz); field b differs in type: bool in 1 input (0.npz), u8 in 1 input (1.npz); " +
				`field t differs in time: "s" in 1 input (0.npz), "ms" in 1 input (1.npz); field s differs in type: bin in 1 input (0.npz), txt in 1 input (1.npz); ` +
				"no type holds the numbers of all exactly: --cast 'x=f64' rounds them; --columns leaves out such fields, numpy.astype makes them alike: schema mismatch"},
		{"points in time and durations", folder(t, npz("0.npz", member{"t.npy", 0, zeros("<M8[s]", 2)}), npz("1.npz", member{"t.npy", 0, zeros("<m8[s]", 2)})), nil, nil,
			`error: field t differs in delta: none in 1 input (0.npz), "true" in 1 input (1.npz)`},
		{"npy files that may be columns", folder(t, member{"x.npy", 0, zeros("<f8", 5)}, member{"y.npy", 0, zeros("<i8", 5)}), nil, nil,
			"error: field data differs in type: f64 in 1 input (x.npy), i64 in 1 input (y.npy); no type holds the numbers of all exactly: --cast 'data=f64' rounds them; numpy.astype makes them alike; files with columns of the same samples are joined by --zip A B: schema mismatch"},
		{"npy files that are rather columns", folder(t, member{"x.npy", 0, zeros("<f4", 5)}, member{"y.npy", 0, zeros("<i2", 5)}), nil, nil,
			"error: x.npy and y.npy have other types: columns of the same samples are joined by --zip A B; to read one after the other, convert them to one type with numpy.astype: schema mismatch"},
		{"npy files of one series", folder(t, member{"part-9.npy", 0, zeros("<f4", 5)}, member{"part-10.npy", 0, zeros("<i2", 5)}), nil, nil,
			"part f32[]; 10 samples; note field part is widened to f32: f32 in 1 input (part-9.npy), i16 in 1 input (part-10.npy)"},
		{"arrays that differ", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 2, 3)}),
			npz("2.npz", member{"x.npy", 0, zeros("<f4", 2)}), npz("3.npz", member{"z.npy", 0, zeros("<f4", 2)}),
			npz("4.npz", member{"x.npy", 0, zeros("<f4", 2, 2)}), npz("5.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"w.npy", 0, zeros("<f4", 2)})), nil, nil,
			"error: open 1.npz: x is <f4 [2,3], in 0.npz it is <f4 [2]; save it alike in all files, convert files of one kind by themselves, or leave it out with --columns: schema mismatch (4 of 6 files: 1.npz, 3.npz, 4.npz, ...)"},
		{"npy files that are columns", folder(t, member{"x.npy", 0, zeros("<f4", 5, 2)}, member{"y.npy", 0, zeros("<i8", 5)}), nil, nil,
			"error: open y.npy: data is <i8 [5], in x.npy it is <f4 [5,2]; files with columns of the same samples are joined by --zip A B: schema mismatch"},
		{"an extra column", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 3)}, member{"w.npy", 0, zeros("<f4", 3)})), nil, nil,
			"error: open 1.npz: there is w <f4 [3], as there is not in 0.npz; name the wanted ones with --columns: schema mismatch"},
		{"a column that got lost", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, zeros("<f4", 2)}), npz("1.npz", member{"x.npy", 0, zeros("<f4", 3)})), nil, nil,
			"error: open 1.npz: there is no y, as there is in 0.npz; it has x <f4 [3]: schema mismatch"},
		{"columns of other lengths", folder(t, npz("0.npz", member{"x.npy", 0, zeros("<f4", 2)}, member{"y.npy", 0, zeros("<f4", 2)}),
			npz("1.npz", member{"x.npy", 0, zeros("<f4", 3)}, member{"y.npy", 0, zeros("<f4", 4)})), nil, nil,
			"error: open 1.npz: x has 3 samples, y has 4; if one is not a column, name the others with --columns: schema mismatch"},
		{"one damaged file", folder(t, member{"0.npy", 0, zeros("<f4", 2)}, member{"1.npy", 0, []byte("rubbish")}, member{"2.npy", 0, zeros("<f4", 2)[:130]}), nil, nil,
			"error: open 1.npy at byte 0: not an NPY file: corrupt data (2 of 3 files: 1.npy, 2.npy)"},
		{"no files of ours", folder(t, member{"a.txt", 0, []byte("a")}), nil, nil, "error: open a.txt: not an NPY or NPZ file"},
		{"no files", folder(t), nil, nil, "error: no NPY or NPZ files: not supported"},
		{"unknown option", mixed, nil, format.Options{"axes": "1"}, `error: unknown option "axes"`},
	} {
		got := describe(c.table, c.columns, c.options)
		if got != c.want && !(strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\nis   %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestZipJoinsByPosition(t *testing.T) {
	zip := format.Options{"zip": "true"}
	count := func(from, n int) []byte {
		var b []byte
		for i := range n {
			b = le.AppendUint32(b, uint32(from+i))
		}
		return b
	}
	x := []member{{"x0.npy", 0, npyBytes("<i4", false, []int{3}, count(0, 3))}, {"x1.npy", 0, npyBytes("<i4", false, []int{4}, count(3, 4))}}
	y := []member{npz("y.npz", member{"y.npy", zips.Deflated, npyBytes("<i4", false, []int{7}, count(100, 7))})}
	got, err := loadTable(roots(t, x, y), nil, zip, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		a, b := le.Uint32(got.cols["x"].Data[4*i:]), le.Uint32(got.cols["y"].Data[4*i:])
		if a != uint32(i) || b != uint32(100+i) {
			t.Errorf("sample %d is x %d, y %d", i, a, b)
		}
	}
	long := []member{npz("w.npz", member{"w.npy", zips.Deflated, npyBytes("<i4", false, []int{7}, count(0, 7))})}
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: roots(t, x, long), Options: zip})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(readertest.Spans(t, src, 1<<30)); got != "[{0 1 0 3 24 false <nil>} {1 1 0 4 32 false <nil>}]" {
		t.Errorf("files joined to one that must be decoded in order are not one run: %v", got)
	}
	for _, c := range []struct {
		name  string
		table *format.Table
		want  string
	}{
		{"unequal", roots(t, x, []member{{"y.npy", 0, npyBytes("<i4", false, []int{6}, count(0, 6))}}), "has 7 samples"},
		{"same name", roots(t, x, x), "two fields named x"},
		{"one input", roots(t, x), "--zip joins two or more inputs"},
		{"empty input", roots(t, x, nil), "no NPY or NPZ files"},
	} {
		if got := describe(c.table, nil, zip); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestChangedFilesAreRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, method := range []uint16{zips.Stored, zips.Deflated} {
		good := npz("a.npz", member{"x.npy", method, npyBytes("<f4", false, []int{500}, floats(rng, 500))})
		other := npz("a.npz", member{"x.npy", method, npyBytes("<i4", false, []int{500}, floats(rng, 500))})
		for name, b := range map[string][]byte{
			"longer":        append(append([]byte{}, good.data...), 0),
			"shorter":       good.data[:len(good.data)-1],
			"other header":  withSize(other.data, len(good.data)),
			"zeros":         make([]byte, len(good.data)),
			"other content": patch(good.data, len(good.data)/2, 1, 2, 3, 4, 5, 6, 7, 8),
		} {
			table := folder(t, good)
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, table.Path(0), b)
			if err := readSpans(src); err == nil {
				t.Errorf("method %d, %s: no error", method, name)
			} else if (len(b) != len(good.data) || name == "other header") && !strings.Contains(err.Error(), "changed since the plan") {
				t.Errorf("method %d, %s: %v", method, name, err)
			}
			src.Close()
		}
	}
}

// withSize cuts or fills b, which readers of a known file do not look at as an
// archive.
func withSize(b []byte, n int) []byte { return append(bytes.Clone(b), make([]byte, n)...)[:n] }

func readSpans(src shardify.Source) error {
	ctx := context.Background()
	pool := shardify.NewPool(1 << 30)
	for sp, err := range src.Spans(ctx, 1<<40) {
		if err != nil {
			return err
		}
		r, err := src.Reader(sp.Run)
		if err != nil {
			return err
		}
		mem, _ := pool.Grant(ctx, sp.Bytes)
		_, err = r.Read(ctx, sp, mem)
		mem.Release()
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func TestErrorsNameFileMemberSample(t *testing.T) {
	var text []byte
	for i := range 40 {
		code := uint32('a')
		if i == 27 {
			code = 0xd800
		}
		text = le.AppendUint32(text, code)
	}
	for descr, shape := range map[string][]int{"<U1": {20, 2}, "[('s', '<U1', (2,))]": {20}} {
		table := folder(t, npz("a.npz", member{"t.npy", 0, npyBytes(descr, false, shape, text)}))
		_, err := loadTable(table, nil, nil, 100)
		var e *shardify.Error
		if !errors.As(err, &e) || e.File != "a.npz" || e.Object != "t.npy" || e.Sample != 13 || !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v (%+v)", descr, err, e)
		}
	}
}

func TestPipesAreNotOpened(t *testing.T) {
	table := folder(t, member{"x.npy", 0, zeros("<f4", 2)})
	if err := os.Remove(table.Path(0)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(table.Path(0), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := describe(table, nil, nil); !strings.Contains(got, "not a regular file") {
		t.Error(got)
	}
}

func TestSniff(t *testing.T) {
	for name, want := range map[string]bool{"a.npy": true, "a.NPZ": true, "a.zip": false, "a": false} {
		if got := Format.Sniff([]byte("PK\x03\x04"), name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !Format.Sniff([]byte(npy.Magic+"\x01\x00"), "array") {
		t.Error("NPY magic is not recognised")
	}
}

func TestBigSampleInOneSpanTakesNoSecondBuffer(t *testing.T) {
	table := folder(t, npz("a.npz", member{"x.npy", 0, zeros("<f4", 1, 512, 1024)}))
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pool := shardify.NewPool(1 << 30)
	for sp, err := range src.Spans(context.Background(), 1<<16) {
		if err != nil || sp.Bytes != 2<<20 {
			t.Fatalf("%+v, error %v", sp, err)
		}
		r, _ := src.Reader(0)
		mem, _ := pool.Grant(context.Background(), sp.Bytes)
		if _, err := r.Read(context.Background(), sp, mem); err != nil {
			t.Fatal(err)
		}
		if mem.Used() > shardify.ClassBytes(sp.Bytes) {
			t.Errorf("took %d bytes for a span of %d", mem.Used(), sp.Bytes)
		}
		mem.Release()
		r.Close()
	}
}

func TestEachLengthIsAWay(t *testing.T) {
	table := folder(t, npz("m.npz", member{"x.npy", 0, zeros("<f4", 20, 3)}, member{"y.npy", 0, zeros("<f4", 30)}, member{"z.npy", 0, zeros("<f4", 30)}))
	readertest.Ways(t, func(columns []string, o format.Options) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, Options: o, Jobs: 2})
	}, "20 samples of x", "30 samples of y, z")
}

// TestFoldersOfPartsAreNoSamples: images and masks are never stacked; rows are, where the user says so.
func TestFoldersOfPartsAreNoSamples(t *testing.T) {
	x, y := zeros("<f4", 6, 4), zeros("|u1", 6)
	table := folder(t, member{"images/0.npy", 0, x}, member{"images/1.npy", 0, x}, member{"masks/0.npy", 0, x}, member{"masks/1.npy", 0, x})
	for _, sample := range []string{"row", "file"} {
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: format.Options{"sample": sample}, Jobs: 1})
		var doubt *format.Ambiguous
		if !errors.As(err, &doubt) || doubt.Ways[0].Options["pair"] != "image=images,mask=masks" || doubt.Ways[0].Without != "sample" || !slices.Equal(doubt.Ways[0].Parse, []string{"image=npy", "mask=npy"}) {
			t.Errorf("--sample %s: %v", sample, err)
		}
	}
	for _, c := range []struct {
		table *format.Table
		o     format.Options
	}{
		{table, format.Options{"sample": "axis"}},
		{table, format.Options{"sample": "file", "labels": "none"}},
		{folder(t, member{"noise/0.npy", 0, y}, member{"noise/1.npy", 0, y}, member{"signal/0.npy", 0, y}, member{"signal/1.npy", 0, y}), nil},
	} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: c.table, Options: c.o, Jobs: 1})
		if err != nil {
			t.Fatalf("%v: %v", c.o, err)
		}
		src.Close()
	}
}
