package annotations

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/transformtest"
)

// niftiFile is a volume of i16: 0, 1, 2, ... in the order of the file, in which the first index is the fastest.
func niftiFile(dims ...int) string {
	b := make([]byte, 352)
	le := binary.LittleEndian
	le.PutUint32(b, 348)
	le.PutUint16(b[40:], uint16(len(dims)))
	n := 1
	for i, d := range dims {
		le.PutUint16(b[42+2*i:], uint16(d))
		n *= d
	}
	le.PutUint16(b[70:], 4)
	le.PutUint32(b[108:], 0x43b00000) // 352
	copy(b[344:], "n+1\x00")
	for i := range n {
		b = le.AppendUint16(b, uint16(i))
	}
	return string(b)
}

// TestVolumes: values and shapes; files that differ are errors.
func TestVolumes(t *testing.T) {
	s, err := ParseSpec("label=nifti")
	if err != nil || !s.Looks {
		t.Fatal(err)
	}
	if err := s.Look([]byte(niftiFile(2, 3))); err != nil || s.Text() != "label=nifti of=i16x2" {
		t.Fatalf("%q, %v", s.Text(), err)
	}
	apply := func(text string, files ...string) (*shardify.Batch, error) {
		p, in := newTest(t, text), batch(files...)
		if _, err := p.Schema(transformtest.SchemaOf(in)); err != nil {
			t.Fatal(err)
		}
		return p.Apply(in, 0, transformtest.Arena(t))
	}
	out, err := apply(s.Text(), niftiFile(2, 3), "-", niftiFile(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	c, shape := &out.Columns[1], &out.Columns[2]
	if got := shardify.View[int16](c.Data); c.Name != "label" || !c.Ragged || len(got) != 8 || got[1] != 2 || got[3] != 1 || c.Offsets[0][3] != 8 || c.Valid[1] != 0 {
		t.Errorf("%+v %v", c, got)
	}
	if got := shardify.View[int64](shape.Data); shape.Name != "label.shape" || len(got) != 6 || got[1] != 3 || got[2] != 0 || got[5] != 2 {
		t.Errorf("%+v %v", shape, got)
	}
	for _, other := range []string{niftiFile(2, 3, 2), niftiFile(2, 3)[:360], "no volume"} {
		if _, err := apply(s.Text(), niftiFile(2, 3), other); !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%.10q: %v", other, err)
		}
	}
	if out, err = apply("label=nifti of=u8x2 as=f32", niftiFile(2, 2)); err != nil || shardify.View[float32](out.Columns[1].Data)[1] != 2 {
		t.Errorf("as floats: %v", err)
	}
	if _, err := apply("label=nifti of=u8x2", niftiFile(2, 2)); err == nil || !strings.Contains(err.Error(), "values of i16, where others have u8") {
		t.Errorf("another type: %v", err)
	}
}

// npyFile is an array in a file as numpy.save writes it.
func npyFile(descr, shape, data string, fortran string) string {
	text := "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), 0}) + text + data
}

// TestArraysOfNumPy: values, shapes, order and missing files; others than numbers are errors.
func TestArraysOfNumPy(t *testing.T) {
	apply := func(first string, others ...string) (*shardify.Batch, string, error) {
		s, err := ParseSpec("mask=npy")
		if err != nil {
			t.Fatal(err)
		}
		if err = s.Look([]byte(first)); err != nil {
			return nil, "", err
		}
		s.Field = "label"
		p, in := newTest(t, s.Text()), batch(append([]string{first}, others...)...)
		if _, err := p.Schema(transformtest.SchemaOf(in)); err != nil {
			t.Fatal(err)
		}
		out, err := p.Apply(in, 0, transformtest.Arena(t))
		return out, s.Text(), err
	}
	out, text, err := apply(npyFile(">i2", "2, 3", "\x00\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05", "True"), "-", npyFile("<i2", "1, 2", "\x07\x00\x08\x00", "False"))
	if err != nil || text != "label=npy of=i16x2" {
		t.Fatalf("%q, %v", text, err)
	}
	c, shape := &out.Columns[1], shardify.View[int64](out.Columns[2].Data)
	if got := shardify.View[int16](c.Data); !slices.Equal(got, []int16{0, 2, 4, 1, 3, 5, 7, 8}) || c.Valid[1] != 0 || !slices.Equal(shape, []int64{2, 3, 0, 0, 1, 2}) {
		t.Errorf("%v %v %v", got, shape, c.Valid)
	}
	if out, text, err = apply(npyFile("<f4", "", "\x00\x00\x80\x3f", "False"), "-"); err != nil || text != "label=npy of=f32" {
		t.Fatalf("%q, %v", text, err)
	}
	if got := shardify.View[float32](out.Columns[1].Data); len(out.Columns) != 2 || !slices.Equal(got, []float32{1, 0}) || out.Columns[1].Valid[1] != 0 {
		t.Errorf("numbers: %v", got)
	}
	if out, _, err = apply(npyFile("|b1", "3,", "\x00\x02\x01", "False")); err != nil || string(out.Columns[1].Data) != "\x00\x01\x01" {
		t.Errorf("bools: %v", err)
	}
	for _, bad := range []string{npyFile("<f4", "2,", "1234", "False"), npyFile("<U1", "1,", "1234", "False"), npyFile("<M8[s]", "1,", "12345678", "False"), npyFile("|O", "1,", "12345678", "False"), "\x93NUMPY\x01\x00\xff\xff", ""} {
		if _, _, err := apply(bad); !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

// TestTensors: the bytes are those of tf.io.serialize_tensor, of i32 [1 3] and [2 0], and f32 [1 3].
func TestTensors(t *testing.T) {
	const row, none, floats = "\x08\x03\x12\x08\x12\x02\x08\x01\x12\x02\x08\x03\x22\x0c\x00\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00", "\x08\x03\x12\x06\x12\x02\x08\x02\x12\x00", "\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x03\x22\x0c\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x40\x40"
	s, err := ParseSpec("label=tensor")
	if err != nil || !s.Looks {
		t.Fatal(err)
	}
	if err := s.Look([]byte(row)); err != nil || s.Text() != "label=tensor of=i32x2" {
		t.Fatalf("%q, %v", s.Text(), err)
	}
	apply := func(text string, files ...string) (*shardify.Batch, error) {
		p, in := newTest(t, text), batch(files...)
		if _, err := p.Schema(transformtest.SchemaOf(in)); err != nil {
			t.Fatal(err)
		}
		return p.Apply(in, 0, transformtest.Arena(t))
	}
	out, err := apply(s.Text(), row, none, row)
	if err != nil {
		t.Fatal(err)
	}
	values, shapes := shardify.View[int32](out.Columns[1].Data), shardify.View[int64](out.Columns[2].Data)
	if !slices.Equal(values, []int32{0, 1, 3, 0, 1, 3}) || !slices.Equal(shapes, []int64{1, 3, 2, 0, 1, 3}) {
		t.Errorf("%v of shapes %v", values, shapes)
	}
	for _, other := range []string{floats, "\x08\x03\x12\x00\x22\x04\x00\x00\x00\x00", row[:20], "no tensor"} {
		if _, err := apply(s.Text(), row, other); !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrSchema) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%.10q: %v", other, err)
		}
	}
}
