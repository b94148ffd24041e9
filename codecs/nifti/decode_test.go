package nifti

import (
	"bytes"
	"os"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/voxels"
)

// TestScaledVolumes compares with one value at a time: where it is in the file, scaled by itself.
func TestScaledVolumes(t *testing.T) {
	for _, name := range []string{"scaled_i16.nii", "scaled_complex.nii", "nifti2_big.nii"} {
		file, err := os.ReadFile("../../readers/nifti/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Append([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		width, parts := v.Type.DType.Size(), max(v.Type.Parts, 1)
		index, want := make([]int, len(v.Dims)), []byte("before")
		for range int(v.values()) / parts {
			place, step := 0, 1
			for k, d := range v.Dims {
				place += index[k] * step
				step *= d
			}
			at := int(v.Offset) + place*width*parts
			one := shardify.Bytes(make([]uint64, parts))[:width*parts]
			copy(one, file[at:])
			if v.Big {
				voxels.Swap(one, width)
			}
			if v.Scaled {
				scaled := shardify.Bytes(make([]float64, parts))
				voxels.Scale(v.Type.DType, v.Slope, v.Inter, v.Type.Complex())(scaled, one)
				one = scaled
			}
			want = append(want, one...)
			for k := len(index) - 1; k >= 0; k-- {
				if index[k]++; index[k] < v.Dims[k] {
					break
				}
				index[k] = 0
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s %v: other values", name, v.Dims)
		}
	}
}
