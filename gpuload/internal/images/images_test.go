package images

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	_ "github.com/shardify/shardify/tests/race"
)

// The tests of Python compare pixels and choices with Pillow's.

func scene(w, h int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, color.RGBA{byte(3 * x), byte(5 * y), byte(x * y), 255})
		}
	}
	return m
}

func files(t testing.TB) [][]byte {
	var a, b bytes.Buffer
	if err := jpeg.Encode(&a, scene(80, 60), nil); err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(&b, scene(61, 90)); err != nil {
		t.Fatal(err)
	}
	return [][]byte{a.Bytes(), b.Bytes()}
}

func packed(files ...[]byte) (values []byte, offsets, ids []int64) {
	offsets = []int64{0}
	for k, f := range files {
		values = append(values, f...)
		offsets, ids = append(offsets, int64(len(values))), append(ids, int64(k))
	}
	return values, offsets, ids
}

func form() *Form {
	return &Form{
		Width: 24, Height: 20, Channels: 3, To: shardify.U8, Scaled: true, Threads: 1, Seed: 5,
		shaping: shaping{Crop: [2]int{24, 20}, Area: [2]float64{0.08, 1}, Flip: 0.5},
	}
}

func TestTheNumbersOfASample(t *testing.T) {
	// python/shardify/geometry.py: draws(5, 3, [41])
	u := chanceOf(5, 3, forCut, 41)
	got := []float64{u.at(0), u.at(1), u.at(22)}
	if want := []float64{0.7610643989772513, 0.17153483860307184, 0.18129308235569885}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if math.Log(4.0/3) != broad {
		t.Errorf("broad is %x", math.Log(4.0/3))
	}
}

func TestPixelsDoNotDependOnThreadsOrBatches(t *testing.T) {
	in := files(t)
	var many [][]byte
	for range 20 {
		many = append(many, in...)
	}
	values, offsets, ids := packed(many...)
	ids[7] = -1
	f := form()
	each := 24 * 20 * 3
	want := make([]byte, each*len(ids))
	if left, err := f.Batch(2, values, offsets, ids, want, nil); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if !bytes.Equal(want[7*each:8*each], make([]byte, each)) || bytes.Equal(want[:each], want[2*each:3*each]) {
		t.Error("padding is not zeros, or two samples have the same part")
	}
	f.Threads = 5
	got := bytes.Repeat([]byte{9}, len(want))
	if _, err := f.Batch(2, values, offsets, ids, got, nil); err != nil || !bytes.Equal(got, want) {
		t.Error("other pixels on five threads", err)
	}
	if _, err := f.Batch(2, values, offsets[4:6], ids[4:5], got[:each], nil); err != nil || !bytes.Equal(got[:each], want[4*each:5*each]) {
		t.Error("other pixels in a batch of one", err)
	}
	if _, err := f.Batch(3, values, offsets, ids, got, nil); err != nil || bytes.Equal(got, want) {
		t.Error("the same pixels in another epoch", err)
	}
}

func TestWhatIsNotMadeIsLeftWithItsReason(t *testing.T) {
	in := files(t)
	wide := slices.Clone(in[1])
	wide[16], wide[20] = 0xff, 0xff
	values, offsets, ids := packed(in[0], []byte("GIF89a"), in[0][:500], nil, in[1][:300], wide, in[0])
	out := bytes.Repeat([]byte{9}, 24*20*3*len(ids))
	left, err := form().Batch(0, values, offsets, ids, out, nil)
	if err != nil || len(left) != 5 {
		t.Fatal(left, err)
	}
	for k, want := range []string{"neither", "truncated", "neither", "png", "checksum"} {
		if l := left[k]; l.Row != k+1 || !strings.Contains(l.Why, want) || l.Corrupt != (k == 1 || k >= 3) || strings.Contains(l.Why, "corrupt") {
			t.Errorf("%+v, want %s", l, want)
		}
		if each := 24 * 20 * 3; bytes.Contains(out[(k+1)*each:(k+2)*each], []byte{9}) {
			t.Errorf("row %d has no zeros", k+1)
		}
	}
	if left[1].Offset != 500 {
		t.Errorf("%+v: want the byte", left[1])
	}
}

// The header of a PPM may have other forms and other depths than the one that is taken as it is.
func TestOtherPPMsAreLeftAndNotDamaged(t *testing.T) {
	pix := bytes.Repeat([]byte{7}, 3*30*30)
	deep := append([]byte("P6 30 30 65535\n"), append(pix, pix...)...)
	values, offsets, ids := packed(append([]byte("P6 30 30 255\n"), pix...), append([]byte("P6 30 30\n255\n"), pix...), append([]byte("P6 30 30 100\n"), pix...), deep)
	left, err := form().Batch(0, values, offsets, ids, make([]byte, 24*20*3*len(ids)), nil)
	if err != nil || len(left) != 3 {
		t.Fatal(left, err)
	}
	for k, l := range left {
		if l.Row != k+1 || l.Corrupt || l.Why != errKind.Error() {
			t.Errorf("%+v", l)
		}
	}
}

func TestFormsAndBatchesThatCannotBeAreRefused(t *testing.T) {
	values, offsets, ids := packed(files(t)...)
	out := make([]byte, 24*20*3*2)
	for name, f := range map[string]func(f *Form, o []int64) []int64{
		"size":      func(f *Form, o []int64) []int64 { f.Width = 1 << 20; return o },
		"channels":  func(f *Form, o []int64) []int64 { f.Channels = 2; return o },
		"type":      func(f *Form, o []int64) []int64 { f.To = shardify.I64; return o },
		"scales":    func(f *Form, o []int64) []int64 { f.Scale = []float32{1}; return o },
		"threads":   func(f *Form, o []int64) []int64 { f.Threads = 0; return o },
		"crop":      func(f *Form, o []int64) []int64 { f.Crop[1] = -1; return o },
		"room":      func(f *Form, o []int64) []int64 { f.Height++; return o },
		"offsets":   func(_ *Form, o []int64) []int64 { return o[1:] },
		"backwards": func(_ *Form, o []int64) []int64 { return []int64{0, 9, 3} },
		"outside":   func(_ *Form, o []int64) []int64 { return []int64{0, 9, 1 << 30} },
		"below":     func(_ *Form, o []int64) []int64 { return []int64{-1, 9, 10} },
	} {
		g := form()
		if _, err := g.Batch(0, values, f(g, offsets), ids, out, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestABatchDoesNotAllocateForEachJPEG(t *testing.T) {
	in := files(t)
	values, offsets, ids := packed(slices.Repeat(in[:1], 50)...)
	out := make([]byte, 24*20*3*len(ids))
	f := form()
	if n := testing.AllocsPerRun(5, func() { f.Batch(1, values, offsets, ids, out, nil) }); n > 30 {
		t.Errorf("%v allocations for 50 images", n)
	}
}

func FuzzPaint(f *testing.F) {
	for _, file := range files(f) {
		f.Add(file, uint64(1), byte(0))
		f.Add(file, uint64(7), byte(0xff))
	}
	f.Fuzz(func(t *testing.T, file []byte, seed uint64, how byte) {
		g := form()
		g.Seed, g.Scaled, g.Last = seed, how&1 == 0, how&2 == 0
		if how&4 != 0 {
			g.shaping = shaping{Resize: [2]int{24, 20}}
		}
		if how&8 != 0 {
			g.Channels = 1
		}
		if how&16 != 0 {
			g.To = shardify.F16
		}
		if how&32 != 0 {
			g.shaping = shaping{Crop: [2]int{24, 20}, Anywhere: true}
		}
		out := make([]byte, 24*20*g.Channels*g.To.Size())
		left, err := g.Batch(0, file, []int64{0, int64(len(file))}, []int64{3}, out, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 && strings.Contains(left[0].Why, "the decoder stopped") {
			t.Fatal(left[0].Why)
		}
	})
}
