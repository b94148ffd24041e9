package annotations

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// wavFile is a recording of i16: 0, 1, 2, ... in frames of some channels.
func wavFile(channels, frames int) string {
	n := 2 * channels * frames
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+n))...)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, 8000)
	b = binary.LittleEndian.AppendUint32(b, uint32(16000*channels))
	b = binary.LittleEndian.AppendUint16(b, uint16(2*channels))
	b = append(b, "\x10\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	for i := range channels * frames {
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
	}
	return string(b)
}

// TestRecordings: values and rates; files that differ are errors whose hints are read.
func TestRecordings(t *testing.T) {
	s, err := ParseSpec("label=wav")
	if err != nil || !s.Looks {
		t.Fatal(err)
	}
	if _, err := newTest(t, "label=wav").Schema(transformtest.SchemaOf(batch())); err == nil || !strings.Contains(err.Error(), "of=i16x1") {
		t.Errorf("no file was looked at: %v", err)
	}
	if err := s.Look([]byte(wavFile(2, 3))); err != nil || s.Text() != "label=wav of=i16x2" {
		t.Fatalf("%q, %v", s.Text(), err)
	}
	apply := func(text string, files ...string) (*shardify.Batch, error) {
		p, in := newTest(t, text), batch(files...)
		if _, err := p.Schema(transformtest.SchemaOf(in)); err != nil {
			t.Fatal(err)
		}
		return p.Apply(in, 0, transformtest.Arena(t))
	}
	out, err := apply(s.Text(), wavFile(2, 3), "-", wavFile(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	c, rate := &out.Columns[1], &out.Columns[2]
	if c.Name != "label" || c.Shape[0] != 2 || len(c.Offsets[0]) != 4 || c.Offsets[0][3] != 4 || shardify.View[int16](c.Data)[7] != 1 || rate.Name != "label_rate" || shardify.View[int32](rate.Data)[2] != 8000 || c.Valid[1] != 0 {
		t.Errorf("%+v %+v", c, rate)
	}
	_, err = apply(s.Text(), wavFile(2, 3), wavFile(1, 3))
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "1 channels, where others have 2") {
		t.Errorf("other channels: %v", err)
	}
	for _, hint := range shardify.Hints(err) {
		text, _, _ := strings.Cut(strings.TrimPrefix(hint, "--parse '"), "'")
		if out, err := apply(text, wavFile(2, 3), wavFile(1, 3)); err != nil || shardify.View[float32](out.Columns[1].Data)[1] != 2.5/(1<<15) {
			t.Errorf("%s: %v", hint, err)
		}
	}
	cut := wavFile(1, 3)[:49]
	if _, err = apply("label=wav of=i16x1", cut); !errors.Is(err, shardify.ErrCorrupt) || len(shardify.Hints(err)) != 1 {
		t.Errorf("a file that is cut: %v", err)
	}
	if out, err := apply("label=wav of=i16x1 short=take", cut); err != nil || out.Columns[1].Offsets[0][1] != 2 {
		t.Errorf("a file that is cut, taken: %v", err)
	}
	for _, text := range []string{"label=wav as=f64", "label=wav channels=2", "label=wav channels=1", "label=wav names=x", "label=wav keep=yes", "label=wav of=i64x1", "label=wav of=i16", "label=voc as=f32", "label=f32 of=i16x1", `label=wav names=["a"]`} {
		if _, err := newParse(&op.Env{}, text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
