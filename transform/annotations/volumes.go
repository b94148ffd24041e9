package annotations

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/nifti"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/codecs/tensorproto"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/internal/numeric"
)

// array is a file in memory that holds one array of numbers.
type array interface {
	DType() shardify.DType
	Shape() []int
	Append(dst []byte) ([]byte, error) // in the order of the indices
}

// arrays are the forms of such files.
var arrays = map[string]func(file []byte) (array, error){
	"nifti": func(file []byte) (array, error) { return nifti.Open(file) },
	"npy":   func(file []byte) (array, error) { return npy.Open(file) },
	"tensor": func(file []byte) (array, error) {
		t, err := tensorproto.Open(file)
		if err == nil && len(t.Shape()) == 0 {
			err = shardify.Unsupported("a tensor without dimensions")
		}
		return t, err
	},
}

// volumeFields are the values of an array, in the place of the file, and its shape.
func volumeFields(s *Spec) []made {
	m := made{dtype: s.kind.dtype, ragged: true}
	if s.as != shardify.Invalid {
		m.dtype = s.as
	}
	if s.kind.channels == 0 { // a number
		return []made{{dtype: m.dtype, one: true}}
	}
	return []made{m, {name: shardify.ShapeSuffix, dtype: shardify.I64, shape: []int{s.kind.channels}, one: true}}
}

// volume reads the values of an array.
func volume(s *Spec, file []byte, r *rows) error {
	v, err := arrays[s.form](file)
	if err != nil {
		return err
	}
	shape, as := v.Shape(), s.as
	switch found := (recorded{v.DType(), len(shape)}); {
	case len(shape) != s.kind.channels:
		return shardify.Mismatch("%d dimensions, where others have %d", len(shape), s.kind.channels)
	case as == shardify.Invalid && found != s.kind:
		return shardify.Hint(shardify.Mismatch("values of %v, where others have %v", found.dtype, s.kind.dtype), s.unify("as=f32"))
	case as == shardify.Invalid:
		as = v.DType()
	}
	c := &r.columns[0]
	if as == v.DType() {
		c.data, err = v.Append(c.data)
	} else {
		var values []byte
		if values, err = v.Append(nil); err == nil {
			floats := voxels.Grow(nil, len(values)/v.DType().Size()*s.as.Size())
			numeric.Convert(floats, s.as, values, v.DType())
			c.data = append(c.data, floats...)
		}
	}
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
		r.i64(1, int64(d))
	}
	r.objects += n
	return err
}
