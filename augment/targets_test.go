package augment

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/numbers/elementary"
)

// pairs is images with masks, boxes, their classes, and points: a rectangle of class k of each mask is box k.
func pairs(t testing.TB, n int) *shardify.Batch {
	t.Helper()
	b := photos(t, "png", n)
	var masks []byte
	var boxes, points []float32
	var cls []int32
	ends, o, po := []int64{0}, []int64{0}, []int64{0}
	for i := range n {
		w, h := 40+i%3*7, 50-i%4*5
		m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White, color.Gray{9}, color.Gray{200}})
		for k := range i % 4 { // some have none
			x, y := 3+9*k, 5+4*k
			for dy := range 6 {
				for dx := range 8 {
					m.SetColorIndex(x+dx, y+dy, uint8(k+1))
				}
			}
			boxes = append(boxes, float32(x), float32(y), float32(x+8), float32(y+6))
			points = append(points, float32(x)+4, float32(y)+3, 2)
			cls = append(cls, int32(k+1))
		}
		var f bytes.Buffer
		if err := png.Encode(&f, m); err != nil {
			t.Fatal(err)
		}
		masks = append(masks, f.Bytes()...)
		ends, o, po = append(ends, int64(len(masks))), append(o, int64(len(cls))), append(po, int64(len(points)/3))
	}
	list := func(name, attr, form string, data []byte, dt shardify.DType, shape ...int) shardify.Column {
		f := shardify.Field{Name: name, DType: dt, Levels: 1, Shape: shape, Counter: "object"}
		if attr != "" {
			f.Attrs = map[string]string{attr: form}
		}
		return shardify.Column{Field: f, Data: data, Offsets: [][]int64{o}}
	}
	b.Columns = append([]shardify.Column{{Field: shardify.Field{Name: "mask", DType: shardify.U8, Levels: 1, Media: "png", Attrs: map[string]string{"mask": "classes"}}, Data: masks, Offsets: [][]int64{ends}}},
		append(b.Columns, list("boxes", "boxes", "xyxy", shardify.Bytes(boxes), shardify.F32, 4), list("class", "", "", shardify.Bytes(cls), shardify.I32), list("points", "points", "xyv", shardify.Bytes(points), shardify.F32, 3))...)
	return b
}

func TestTargetsConform(t *testing.T) {
	for _, spec := range []string{"resize=24", "resize=20x30", "centre-crop=32x20", "random-crop=16x20", "random-resized-crop=24", "flip", "flip=vertical", "rotate=30", "decode=u8", "orient", "colour-jitter,hue=0.1"} {
		t.Run(spec, func(t *testing.T) {
			mem := arena(t)
			conform(t, spec, pairs(t, 9), mem)
		})
	}
	conform(t, "targets,mask=mask,boxes=boxes:xyxy,points=points:xyv,min-visible=0.2,fill=3", pairs(t, 9), arena(t))
	mem := arena(t)
	out := conform(t, "encode=png", then(t, pairs(t, 9), mem, "flip,p=0"), mem)
	if f := col(out, "mask"); f.Media != "png" || f.Attrs["mask"] != "classes" {
		t.Errorf("encode: %+v", f.Field)
	}
}

// TestBoxesStayAroundTheirPixels: after a chain, each box is the place of the pixels of its class.
func TestBoxesStayAroundTheirPixels(t *testing.T) {
	for _, chain := range []string{"random-crop=24x20", "flip flip=vertical", "resize=120x90 random-crop=50", "random-resized-crop=64", "centre-crop=30x20 flip encode=png decode=u8", "flip resize=200x100 random-resized-crop=90x70 flip=vertical"} {
		mem := arena(t)
		in := pairs(t, 40)
		out := then(t, in, mem, strings.Fields(chain)...)
		mask, boxes, cls, points := col(out, "mask"), col(out, "boxes"), col(out, "class"), col(out, "points")
		shape := col(out, "mask"+shardify.ShapeSuffix)
		seen := 0
		for i := range out.Samples {
			lo, hi := mask.Range(i, i+1)
			pix := mask.Data[lo:hi]
			h, w := 0, 0
			if shape != nil {
				h, w = int(shardify.View[int64](shape.Data)[2*i]), int(shardify.View[int64](shape.Data)[2*i+1])
			} else {
				h, w = mask.Shape[0], mask.Shape[1]
			}
			found := map[int][4]int{}
			for k, c := range pix {
				x, y := k%w, k/w
				r, ok := found[int(c)]
				if !ok {
					r = [4]int{w, h, 0, 0}
				}
				found[int(c)] = [4]int{min(r[0], x), min(r[1], y), max(r[2], x+1), max(r[3], y+1)}
			}
			for k := boxes.Offsets[0][i]; k < boxes.Offsets[0][i+1]; k++ {
				c := int(shardify.View[int32](cls.Data)[k])
				box := shardify.View[float32](boxes.Data)[4*k : 4*k+4]
				r, ok := found[c]
				if delete(found, c); !ok && (box[2]-box[0] > 1 && box[3]-box[1] > 1) {
					t.Fatalf("%s: sample %d: box %v of class %d, whose pixels are gone", chain, i, box, c)
				} else if !ok {
					continue // less than a pixel
				}
				seen++
				for j := range 4 {
					if math.Abs(float64(box[j])-float64(r[j])) > 1.6 {
						t.Fatalf("%s: sample %d: box %v, pixels of class %d in %v", chain, i, box, c, r)
					}
				}
				p := shardify.View[float32](points.Data)[3*k : 3*k+3]
				if in := p[0] >= 0 && p[1] >= 0 && p[0] <= float32(w) && p[1] <= float32(h); in != (p[2] == 2) {
					t.Fatalf("%s: point %v in an image of %d x %d", chain, p, w, h)
				}
			}
			if delete(found, 0); len(found) > 0 {
				t.Fatalf("%s: sample %d: pixels %v without a box", chain, i, found)
			}
		}
		if seen < 20 {
			t.Errorf("%s: %d boxes stay", chain, seen)
		}
		lost := int64(0)
		for _, c := range out.Counts {
			if !strings.HasPrefix(c.Name, "boxes: boxes that left the image") {
				t.Error(c.Name)
			}
			lost += c.N
		}
		if n := in.Columns[3].Offsets[0][40] - boxes.Offsets[0][40]; n != lost || strings.HasPrefix(chain, "random-crop") && n == 0 {
			t.Errorf("%s: %d boxes are gone, %d counted", chain, n, lost)
		}
	}
}

// ownCounters gives lists counters of their own.
func ownCounters(b *shardify.Batch) {
	for i := range b.Columns {
		b.Columns[i].Counter = ""
	}
}

func TestListsThatGoWithBoxes(t *testing.T) {
	b, mem := pairs(t, 20), arena(t)
	want := then(t, b, mem, "random-crop=16")
	ownCounters(b)
	got := then(t, b, mem, "targets,with=class+points", "random-crop=16")
	for _, name := range []string{"boxes", "class", "points"} {
		if !bytes.Equal(col(got, name).Data, col(want, name).Data) {
			t.Errorf("other values of %s", name)
		}
	}
	alone := then(t, b, mem, "targets,with=none", "random-crop=16")
	if n := len(col(alone, "class").Data); n != len(col(b, "class").Data) || !bytes.Equal(col(alone, "boxes").Data, col(want, "boxes").Data) {
		t.Errorf("with=none: %d bytes of classes", n)
	}
}

func failing(t *testing.T, b *shardify.Batch, spec string) string {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		return err.Error()
	}
	tr, err := s.New(Env{})
	if err == nil {
		if _, err = tr.Schema(schemaOf(b)); err == nil {
			_, err = tr.Apply(b, seed, arena(t))
		}
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTargetsThatDoNotFit(t *testing.T) {
	plainMask := func(b *shardify.Batch) { b.Columns[0].Attrs = nil }
	for _, c := range []struct {
		spec, want string
		change     func(b *shardify.Batch)
	}{
		{"resize=20", "--augment 'targets,mask=mask' in front keeps class numbers; --augment 'targets,mask=mask:colours'", plainMask},
		{"resize=20,field=mask", "does boxes follow mask or image? --augment 'targets,image=mask'", plainMask},
		{"resize=20", "", func(b *shardify.Batch) { b.Columns[0].Attrs = map[string]string{"mask": "colours"} }},
		{"resize=20", "a mask of 40 x 50 pixels for an image of 47 x 45", func(b *shardify.Batch) { // that of another
			c := &b.Columns[0]
			lo, hi := c.Range(0, 1)
			c.Data = bytes.Repeat(c.Data[lo:hi], 9)
			for i := range c.Offsets[0] {
				c.Offsets[0][i] = int64(i * (hi - lo))
			}
		}},
		{"flip", "has no width and height", func(b *shardify.Batch) { shardify.View[float32](col(b, "boxes").Data)[0] = float32(math.NaN()) }},
		{"flip", "no list [n, 4] of boxes polar", func(b *shardify.Batch) { col(b, "boxes").Attrs = map[string]string{"boxes": "polar"} }},
		{"flip", "no points xy", func(b *shardify.Batch) { col(b, "points").Attrs = map[string]string{"points": "xy"} }},
		{"targets,boxes=boxes", "boxes=boxes: want FIELD:FORM with one of xyxy", nil},
		{"targets,boxes=class:xyxy", "no list [n, 4]", nil},
		{"targets,image=class", "image=class is no field of jpg", nil},
		{"targets,mask=nothing", "there is no field nothing", nil},
		{"flip", "--augment 'targets,boxes=boxes:xyxy,with=class+points' in front says that they do, with=none that they do not", func(b *shardify.Batch) { ownCounters(b) }},
		{"targets,with=class", "", func(b *shardify.Batch) { ownCounters(b) }},
		{"targets,with=class", "class has 1 elements, boxes has 0", func(b *shardify.Batch) {
			ownCounters(b)
			o := col(b, "class").Offsets
			o[0] = append([]int64{0}, o[0][2:]...)
			o[0] = append(o[0], o[0][8])
		}},
		{"targets,fill=300", "fill=300 does not fit 8 bits", nil},
		{"targets,mask=image", "", nil},
	} {
		b := pairs(t, 9)
		if c.change != nil {
			c.change(b)
		}
		if got := failing(t, b, c.spec); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.spec, got, c.want)
		}
	}
}

// TestClassNumbersArePixelsOfPNG: grey of few bits and palettes keep the numbers in the file; 16 bits are asked for.
func TestClassNumbersArePixelsOfPNG(t *testing.T) {
	deep := image.NewGray16(image.Rect(0, 0, 40, 50))
	deep.SetGray16(3, 2, color.Gray16{777})
	var f bytes.Buffer
	if err := png.Encode(&f, deep); err != nil {
		t.Fatal(err)
	}
	b := pairs(t, 1)
	b.Columns[0].Data, b.Columns[0].Offsets = f.Bytes(), [][]int64{{0, int64(f.Len())}}
	if got := failing(t, b, "flip"); !strings.Contains(got, "--augment 'targets,mask=mask:u16' in front") {
		t.Error(got)
	}
	mem := arena(t)
	out := then(t, b, mem, "targets,mask=mask:u16", "flip,p=1")
	if v := shardify.View[uint16](col(out, "mask").Data); len(v) != 2000 || v[2*40+36] != 777 {
		t.Error("the number is not where it should be")
	}
	again := then(t, out, mem, "encode=png", "flip=vertical,p=1")
	if v := shardify.View[uint16](col(again, "mask").Data); v[47*40+36] != 777 {
		t.Error("nor after encode")
	}
}

// TestOrientAsksForWhichPixelsTargetsWereMade.
func TestOrientAsksForWhichPixelsTargetsWereMade(t *testing.T) {
	for o := 1; o <= 8; o++ {
		m := moves.Oriented(40, 30, o)
		for _, p := range [][2]int{{0, 0}, {7, 3}, {m.NewW - 1, m.NewH - 1}} {
			u, v := moves.Unturned(o, 40, 30, p[0], p[1])
			if x, y := m.Place(float64(u)+0.5, float64(v)+0.5); x != float64(p[0])+0.5 || y != float64(p[1])+0.5 {
				t.Errorf("orientation %d: pixel %v comes to %v, %v", o, p, x, y)
			}
		}
	}
}

func FuzzBoxes(f *testing.F) {
	f.Add(uint8(0), 1.0, 2.0, 3.0, 4.0, 0.5)
	f.Fuzz(func(t *testing.T, form uint8, a, b, c, d, angle float64) {
		sin, cos := elementary.Sincos(math.Mod(angle, 7))
		for _, m := range []moves.Move{moves.Oriented(40, 30, 1+int(form%8)), moves.Turned(40, 30, sin, cos), moves.Cut(40, 30, 3, 4, 20, 10, 20, 10)} {
			form := moves.Forms[form%4]
			v, seen, err := m.Box([4]float64{a, b, c, d}, form)
			if err != nil {
				continue
			}
			w, h := float64(m.NewW)*1.0001, float64(m.NewH)*1.0001
			if form == "cxcywhn" {
				w, h = 1.0001, 1.0001
			}
			if !(seen >= 0 && seen <= 1.0001) || !(v[0] >= 0 && v[1] >= 0 && v[2] >= 0 && v[3] >= 0 && v[0] <= w && v[2] <= w && v[1] <= h && v[3] <= h) {
				t.Fatalf("%v as %s becomes %v, of which %v is seen", [4]float64{a, b, c, d}, form, v, seen)
			}
		}
	})
}
