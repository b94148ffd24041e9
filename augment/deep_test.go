package augment

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// deepFiles are a grey image of 9 x 7 pixels and 16 bits that Pillow wrote, its pixels as
// np.asarray(Image.open(f)) has them, and a file of colours of 16 bits.
func deepFiles(t testing.TB) (grey, pixels, colours []byte) {
	t.Helper()
	grey, err := os.ReadFile("testdata/grey16.png")
	if err != nil {
		t.Fatal(err)
	}
	if pixels, err = os.ReadFile("testdata/grey16.bin"); err != nil {
		t.Fatal(err)
	}
	m := image.NewRGBA64(image.Rect(0, 0, 40, 50))
	for i := range 2000 {
		m.SetRGBA64(i%40, i/40, color.RGBA64{uint16(i * 31), uint16(i * 17), uint16(i * 7), 65535})
	}
	var w bytes.Buffer
	if err := png.Encode(&w, m); err != nil {
		t.Fatal(err)
	}
	return grey, pixels, w.Bytes()
}

func filesOf(media string, files ...[]byte) *shardify.Batch {
	o := []int64{0}
	for _, f := range files {
		o = append(o, o[len(o)-1]+int64(len(f)))
	}
	f := shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Media: media}
	return &shardify.Batch{Samples: len(files), Columns: []shardify.Column{{Field: f, Data: slices.Concat(files...), Offsets: [][]int64{o}}}}
}

// hints are the operations that an error names behind --augment.
func hints(err error) (out []string) {
	for _, s := range strings.Split(err.Error(), "--augment '")[1:] {
		spec, _, _ := strings.Cut(s, "'")
		out = append(out, spec)
	}
	return out
}

// TestNoBitsAreLostUnasked: an operation that keeps 8 bits refuses images of 16, of grey as
// of colours, and what the error names works.
func TestNoBitsAreLostUnasked(t *testing.T) {
	grey, _, colours := deepFiles(t)
	for _, spec := range []string{
		"orient", "resize=6", "resize=6x5", "centre-crop=6", "random-crop=6", "random-resized-crop=6", "flip", "flip=vertical,p=0", "rotate=9",
		"colour-jitter,hue=0.1", "encode=png", "encode=jpg", "decode=u8",
	} {
		for k, file := range [][]byte{grey, colours} {
			b := filesOf("png", encodedAs(t, "png", pattern(8, 8)), file)
			tr, _ := prepared(t, spec, b)
			_, err := tr.Apply(b, seed, arena(t))
			var e *shardify.Error
			if !errors.Is(err, shardify.ErrSchema) || !errors.As(err, &e) || e.Sample != 1 || e.Field != "image" {
				t.Errorf("%s: %v", spec, err)
				continue
			}
			named := hints(err)
			if len(named) != 2-k || named[0] != spec+",bits16=upper" || k == 0 && named[1] != "decode=u16" {
				t.Errorf("%s: the error names %q: %v", spec, named, err)
			}
			for i, hint := range named {
				if i == 1 {
					b = filesOf("png", file)
				}
				then(t, b, arena(t), hint)
			}
		}
	}
}

// TestGreyOf16BitsAsPillow: decode=u16 gives the values that Pillow does.
func TestGreyOf16BitsAsPillow(t *testing.T) {
	grey, pixels, colours := deepFiles(t)
	b := filesOf("png", grey, grey)
	out := then(t, b, arena(t), "decode=u16")
	c, shape := &out.Columns[0], &out.Columns[1]
	if c.DType != shardify.U16 || !c.Ragged || !bytes.Equal(c.Data, slices.Concat(pixels, pixels)) || !slices.Equal(c.Offsets[0], []int64{0, 63, 126}) {
		t.Errorf("%+v", c)
	}
	if shape.Name != "image.shape" || !bytes.Equal(shape.Data, shardify.Bytes([]int64{7, 9, 7, 9})) {
		t.Errorf("%+v", shape)
	}
	conform(t, "decode=u16", filesOf("png", grey, grey, grey, grey), arena(t))
	damaged := bytes.Clone(grey)
	damaged[len(damaged)-20] ^= 1
	for _, c := range []struct {
		media string
		file  []byte
		is    error
		hint  string
	}{
		{"png", encodedAs(t, "png", pattern(8, 8)), shardify.ErrSchema, "decode=u8,bits16=upper"},
		{"image", encodedAs(t, "jpg", pattern(8, 8)), shardify.ErrSchema, "decode=u8,bits16=upper"},
		{"png", colours, shardify.ErrSchema, "decode=u8,bits16=upper"},
		{"png", damaged, shardify.ErrCorrupt, ""},
		{"png", nil, shardify.ErrCorrupt, ""},
	} {
		b := filesOf(c.media, grey, c.file)
		tr, _ := prepared(t, "decode=u16", b)
		_, err := tr.Apply(b, seed, arena(t))
		if !errors.Is(err, c.is) || len(hints(err)) != len(strings.Fields(c.hint)) {
			t.Errorf("%v: %q", err, hints(err))
		} else if c.hint != "" {
			if hints(err)[0] != c.hint {
				t.Errorf("%q instead of %s", hints(err), c.hint)
			}
			then(t, b, arena(t), c.hint)
		}
	}
	if _, err := damagedBy(t, damaged, "resize=6"); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error("a damaged file of 16 bits:", err)
	}
}

func damagedBy(t *testing.T, file []byte, spec string) (*shardify.Batch, error) {
	b := filesOf("png", file)
	tr, _ := prepared(t, spec, b)
	return tr.Apply(b, seed, arena(t))
}

// TestPixelsOf16BitsGoNoFurther: what changes pixels of 8 bits says so in front of the work.
func TestPixelsOf16BitsGoNoFurther(t *testing.T) {
	grey, _, _ := deepFiles(t)
	out := then(t, filesOf("png", grey), arena(t), "decode=u16")
	for _, spec := range []string{"resize=6", "flip", "encode=png", "orient", "check", "decode=u8", "decode=u16"} {
		s, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := s.New(Env{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tr.Schema(schemaOf(out)); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "pixels of 16 bits") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, spec := range []string{"decode=u16", "decode=u8", "resize=6,bits16=upper"} {
		if _, err := NewChain([]string{spec}); err == nil {
			t.Errorf("a loader takes %s", spec)
		}
	}
	if _, err := Parse("resize=6,bits16=lower"); err == nil || !strings.Contains(err.Error(), "want error or upper") {
		t.Error(err)
	}
}

// TestCheckKeepsDeepImages: nothing is decoded for good, so nothing is refused.
func TestCheckKeepsDeepImages(t *testing.T) {
	grey, _, colours := deepFiles(t)
	b := filesOf("png", grey, colours)
	if out := then(t, b, arena(t), "check"); !bytes.Equal(out.Columns[0].Data, b.Columns[0].Data) || out.Counts != nil {
		t.Errorf("%+v", out.Counts)
	}
	for _, f := range [][]byte{grey, colours} {
		if _, err := CheckImage(f, 1<<20); err != nil {
			t.Error(err)
		}
	}
}
