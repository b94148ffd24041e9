package stats

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"testing"

	"github.com/shardify/shardify"
)

// TestMiddleOfVolumes: the picture of a volume is its middle slice along the shortest axis.
func TestMiddleOfVolumes(t *testing.T) {
	const x, y, z = 40, 30, 9
	f := shardify.Field{Name: "image", DType: shardify.F32, Shape: []int{x, y, z}}
	var values []float32
	for sample := range 3 {
		for i := range x {
			for j := range y {
				for k := range z {
					v := float32(i * j)
					if k != z/2 || sample == 1 {
						v = float32(math.NaN())
					}
					values = append(values, v)
				}
			}
		}
	}
	ragged := shardify.Field{Name: "r", DType: shardify.I16, Ragged: true, Levels: 1}
	shapes := shardify.Field{Name: "r.shape", DType: shardify.I64, Shape: []int{2}}
	var small []int16
	for i := range 600 * 300 {
		small = append(small, int16(i/300))
	}
	s := New([]shardify.Field{f, ragged, shapes}, Options{Thumbnails: 3, Total: 3})
	p := s.Part(0)
	err := p.Add(&shardify.Batch{Samples: 3, IDs: make([]shardify.ID, 3), Columns: []shardify.Column{
		{Field: f, Data: shardify.Bytes(values)},
		{Field: ragged, Data: shardify.Bytes(small), Offsets: [][]int64{{0, 600 * 300, 600 * 300, 600 * 300}}},
		{Field: shapes, Data: shardify.Bytes([]int64{600, 300, 0, 300, 1 << 62, 8})},
	}})
	if err == nil {
		err = s.Merge(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	pictures := func(field int) (out []image.Image, where string) {
		for _, x := range r.Fields[field].Slices {
			im, err := png.Decode(bytes.NewReader(x.Data))
			if err != nil {
				t.Fatal(err)
			}
			out, where = append(out, im), where+fmt.Sprint(x.Sample, x.Place, im.Bounds().Size())
		}
		return out, where
	}
	list, where := pictures(0)
	if where != "0[:, :, 4](30,40)2[:, :, 4](30,40)" {
		t.Fatal(where) // sample 1 has nothing but NaN
	}
	if at := func(i, j int) byte { return list[0].(*image.Gray).GrayAt(j, i).Y }; at(0, 29) != 0 || at(39, 29) != 255 || at(20, 20) <= at(20, 10) || at(20, 20) != at(10, 20)*2+at(20, 20)%2 && at(20, 20) < 80 {
		t.Errorf("%d %d %d %d", at(0, 29), at(39, 29), at(20, 20), at(20, 10))
	}
	if _, where := pictures(1); where != "0[:, :](100,200)" {
		t.Error(where)
	}
}
