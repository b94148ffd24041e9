package npz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/zips"
)

// columnsOf makes one file's arrays of every kind of column, n rows each.
func columnsOf(rng *rand.Rand, n int, method uint16) []member {
	utf32 := make([]byte, 0, n*12)
	for range 3 * n {
		utf32 = le.AppendUint32(utf32, []uint32{0, 'a', 'é', '日', 0x1F600}[rng.IntN(5)])
	}
	other := method
	if method == 99 { // a mixture
		method, other = zips.Stored, zips.Deflated
	}
	return []member{
		{"x.npy", method, npyBytes("<f4", false, []int{n, 16, 7}, floats(rng, n*16*7))},
		{"y.npy", other, npyBytes("<i8", false, []int{n}, random(rng, n*8))},
		{"mask.npy", method, npyBytes("|b1", false, []int{n, 16}, random(rng, n*16))},
		{"big.npy", other, npyBytes(">f8", false, []int{n, 2}, random(rng, n*16))},
		{"z.npy", method, npyBytes(">c8", false, []int{n}, random(rng, n*8))},
		{"name.npy", other, npyBytes("|S5", false, []int{n}, random(rng, n*5))},
		{"tags.npy", method, npyBytes("|S3", false, []int{n, 4}, random(rng, n*12))},
		{"text.npy", other, npyBytes("<U3", false, []int{n}, utf32)},
		{"jet.npy", method, npyBytes("[('pt', '>f4'), ('id', '<i2', (3,)), ('', '|V2'), ('sub', [('a', '|u1'), ('s', '|S2')], (2,))]",
			false, []int{n, 5}, random(rng, n*5*18))},
		{"none.npy", method, npyBytes("<f4", false, []int{n, 0}, nil)},
		{"raw.npy", other, npyBytes("|V3", false, []int{n}, random(rng, n*3))},
		{"mean.npy", zips.Stored, npyBytes("<i4", false, nil, random(rng, 4))},
	}
}

func fortranOf(rng *rand.Rand, n int, method uint16) []member {
	return []member{
		{"f4.npy", method, npyBytes("<f4", true, []int{n, 5, 3, 2}, random(rng, n*120))},
		{"be.npy", method, npyBytes(">i2", true, []int{n, 40}, random(rng, n*80))},
		{"st.npy", method, npyBytes("[('a', '>i2'), ('b', '|S3')]", true, []int{n, 3}, random(rng, n*15))},
		{"c.npy", method, npyBytes("<f8", false, []int{n}, random(rng, n*8))},
	}
}

// typesOf makes files whose columns have other types in each, but hold values of all.
func typesOf(rng *rand.Rand, methods ...uint16) []member {
	var files []member
	for i, method := range methods {
		n := 20 + 7*i
		k := i % 3
		files = append(files, member{fmt.Sprintf("%d.npz", i), 0, archive(
			member{"f.npy", method, npyBytes([]string{"<f4", ">f8", ">f2"}[k], false, []int{n, 3}, random(rng, n*3*[]int{4, 8, 2}[k]))},
			member{"i.npy", method, npyBytes([]string{"|u1", "<i4", ">i2"}[k], i > 2, []int{n, 5}, random(rng, n*5*[]int{1, 4, 2}[k]))},
			member{"z.npy", method, npyBytes([]string{"<c8", "<c16", ">c8"}[k], false, []int{n}, random(rng, n*[]int{8, 16, 8}[k]))},
			member{"s.npy", method, npyBytes([]string{"|S2", "|S7", "|S1"}[k], false, []int{n}, random(rng, n*[]int{2, 7, 1}[k]))},
			member{"j.npy", method, npyBytes(fmt.Sprintf("[('a', '%s', (2,)), ('b', '|u1')]", []string{"<u2", "|i1", ">i4"}[k]), i == 1, []int{n, 2}, random(rng, n*2*[]int{5, 3, 9}[k]))},
		)})
	}
	return files
}

// singles are columns of n samples, and values that all of them have.
func singles(rng *rand.Rand, n int, method uint16, float string) []member {
	return []member{
		{"y.npy", method, npyBytes("<i8", false, []int{n}, random(rng, 8*n))},
		{"label.npy", method, npyBytes(float, false, nil, floats(rng, 8)[:float[2]-'0'])},
		{"name.npy", method, npyBytes("<U3", false, nil, []byte("h\x00\x00\x00\xe9\x00\x00\x00\x00\x00\x00\x00"))},
		{"info.npy", method, npyBytes("[('id', '<u2'), ('tags', '|S2', (3,))]", false, nil, []byte("\x01\x02ab\x00\x00c\x00"))},
		{"none.npy", method, npyBytes("|S2", false, nil, []byte("\x00\x00"))},
	}
}

func TestConformance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	file := func(name string, members []member) member { return member{name, 0, archive(members...)} }
	shape := func(i int) []int { return []int{3 + i%2, 4, 2 + i%3} }
	ragged := func(i int) []member {
		n := shape(i)
		return []member{
			{"x.npy", uint16(i % 2 * zips.Deflated), npyBytes("<f4", i%3 == 1, n, random(rng, 4*n[0]*n[1]*n[2]))},
			{"label.npy", zips.Stored, npyBytes("<i8", false, nil, random(rng, 8))},
			{"fixed.npy", zips.Deflated, npyBytes("<u2", false, []int{4, 2}, random(rng, 16))},
			{"words.npy", zips.Stored, npyBytes("|S4", false, []int{i}, random(rng, 4*i))},
		}
	}
	var raggeds []member
	for i := range 9 {
		raggeds = append(raggeds, file(fmt.Sprintf("s%d.npz", i), ragged(i)))
	}
	for _, c := range []struct {
		name    string
		table   *format.Table
		options format.Options
	}{
		{"stored", folder(t, file("a.npz", columnsOf(rng, 40, zips.Stored)), file("b.npz", columnsOf(rng, 1, zips.Stored)), file("c.npz", columnsOf(rng, 77, zips.Stored))), nil},
		{"deflated", folder(t, file("a.npz", columnsOf(rng, 40, zips.Deflated)), file("b.npz", columnsOf(rng, 77, zips.Deflated))), nil},
		{"mixed", folder(t, file("a.npz", columnsOf(rng, 40, 99)), file("b.npz", columnsOf(rng, 0, zips.Stored)), file("c.npz", columnsOf(rng, 30, zips.Stored)),
			member{"README.md", 0, []byte("no array")}), nil},
		{"npy", folder(t, member{"x_0.npy", 0, npyBytes("<f4", false, []int{30, 3}, random(rng, 360))},
			member{"x_1.npy", 0, npyBytes(">f4", true, []int{50, 3}, random(rng, 600))}), nil},
		{"fortran stored", folder(t, file("a.npz", fortranOf(rng, 90, zips.Stored)), file("b.npz", fortranOf(rng, 33, zips.Stored))), nil},
		{"fortran in distant pieces", folder(t, file("a.npz", []member{{"x.npy", zips.Stored, npyBytes("<f8", true, []int{2000, 2, 3}, random(rng, 2000*48))}})), nil},
		{"fortran deflated", folder(t, file("a.npz", fortranOf(rng, 90, zips.Deflated)), file("b.npz", fortranOf(rng, 33, zips.Deflated))), nil},
		{"another axis, stored", folder(t, file("a.npz", axesOf(rng, 90, zips.Stored)), file("b.npz", axesOf(rng, 0, zips.Stored)), file("c.npz", axesOf(rng, 33, zips.Stored))), format.Options{"axis": "1"}},
		{"another axis, deflated", folder(t, file("a.npz", axesOf(rng, 90, zips.Deflated)), file("b.npz", axesOf(rng, 33, zips.Deflated))), format.Options{"axis": "1"}},
		{"another axis, in distant pieces", folder(t, file("a.npz", []member{{"x.npy", zips.Stored, npyBytes("<f8", false, []int{2, 2000, 3}, random(rng, 2000*48))}})), format.Options{"axis": "1"}},
		{"another axis, npy", folder(t, member{"x_0.npy", 0, npyBytes("<f4", false, []int{3, 2, 30}, random(rng, 720))},
			member{"x_1.npy", 0, npyBytes(">f4", true, []int{3, 2, 50}, random(rng, 1200))}), format.Options{"axis": "-1"}},
		{"another axis, a file a sample", folder(t, raggeds...), format.Options{"sample": "file", "axis": "-1"}},
		{"a file a sample", folder(t, raggeds...), format.Options{"sample": "file"}},
		{"single values", folder(t, file("a.npz", singles(rng, 40, zips.Stored, "<f4")), file("b.npz", singles(rng, 77, zips.Deflated, ">f8")), file("c.npz", singles(rng, 0, zips.Stored, "<f4")),
			file("d.npz", singles(rng, 1, zips.Deflated, "<f4"))), nil},
		{"types that differ", folder(t, typesOf(rng, zips.Stored, zips.Stored, zips.Stored, zips.Stored)...), nil},
		{"types that differ, deflated", folder(t, typesOf(rng, zips.Deflated, zips.Stored, zips.Deflated, zips.Deflated)...), nil},
		{"types that differ, a file a sample", folder(t, typesOf(rng, zips.Stored, zips.Deflated, zips.Stored)...), format.Options{"sample": "file"}},
		{"types that differ, zip", roots(t,
			[]member{{"x0.npy", 0, npyBytes("<i4", false, []int{30, 3}, random(rng, 360))}, {"x1.npy", 0, npyBytes(">i8", true, []int{50, 3}, random(rng, 1200))}},
			[]member{file("a.npz", []member{{"w.npy", zips.Deflated, npyBytes("<f4", false, []int{10}, random(rng, 40))}}),
				file("b.npz", []member{{"w.npy", zips.Stored, npyBytes("<f8", false, []int{70}, random(rng, 560))}})}),
			format.Options{"zip": "true"}},
		{"zip", roots(t,
			[]member{{"x0.npy", 0, npyBytes("<f4", false, []int{30, 3}, random(rng, 360))}, {"x1.npy", 0, npyBytes("<f4", false, []int{50, 3}, random(rng, 600))}},
			[]member{{"y.npy", 0, npyBytes("<i8", false, []int{80}, random(rng, 640))}},
			[]member{file("a.npz", []member{{"w.npy", zips.Deflated, npyBytes("<f8", false, []int{10}, random(rng, 80))}}),
				file("b.npz", []member{{"w.npy", zips.Stored, npyBytes("<f8", false, []int{20}, random(rng, 160))}}),
				file("c.npz", []member{{"w.npy", zips.Deflated, npyBytes("<f8", false, []int{50}, random(rng, 400))}})}),
			format.Options{"zip": "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: c.table, Columns: columns, State: state, Options: c.options, Jobs: 3})
			})
		})
	}
}
