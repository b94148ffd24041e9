package npz

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/zips"
)

// TestValues writes one array of each kind by hand and says what comes out.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		name, descr string
		fortran     bool
		shape       []int
		data        string
		want        string // data, then offsets, of each column
	}{
		{"bools become 0 and 1", "|b1", false, []int{4}, "\x00\x01\x02\xff", `"\x00\x01\x01\x01"[]`},
		{"big-endian u2", ">u2", false, []int{2}, "\x01\x02\x03\x04", `"\x02\x01\x04\x03"[]`},
		{"big-endian f4", ">f4", false, []int{1}, "\x01\x02\x03\x04", `"\x04\x03\x02\x01"[]`},
		{"big-endian complex turns halves", ">c8", false, []int{1}, "\x01\x02\x03\x04\x05\x06\x07\x08", `"\x04\x03\x02\x01\b\a\x06\x05"[]`},
		{"one byte has no order", ">u1", false, []int{2}, "ab", `"ab"[]`},
		{"bytes lose trailing zeros only", "|S4", false, []int{3}, "ab\x00\x00\x00a\x00b\x00\x00\x00\x00", `"ab\x00a\x00b"[[0 2 6 6]]`},
		{"text becomes UTF-8", "<U2", false, []int{2}, "\xe9\x00\x00\x00\x00\x00\x00\x00\xe5\x65\x00\x00\x00\xf6\x01\x00", `"é日😀"[[0 2 9]]`},
		{"big-endian text", ">U1", false, []int{1}, "\x00\x00\x00a", `"a"[[0 1]]`},
		{"lists of texts", "|S1", false, []int{2, 2}, "ab\x00d", `"abd"[[0 2 4] [0 1 2 2 3]]`},
		{"void stays", ">V3", false, []int{2}, "abcdef", `"abcdef"[]`},
		{"bfloat16", "<V2", false, []int{2}, "\x80\x3f\x00\x40", `"\x80?\x00@"[]`},
		{"big-endian bfloat16", ">V2", false, []int{1}, "\x3f\x80", `"\x80?"[]`},
		{"Fortran order", "|u1", true, []int{2, 3}, "adbecf", `"abcdef"[]`},
		{"Fortran order of rank 3", "|u1", true, []int{2, 2, 2}, "aecgbfdh", `"abcdefgh"[]`},
		{"fields of a struct", "[('a', '>u2'), ('', '|V1'), ('s', '|S2', (2,)), ('n', [('x', '|u1'), ('y', '|b1')], (2,))]", false, []int{2},
			"\x01\x02_abc\x00x\x05y\x00" + "\x03\x04_\x00\x00ez1\x012\x00",
			`"\x02\x01\x04\x03"[] "abcez"[[0 2 4] [0 2 3 3 5]] "xy12"[] "\x01\x00\x01\x00"[]`},
		{"struct in Fortran order", "[('a', '|u1'), ('b', '|u1')]", true, []int{2, 2}, "aAcCbBdD", `"abcd"[] "ABCD"[]`},
	} {
		for _, method := range []uint16{zips.Stored, zips.Deflated} {
			table := folder(t, npz("a.npz", member{"k.npy", method, npyBytes(c.descr, c.fortran, c.shape, []byte(c.data))}))
			for _, target := range []int64{1, 1 << 30} {
				l, err := loadTable(table, nil, nil, target)
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
					continue
				}
				got := ""
				for _, name := range l.order {
					got += fmt.Sprintf(" %q%v", l.cols[name].Data, l.cols[name].Offsets)
				}
				if got != " "+c.want {
					t.Errorf("%s, method %d:\nis   %s\nwant  %s", c.name, method, got, c.want)
				}
			}
		}
	}
}

func TestRaggedShapes(t *testing.T) {
	var files []member
	for i := range 3 {
		a, b := 1+i, 3-i
		files = append(files, npz(fmt.Sprintf("%d.npz", i),
			member{"a.npy", zips.Stored, zeros("<u2", a, 2)}, member{"label.npy", zips.Stored, zeros("<i8")},
			member{"b.npy", zips.Deflated, zeros("|u1", b, b, b)}, member{"c.npy", zips.Stored, zeros("|u1", 2)}))
	}
	l, err := loadTable(folder(t, files...), nil, format.Options{"sample": "file"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.shape": "[1 2 2 2 3 2]", "a": "[[0 2 6 12]] 24", "b.shape": "[3 3 3 2 2 2 1 1 1]", "b": "[[0 27 35 36]] 36", "c": "[] 6", "label": "[] 24",
	} {
		col := l.cols[name]
		got := fmt.Sprint(col.Offsets, len(col.Data))
		if col.DType == shardify.I64 && name != "label" {
			got = fmt.Sprint(shardify.View[int64](col.Data))
		}
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestSingleValuesAreRepeated: every sample of a file has them, in whatever form.
func TestSingleValuesAreRepeated(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	one := func(name string, n int, method uint16, label byte) member {
		return npz(name, member{"y.npy", method, npyBytes("<i8", false, []int{n}, random(rng, 8*n))}, member{"label.npy", method, npyBytes("|u1", false, nil, []byte{label})},
			member{"name.npy", method, npyBytes("|S3", false, nil, []byte("n"+string(label)+"\x00"))})
	}
	l, err := loadTable(folder(t, one("a.npz", 3, zips.Stored, '1'), one("b.npz", 2, zips.Deflated, '2')), nil, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(l.cols["label"].Data); got != "11122" {
		t.Errorf("labels %q", got)
	}
	if got := string(l.cols["name"].Data); got != "n1n1n1n2n2" {
		t.Errorf("names %q", got)
	}
}
