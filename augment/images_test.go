package augment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/resize"
)

// pattern is a picture of which every part is different.
func pattern(w, h int) picture {
	p := picture{w, h, make([]byte, 3*w*h)}
	for y := range h {
		for x := range w {
			for c := range 3 {
				p.pix[3*(y*w+x)+c] = byte(x*7 + y*13 + c*50 + (x*y)%31)
			}
		}
	}
	return p
}

func encodedAs(t testing.TB, kind string, p picture) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, p.w, p.h))
	for i := range p.w * p.h {
		m.SetRGBA(i%p.w, i/p.w, color.RGBA{p.pix[3*i], p.pix[3*i+1], p.pix[3*i+2], 255})
	}
	var w bytes.Buffer
	var err error
	switch kind {
	case "jpg":
		err = jpeg.Encode(&w, m, &jpeg.Options{Quality: 95})
	case "png":
		err = png.Encode(&w, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// photos is a batch of encoded images of several sizes, with a label.
func photos(t testing.TB, kind string, n int) *shardify.Batch {
	t.Helper()
	var data []byte
	o := []int64{0}
	for i := range n {
		data = append(data, encodedAs(t, kind, pattern(40+i%3*7, 50-i%4*5))...)
		o = append(o, int64(len(data)))
	}
	return &shardify.Batch{Samples: n, Columns: []shardify.Column{
		{Field: shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Media: kind}, Data: data, Offsets: [][]int64{o}},
		{Field: shardify.Field{Name: "cls", DType: shardify.U8}, Data: make([]byte, n)},
	}}
}

// then makes the batch that a chain of specs gives.
func then(t testing.TB, b *shardify.Batch, mem *shardify.Arena, specs ...string) *shardify.Batch {
	t.Helper()
	for _, spec := range specs {
		tr, fields := prepared(t, spec, b)
		out, err := tr.Apply(b, seed, mem)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if err := out.Match(fields); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		b = out
	}
	return b
}

func TestImagesConform(t *testing.T) {
	for _, spec := range []string{
		"resize=24", "resize=20x30,filter=lanczos", "centre-crop=32", "random-crop=16x20", "random-resized-crop=24", "flip", "flip=vertical,p=0.3",
		"decode=u8", "rotate=30,fill=128", "colour-jitter,brightness=0.4,contrast=0.4,saturation=0.4,hue=0.1", "encode=png", "encode=jpg,quality=80", "encode=jpg,chroma=4:4:4",
	} {
		kinds := []string{"png", "fixed"}
		if strings.HasPrefix(spec, "resize=24") || strings.HasPrefix(spec, "encode") || spec == "flip" {
			kinds = append(kinds, "jpg", "raw")
		}
		if testing.Short() {
			kinds = kinds[1:2]
		}
		for _, kind := range kinds {
			t.Run(spec+" of "+kind, func(t *testing.T) {
				mem := arena(t)
				var b *shardify.Batch
				switch kind {
				case "raw":
					b = then(t, photos(t, "png", 5), mem, "resize=45")
				case "fixed":
					b = then(t, photos(t, "png", 5), mem, "resize=44x46")
				default:
					b = photos(t, kind, 5)
				}
				out := conform(t, spec, b, mem)
				if f := out.Columns[0].Field; strings.HasPrefix(spec, "encode") != encoded(&f) || encoded(&f) == raw(&f) {
					t.Errorf("gives %+v", f)
				}
			})
		}
	}
}

// at is the picture of sample i of raw pixels.
func at(t testing.TB, b *shardify.Batch, i int) picture {
	t.Helper()
	var shape *shardify.Column
	if c := col(b, "image"+shardify.ShapeSuffix); c != nil {
		shape = c
	}
	p, err := load(col(b, "image"), shape, i, new(buffers))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChangesOfZeroStrengthGiveThePixelsBack.
func TestChangesOfZeroStrengthGiveThePixelsBack(t *testing.T) {
	mem := arena(t)
	b := photos(t, "png", 5)
	for _, spec := range []string{"rotate=0", "flip,p=0", "colour-jitter,brightness=0.0001", "random-resized-crop=40x50,scale=1,ratio=0.8"} {
		out := then(t, b, mem, spec)
		for i := range 5 {
			want := pattern(40+i%3*7, 50-i%4*5)
			p := at(t, out, i)
			if strings.HasPrefix(spec, "random-resized") {
				if i > 0 {
					continue // only the first has this size
				}
			}
			if p.w != want.w || p.h != want.h {
				t.Fatalf("%s: %d x %d", spec, p.w, p.h)
			}
			for k := range p.pix {
				if math.Abs(float64(p.pix[k])-float64(want.pix[k])) > 1 {
					t.Fatalf("%s: sample %d byte %d is %d, was %d", spec, i, k, p.pix[k], want.pix[k])
				}
			}
		}
	}
}

// TestGeometry: what each operation does to single pixels.
func TestGeometry(t *testing.T) {
	p := pattern(6, 4)
	pixelAt := func(p picture, x, y int) string { return fmt.Sprint(p.pix[3*(y*p.w+x):][:3]) }
	m := pattern(6, 4)
	mirror(m, false)
	v := pattern(6, 4)
	mirror(v, true)
	var s buffers
	half := s.rotate(p, math.Pi, 0)
	var s2 buffers
	part, err := s2.cut(p, cut{2, 1, 3, 2, resize.Size{W: 3, H: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for y := range 4 {
		for x := range 6 {
			if pixelAt(m, x, y) != pixelAt(p, 5-x, y) || pixelAt(v, x, y) != pixelAt(p, x, 3-y) || pixelAt(half, x, y) != pixelAt(p, 5-x, 3-y) {
				t.Fatalf("pixel %d, %d", x, y)
			}
			if x >= 2 && x < 5 && y >= 1 && y < 3 && pixelAt(part, x-2, y-1) != pixelAt(p, x, y) {
				t.Fatalf("pixel %d, %d of the crop", x, y)
			}
		}
	}
	// A quarter turn of a square, counter-clockwise: what was right is on top.
	q := pattern(5, 5)
	var s3 buffers
	quarter := s3.rotate(q, math.Pi/2, 0)
	if pixelAt(quarter, 2, 0) != pixelAt(q, 4, 2) || pixelAt(quarter, 0, 2) != pixelAt(q, 2, 0) {
		t.Error("a quarter turn goes the wrong way")
	}
}

func TestHueTurnsTheCircle(t *testing.T) {
	for by, want := range map[float64]string{1. / 3: "[0 200 0]", -1. / 3: "[0 0 200]", 0.5: "[0 200 200]"} {
		p := []byte{200, 0, 0}
		turnHue(p, by)
		if fmt.Sprint(p) != want {
			t.Errorf("red turned by %v is %v, want %s", by, p, want)
		}
	}
	for range 1 {
		p := []byte{120, 50, 90}
		turnHue(p, 1)
		if fmt.Sprint(p) != "[120 50 90]" {
			t.Errorf("a whole turn gives %v", p)
		}
	}
}

// TestColoursOfJPEGAreTheLibrarys within one step, for every kind of subsampling.
func TestColoursOfJPEGAreTheLibrarys(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410} {
		m := image.NewYCbCr(image.Rect(0, 0, 37, 21), ratio)
		for _, plane := range [][]byte{m.Y, m.Cb, m.Cr} {
			for i := range plane {
				plane[i] = byte(i*i*7 + i*31)
			}
		}
		sub := m.SubImage(image.Rect(3, 2, 35, 20)).(*image.YCbCr)
		var s buffers
		p := s.picture(sub)
		for y := range p.h {
			for x := range p.w {
				r, g, b, _ := sub.At(x+3, y+2).RGBA()
				for c, want := range []uint32{r, g, b} {
					if got := p.pix[3*(y*p.w+x)+c]; math.Abs(float64(got)-float64(want>>8)) > 1 {
						t.Fatalf("%v pixel %d, %d: %d, want %d", ratio, x, y, got, want>>8)
					}
				}
			}
		}
	}
}

// TestDamagedImagesAreNamed with field and sample, and cost no memory.
func TestDamagedImagesAreNamed(t *testing.T) {
	good := encodedAs(t, "png", pattern(30, 30))
	huge := bytes.Clone(good)
	copy(huge[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65536 x 65536
	for name, bad := range map[string][]byte{"no image": []byte("hello"), "empty": {}, "cut": good[:len(good)/2], "huge": huge} {
		data := append(bytes.Clone(good), bad...)
		b := &shardify.Batch{Samples: 2, First: shardify.ID{Sample: 100}, Columns: []shardify.Column{{
			Field: shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Media: "png"},
			Data:  data, Offsets: [][]int64{{0, int64(len(good)), int64(len(data))}},
		}}}
		tr, _ := prepared(t, "resize=10", b)
		_, err := tr.Apply(b, seed, arena(t))
		var e *shardify.Error
		if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.Field != "image" || e.Sample != 101 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSoundImagesOfOtherFormatsAreNotCalledDamaged: the hint for damage is to fetch the
// input again, which does not help here.
func TestSoundImagesOfOtherFormatsAreNotCalledDamaged(t *testing.T) {
	for file, want := range map[string]string{
		"RIFF\x10\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00": "animated WebP",
		"II*\x00\x08\x00\x00\x00":                                      "TIFF", "MM\x00*\x00\x00\x00\x08": "TIFF", "BM\x46\x00": "BMP", "\x00\x00\x00\x20ftypavif": "AVIF",
	} {
		if _, err := new(buffers).decode([]byte(file)); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
	for _, file := range []string{"", "B", "RIFF", "RIFF\x10\x00\x00\x00WEBPVP8X"} {
		if _, err := new(buffers).decode([]byte(file)); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestTooSmallForACrop(t *testing.T) {
	b := photos(t, "png", 1)
	tr, _ := prepared(t, "centre-crop=64", b)
	if _, err := tr.Apply(b, seed, arena(t)); err == nil || !strings.Contains(err.Error(), "--augment resize=64 before it") {
		t.Errorf("%v", err)
	}
}

// TestMissingImagesStayMissing: zeros, and not decoded.
func TestMissingImagesStayMissing(t *testing.T) {
	mem := arena(t)
	b := photos(t, "png", 3)
	c := &b.Columns[0]
	c.Nullable, c.Valid = true, []byte{1, 0, 1}
	o := c.Offsets[0]
	n := o[2] - o[1]
	c.Data = append(c.Data[:o[1]:o[1]], c.Data[o[2]:]...)
	o[2], o[3] = o[1], o[3]-n
	for _, specs := range [][]string{{"resize=8x8"}, {"resize=8"}, {"resize=8x8", "encode=png"}, {"flip", "encode=jpg"}} {
		out := then(t, b, mem, specs...)
		lo, hi := out.Columns[0].Range(1, 2)
		if out.Columns[0].Valid[1] != 0 || bytes.ContainsFunc(out.Columns[0].Data[lo:hi], func(r rune) bool { return r != 0 }) {
			t.Errorf("%v: %x", specs, out.Columns[0].Data[lo:hi])
		}
	}
}

func BenchmarkImages(b *testing.B) {
	p := picture{500, 375, make([]byte, 3*500*375)}
	for i := range p.pix {
		x, y := i/3%500, i/3/500
		p.pix[i] = byte(128 + 60*math.Sin(float64(x)/30+float64(i%3)) + 40*math.Cos(float64(y)/20) + float64(i*2654435761>>24&15))
	}
	jpg := encodedAs(b, "jpg", p)
	one := &shardify.Batch{Samples: 1, Columns: []shardify.Column{{Field: shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Media: "jpg"},
		Data: jpg, Offsets: [][]int64{{0, int64(len(jpg))}}}}}
	mem := arena(b)
	rawOne := then(b, one, mem, "flip,p=0")
	small := then(b, one, mem, "resize=224x224")
	for _, c := range []struct {
		spec string
		in   *shardify.Batch
	}{{"flip", one}, {"resize=224x224", rawOne}, {"resize=224x224,filter=bicubic", rawOne}, {"random-resized-crop=224", rawOne}, {"rotate=30", small},
		{"colour-jitter,brightness=0.4,contrast=0.4,saturation=0.4", small}, {"colour-jitter,hue=0.1", small}, {"encode=jpg", small}, {"encode=png", small}} {
		b.Run(fmt.Sprintf("%s of %d KiB", c.spec, len(c.in.Columns[0].Data)>>10), func(b *testing.B) {
			tr, _ := prepared(b, c.spec, c.in)
			for b.Loop() {
				a, _ := memory.Grant(context.Background(), 1<<20)
				if _, err := tr.Apply(c.in, seed, a); err != nil {
					b.Fatal(err)
				}
				a.Release()
			}
		})
	}
}

// decodedBy is a batch of the pixels of the JPEGs of b, as PNG.
func decodedBy(t testing.TB, b *shardify.Batch) *shardify.Batch {
	t.Helper()
	var data []byte
	o := []int64{0}
	for i := range b.Samples {
		p, err := load(&b.Columns[0], nil, i, new(buffers))
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, encodedAs(t, "png", p)...)
		o = append(o, int64(len(data)))
	}
	out := *b
	out.Columns = slices.Clone(b.Columns)
	out.Columns[0].Media, out.Columns[0].Data, out.Columns[0].Offsets = "png", data, [][]int64{o}
	return &out
}

// TestPartsOfJPEGs: only what is needed is decoded, and the pixels are those of the whole.
func TestPartsOfJPEGs(t *testing.T) {
	mem := arena(t)
	b := photos(t, "jpg", 7)
	whole := decodedBy(t, b)
	for _, spec := range []string{"resize=24", "resize=20x30,filter=lanczos", "resize=40x50", "centre-crop=32", "random-crop=16x20", "random-resized-crop=24", "random-resized-crop=24,filter=bicubic", "flip"} {
		got, want := then(t, b, mem, spec), then(t, whole, mem, spec)
		if !bytes.Equal(got.Columns[0].Data, want.Columns[0].Data) || len(got.Columns[0].Data) == 0 {
			t.Errorf("%s: other pixels than those of the whole image", spec)
		}
	}
}

// TestTruncatedJPEGs: an error with the place, or grey.
func TestTruncatedJPEGs(t *testing.T) {
	b := photos(t, "jpg", 1)
	c := &b.Columns[0]
	whole := then(t, b, arena(t), "resize=40x50")
	c.Data = c.Data[:len(c.Data)*3/4]
	c.Offsets[0][1] = int64(len(c.Data))
	for _, spec := range []string{"resize=40x50", "flip,p=0", "encode=png", "check"} {
		tr, _ := prepared(t, spec, b)
		_, err := tr.Apply(b, seed, arena(t))
		if e := (*shardify.Error)(nil); !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.Offset != int64(len(c.Data)) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	got := then(t, b, arena(t), "resize=40x50,truncated=fill").Columns[0].Data
	want := whole.Columns[0].Data
	if n := 3 * 40 * 16; !bytes.Equal(got[:n], want[:n]) || bytes.Equal(got, want) || got[len(got)-1] != 128 {
		t.Errorf("filled: %d %d %d", got[:3], want[:3], got[len(got)-3:])
	}
	if n := len(then(t, b, arena(t), "encode=jpg,truncated=fill").Columns[0].Data); n == 0 {
		t.Error("nothing is encoded")
	}
}
