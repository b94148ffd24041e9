package annotations

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// batch is samples with a file each; "-" is a missing one.
func batch(files ...string) *shardify.Batch {
	c := shardify.Column{Field: shardify.Field{Name: "label", DType: shardify.U8, Levels: 1, Media: "txt", Nullable: true}, Offsets: [][]int64{{0}}}
	for _, f := range files {
		c.Valid = append(c.Valid, op.Mark(f != "-"))
		if f != "-" {
			c.Data = append(c.Data, f...)
		}
		c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
	}
	id := transformtest.Column("id", shardify.I64, make([]byte, 8*len(files)))
	return &shardify.Batch{Samples: len(files), Columns: []shardify.Column{id, c}}
}

func newTest(t testing.TB, text string) operation {
	t.Helper()
	return transformtest.Made[operation](t)(newParse(&op.Env{}, text))
}

// vocFile writes a file of objects "NAME xmin ymin xmax ymax".
func vocFile(objects ...string) string {
	s := "<annotation><size><width>50</width><height>40</height><depth>3</depth></size>\n"
	for _, o := range objects {
		w := strings.Fields(o)
		s += "<object><name>" + w[0] + "</name><pose>Left</pose><difficult>1</difficult><part><name>head</name><bndbox><xmin>9</xmin></bndbox></part><bndbox>" +
			"<ymin>" + w[2] + "</ymin><xmin>" + w[1] + "</xmin><xmax>" + w[3] + "</xmax><ymax>" + w[4] + "</ymax></bndbox></object>\n"
	}
	return s + "</annotation>\n"
}

const kittiLine = "Car 0.00 1 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59"

func TestParseConforms(t *testing.T) {
	var vocs, yolos, kittis, segs, poses []string
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var o []string
		var y, k, g, p string
		for range r.IntN(4) {
			o = append(o, fmt.Sprintf("%s %d 2 30 60", []string{"dog", "cat", "é"}[r.IntN(3)], r.IntN(30)))
			y += fmt.Sprintf("%d 0.5 %v 0.25 0.125\n", r.IntN(3), r.Float64())
			k += kittiLine + "\n"
			g += fmt.Sprint(r.IntN(3), strings.Repeat(" 0.25 0.75", 3+r.IntN(4)), "\n")
			p += fmt.Sprintf("%d 0.5 %v 0.25 0.125 0 0 0 0.5 1 2\n", r.IntN(3), r.Float64())
		}
		vocs, yolos, kittis = append(vocs, vocFile(o...)), append(yolos, y), append(kittis, k)
		segs, poses = append(segs, g), append(poses, p)
	}
	vocs[3], yolos[3], kittis[3], segs[3], poses[3] = "-", "-", "-", "-", "-"
	recordings := []string{wavFile(1, 5), wavFile(1, 0), "-", wavFile(1, 9)}
	for text, files := range map[string][]string{"label=wav of=i16x1": recordings, "label=wav as=f32 channels=1": append(recordings, wavFile(3, 4)), "label=voc": vocs, "label=voc class=text keep=yes": vocs, "label=yolo": yolos, "label=yolo-seg": segs, "label=yolo-pose keypoints=2x3 keep=yes": poses, `label=yolo names=["a","b c","d"]`: yolos, "label=kitti keep=yes": kittis, `label=kitti names=["Car"]`: kittis} {
		t.Run(text, func(t *testing.T) {
			transformtest.Conform(t, newTest(t, text), batch(files...), transformtest.Arena(t))
		})
	}
}

// show writes the values of a sample: FIELD=VALUES.
func show(b *shardify.Batch, i int) string {
	var out []string
	for k := range b.Columns {
		c := &b.Columns[k]
		lo, hi := c.Range(i, i+1)
		if name, ok := strings.CutPrefix(c.Name, "label_"); ok {
			v := fmt.Sprint(c.Data[lo:hi])
			switch c.DType {
			case shardify.F32:
				v = fmt.Sprint(shardify.View[float32](slices.Clone(c.Data[lo:hi])))
			case shardify.I32:
				v = fmt.Sprint(shardify.View[int32](slices.Clone(c.Data[lo:hi])))
			case shardify.I64:
				v = fmt.Sprint(shardify.View[int64](slices.Clone(c.Data[lo:hi])))
			}
			if c.Media != "" {
				v = fmt.Sprintf("%q", c.Data[lo:hi])
			}
			out = append(out, name+"="+v)
		}
	}
	return strings.Join(out, " ")
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ text, file, want, count string }{
		{"label=voc class=text", vocFile("dog 1 2 50.5 4e1", "cat 3 3 3 3"), `boxes=[1 2 50.5 40 3 3 3 3] class="dogcat" difficult=[1 1] truncated=[0 0] pose="LeftLeft" width=[50] height=[40]`, "parse label: boxes that reach outside of the image, kept 1"},
		{`label=voc names=["cat","dog"]`, "\ufeff<?xml version='1.0' encoding='utf-8'?><!DOCTYPE annotation>" + vocFile("dog 1 2 5 4"), `boxes=[1 2 5 4] class=[1] difficult=[1] truncated=[0] pose="Left" width=[50] height=[40]`, ""},
		{"label=voc class=text", "<annotation/>", `boxes=[] class="" difficult=[] truncated=[] pose="" width=[0] height=[0]`, ""},
		{"label=yolo", "", "boxes=[] class=[]", ""},
		{"label=yolo", "-", "boxes=[] class=[]", "parse label: no file, read as an image without objects 1"},
		{"label=yolo", "\ufeff 3\t.5 5e-1 .25 1  \r\n\r\n0.0 0 0 0 0", "boxes=[0.5 0.5 0.25 1 0 0 0 0] class=[3 0]", ""},
		{"label=yolo", "0 0.9 0.5 0.4 1.0001", "boxes=[0.9 0.5 0.4 1.0001] class=[0]", "parse label: boxes that reach outside of the image, kept 1"},
		{"label=yolo-seg", "1 0 0 1 0 1 1\n0 .5 .25 .5 .5 1 .5 .75 1.0001\n", "polygons=[0 0 1 0 1 1 0.5 0.25 0.5 0.5 1 0.5 0.75 1.0001] class=[1 0]", ""},
		{"label=yolo-seg", "-", "polygons=[] class=[]", "parse label: no file, read as an image without objects 1"},
		{"label=yolo-pose keypoints=2x3", "1 .5 .5 .25 1 0 0 0 .5 1 2\n", "boxes=[0.5 0.5 0.25 1] class=[1] keypoints=[0 0 0 0.5 1 2]", ""},
		{"label=yolo-pose keypoints=1x2", "1 .5 .5 .25 1 .5 1\n", "boxes=[0.5 0.5 0.25 1] class=[1] keypoints=[0.5 1]", ""},
		{"label=kitti class=text", kittiLine + "\nDontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10\n",
			`class="CarDontCare" truncated=[0 -1] occluded=[1 -1] alpha=[-1.58 -10] boxes=[587.01 173.33 614.12 200.12 503.89 169.71 590.61 190.13] dimensions=[1.65 1.67 3.64 -1 -1 -1] location=[-0.65 1.71 46.7 -1000 -1000 -1000] rotation_y=[-1.59 -10]`, ""},
		{`label=kitti score=read names=["Car"]`, kittiLine + " 0.5", `class=[0] truncated=[0] occluded=[1] alpha=[-1.58] boxes=[587.01 173.33 614.12 200.12] dimensions=[1.65 1.67 3.64] location=[-0.65 1.71 46.7] rotation_y=[-1.59] score=[0.5]`, ""},
	} {
		out := transformtest.Run(t, newTest(t, c.text), batch(c.file))
		if got := show(out, 0); got != c.want {
			t.Errorf("%s of %q:\n%s, want\n%s", c.text, c.file, got, c.want)
		}
		counts := ""
		for _, n := range out.Counts {
			counts += fmt.Sprint(n.Name, " ", n.N)
		}
		if counts != c.count {
			t.Errorf("%s of %q counts %q, want %q", c.text, c.file, counts, c.count)
		}
	}
	seg := transformtest.Run(t, newTest(t, "label=yolo-seg"), batch("0 0 0 1 0 1 1\n1 0 0 1 0 1 1 0 1\n", "", "2 0 0 1 0 1 1"))
	if c := &seg.Columns[1]; c.Levels != 2 || !slices.Equal(c.Shape, []int{2}) || !slices.Equal(c.Offsets[0], []int64{0, 2, 2, 3}) || !slices.Equal(c.Offsets[1], []int64{0, 3, 7, 10}) {
		t.Errorf("polygons: %+v", c)
	}
	out := transformtest.Run(t, newTest(t, "label=i16x2"), batch("abcd", "", "efghijkl"))
	if c := &out.Columns[1]; !slices.Equal(c.Shape, []int{2}) || c.DType != shardify.I16 || !slices.Equal(c.Offsets[0], []int64{0, 1, 1, 3}) || string(c.Data) != "abcdefghijkl" {
		t.Errorf("plain numbers: %+v", c)
	}
}

func TestDamage(t *testing.T) {
	bomb := `<!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>` + strings.Replace(vocFile("dog 1 2 3 4"), "dog", "&b;", 1)
	for _, c := range []struct{ text, file, want string }{
		{"label=voc", vocFile("dog 9 2 3 4"), "line 2: xmax is 3, less than xmin, which is 9"},
		{"label=voc", vocFile("dog 1 2 NaN 4"), `line 2: xmax is "NaN", which is not finite`},
		{"label=voc", vocFile("dog 1 2 3 4")[:250], "line 2: XML: unexpected EOF"},
		{"label=voc", bomb, "line 1: XML with entities"},
		{"label=voc", strings.Replace(vocFile("dog 1 2 3 4"), "dog", "&b;", 1), "line 2: XML: invalid character entity &b;"},
		{"label=voc", strings.Replace(vocFile("dog 1 2 3 4"), "dog", "", 1), "line 2: an object without the name of its class"},
		{"label=voc", strings.Replace(vocFile("dog 1 2 3 4"), "<ymax>4</ymax>", "", 1), `line 2: an object "dog" without <ymax>`},
		{"label=voc", strings.Replace(vocFile("dog 1 2 3 4"), "<ymax>4</ymax>", "<xmin>4</xmin>", 1), "line 2: a second <xmin>"},
		{"label=voc", strings.Replace(vocFile("dog 1 2 3 4"), "<difficult>1", "<difficult>2", 1), `line 2: <difficult> is "2"`},
		{"label=voc", strings.Replace(vocFile(), "50", "5.5", 1), `the width of the image is "5.5"`},
		{"label=voc", "<kml></kml>", "line 1: the element <kml>"}, {"label=voc", "", "line 1: no element <annotation>"}, {"label=voc", "x<annotation/>", "text outside"},
		{"label=voc", vocFile() + vocFile(), "line 3: the element <annotation>"},
		{"label=voc", "<annotation>" + strings.Repeat("<a>", 1000), "more than 32 elements"},
		{"label=voc", "<annotation><object><name>" + strings.Repeat("a", 2000), "<name> has more than 1024 bytes"},
		{`label=voc names=["cat"]`, vocFile("dog 1 2 3 4"), `line 2: the class "dog", which is not among the 1 names`},
		{"label=voc", "<?xml version='1.0' encoding='latin1'?>" + vocFile(), `line 1: XML in the encoding "latin1"`},
		{"label=yolo", "0 .5 .5 .5 .5\n\n1 .5 .5 .5", "line 3: 4 columns; want 5"},
		{"label=yolo", "0 .5 .5 .5 .5 .5 .5", "line 1: 7 columns, as lines of polygons or of poses have"},
		{"label=yolo", "0 .5 .5 .5 .5 .5 .5 0", "line 1: 8 columns, as lines of poses have"},
		{"label=yolo-seg", "0 0 0 1 0 1 1\n0 0 0 1 0 1\n", "line 2: an odd number of coordinates, 5"}, {"label=yolo-seg", "0 0 0 1 0 1 1\n0 .5 .5 .5 .5", "line 2: 5 columns, as lines of boxes have"},
		{"label=yolo-seg", "0 0 0", "line 1: 3 columns; polygons"}, {"label=yolo-seg", "0 0 0 1 0 1 320", "line 1: y is 320; want shares"}, {`label=yolo-seg names=["a"]`, "1 0 0 1 0 1 1", "there are names for 0 to 0"},
		{"label=yolo-pose keypoints=2x3", "0 .5 .5 .5 .5 0 0 0", "line 1: 8 columns; want 11: class x y width height, and 2 key points of 3 numbers"},
		{"label=yolo-pose keypoints=1x3", "0 .5 .5 .5 .5 0 0 3", "visibility is 3; want 0 to 2"}, {"label=yolo-pose keypoints=1x2", "0 .5 .5 .5 .5 0 2", "y of a key point is 2; want shares"},
		{"label=yolo", "0 320 .5 .5 .5", "line 1: x is 320; want shares"}, {"label=yolo", "0 .5 .5 -0.0001 .5", "width is -0.0001, less than 0"},
		{"label=yolo", "0 .5 .5 inf .5", `width is "inf"`}, {"label=yolo", "0 .5 .5 0x1p-2 .5", "no number"}, {"label=yolo", "1.5 .5 .5 .5 .5", "whole number from 0"}, {"label=yolo", "-1 .5 .5 .5 .5", "whole number"},
		{`label=yolo names=["a","b"]`, "2 .5 .5 .5 .5", "line 1: the class is 2; there are names for 0 to 1"},
		{"label=yolo", "a" + strings.Repeat(" 1", 1<<17), "line 1: more than 65536 words"},
		{"label=kitti", kittiLine + " 0.5", "line 1: 16 columns, as results with a score have; --parse 'label=kitti score=read'"},
		{"label=kitti score=read", kittiLine, "line 1: 15 columns; want 16"}, {"label=kitti", "0 1 " + kittiLine, "17 columns"},
		{"label=kitti", strings.Replace(kittiLine, "587.01", "687.01", 1), "right is 614.12, less than left"}, {"label=kitti", strings.Replace(kittiLine, " 1 ", " 1.5 ", 1), `occluded is "1.5"`},
		{"label=kitti", strings.Replace(kittiLine, "Car", "\xff", 1), "UTF-8"},
		{"label=f32x4", "0123456789abcdef0", "17 bytes, which are no whole number of f32x4, 16 bytes each"},
	} {
		p := newTest(t, c.text)
		b := batch("-", c.file)
		b.First.Sample = 7
		fields := transformtest.SchemaOf(b)
		if _, err := p.Schema(fields); err != nil {
			t.Fatal(err)
		}
		if s, ok := p.(shardify.Surveyor); ok {
			transformtest.Survey(t, s, b, fields, transformtest.Arena(t)) // which passes over damage
		}
		_, err := p.Apply(b, 0, transformtest.Arena(t))
		e, _ := errors.AsType[*shardify.Error](err)
		kind := shardify.ErrCorrupt
		if strings.Contains(c.want, "encoding") {
			kind = shardify.ErrUnsupported
		}
		if e == nil || !errors.Is(err, kind) || e.Sample != 8 || e.Field != "label" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %.60q: %v, want %s", c.text, c.file, err, c.want)
		}
	}
}

func TestSpecs(t *testing.T) {
	for _, text := range []string{"label=voc", "label=voc class=text keep=yes", `label=yolo names=["a b","c=d"] keep=yes`, "label=yolo names=data.yaml", "label=kitti score=read", "points=f32x4", "points=u8", "box=f32x4 text=yes", "label=yolo-seg names=data.yaml", "label=yolo-pose keypoints=17x3 keep=yes"} {
		s, err := ParseSpec(text)
		if err != nil || s.Text() != text {
			t.Errorf("%s is %s: %v", text, s.Text(), err)
		}
	}
	for _, text := range []string{"", "label", "label=coco", "=voc", "label=f32x0", "label=bool", "label=voc keep", "label=yolo class=text", "label=yolo names=", "label=yolo names=[1]", `label=yolo names=["a","a"]`, `label=yolo names=[]`,
		`label=yolo names=["a\nb"]`, `label=yolo names=a names=b`, "label=voc score=read", "points=f32 keep=yes", "label=voc names=a class=text", "label=yolo keypoints=1x2", "label=yolo-pose keypoints=1x4", "label=yolo-pose keypoints=0x2", "label=yolo-seg class=text"} {
		if s, err := ParseSpec(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
	for text, want := range map[string]string{"kpt_shape: [17, 3]": "17x3", "kpt_shape: [17, 4]": "!want [NUMBER, 2]", "kpt_shape: 3": "!kpt_shape", "nc: 1": ""} {
		s, _ := ParseSpec("label=yolo-pose names=data.yaml")
		err := s.ReadNames([]byte("names: [a]\n" + text))
		if bad, ok := strings.CutPrefix(want, "!"); ok && (err == nil || !strings.Contains(err.Error(), bad)) || !ok && (err != nil || want != "" && !strings.HasSuffix(s.Text(), " keypoints="+want)) {
			t.Errorf("%s: %s, %v", text, s.Text(), err)
		}
	}
	if _, err := newTest(t, "label=yolo-pose").Schema(transformtest.SchemaOf(batch(""))); err == nil || !strings.Contains(err.Error(), "kpt_shape") {
		t.Error("key points of any number:", err)
	}
	if _, err := newTest(t, "label=yolo names=data.yaml").Schema(transformtest.SchemaOf(batch(""))); err == nil {
		t.Error("names that were not read")
	}
	for _, field := range []shardify.Field{{Name: "label", DType: shardify.F32}, {Name: "label", DType: shardify.U8, Levels: 2, Media: "txt"}} {
		if _, err := newTest(t, "label=yolo").Schema([]shardify.Field{field}); err == nil {
			t.Errorf("%+v is parsed", field)
		}
	}
	if _, err := newTest(t, "label=yolo").Schema(append(transformtest.SchemaOf(batch("")), shardify.Field{Name: "label_class", DType: shardify.U8})); err == nil {
		t.Error("two fields of a name")
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ file, data, want string }{
		{"data.yaml", "path: x\nnames: [person, 'traffic light', \"c\"]\nnc: 3", "person,traffic light,c"},
		{"data.yaml", "names:\n  - a\n  - 1\n  - yes # comment", "a,1,yes"}, {"d.YML", "names:\n  1: b\n  0: a\nnc: 2", "a,b"}, {"data.yaml", "names: {0: a, 1: b}", "a,b"},
		{"classes.txt", "\ufeffa\r\nb c \r\n\r\n", "a,b c"}, {"coco.names", "a\nb", "a,b"},
		{"data.yaml", "names: [a]\nnc: 2", "!nc is 2"}, {"data.yaml", "names: {0: a, 2: b}", "!each of 0 to 1"}, {"data.yaml", "nc: 2", "!no list"}, {"data.yaml", "names: [[a]]", "!more than texts"}, {"data.yaml", "\t", "!yaml"},
		{"classes.txt", "a\n\nb", "!class 1"}, {"classes.txt", "a\na", "!both called"}, {"classes.txt", "", "!class 0"}, {"classes.txt", strings.Repeat("a", MaxNames+1), "!bytes of names"},
	} {
		s := Spec{File: c.file}
		err := s.ReadNames([]byte(c.data))
		if want, bad := strings.CutPrefix(c.want, "!"); bad && (err == nil || !strings.Contains(err.Error(), want)) || !bad && (err != nil || strings.Join(s.Names, ",") != want) {
			t.Errorf("%s %.40q: %q, %v, want %s", c.file, c.data, s.Names, err, c.want)
		}
	}
}

// FuzzParse: no file ends the program, and what is read has finite boxes in order.
func FuzzParse(f *testing.F) {
	forms := []string{"label=voc class=text", "label=yolo", "label=kitti class=text", "label=kitti class=text score=read", "label=f32x4", "label=yolo-seg", "label=yolo-pose keypoints=1x3", "label=f32x2 text=yes", "label=f64 text=yes"}
	for i := range forms {
		for _, s := range []string{vocFile("dog 1 2 3 4"), "0 .5 .5 .5 .5\n", kittiLine, kittiLine + " 1", "0 0 0 1 0 1 1\n", "0 .5 .5 .5 .5 0 0 2"} {
			f.Add(byte(i), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, form byte, data []byte) {
		p := newTest(t, forms[int(form)%len(forms)])
		b := batch(string(data))
		fields, err := p.Schema(transformtest.SchemaOf(b))
		if err != nil {
			t.Fatal(err)
		}
		pool := shardify.NewPool(1 << 30)
		mem := pool.Overdraft()
		defer mem.Release()
		out, err := p.Apply(b, 0, mem)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		if err := out.Match(fields); err != nil {
			t.Fatal(err)
		}
		cost := p.Cost(nil)
		if n := out.Bytes() - b.Bytes(); float64(n) > cost.Growth*float64(len(data))+float64(cost.Sample) {
			t.Errorf("%d bytes more of a file of %d", n, len(data))
		}
		i := shardify.FieldIndex(fields, "label_boxes")
		if i < 0 {
			return
		}
		for box := range slices.Chunk(shardify.View[float32](out.Columns[i].Data), 4) {
			for k, x := range box {
				if x-x != 0 || k > 1 && !strings.HasPrefix(forms[int(form)%len(forms)], "label=yolo") && x < box[k-2] {
					t.Errorf("a box %v", box)
				}
			}
		}
	})
}

// FuzzNames: files of names are names, or damage.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"names: [a, b]\nnc: 2", "names: {0: a}", "a: &a [x]\nnames: [*a]", "names: *a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range []string{"data.yaml", "classes.txt"} {
			s := Spec{Field: "label", form: "yolo", File: file}
			if s.ReadNames(data) != nil {
				continue
			}
			again, err := ParseSpec(s.Text())
			if err != nil || !slices.Equal(again.Names, s.Names) {
				t.Errorf("%q: %q, %v", s.Names, again.Names, err)
			}
		}
	})
}

// TestNumbersInTexts: a column of texts becomes numbers, and its lists stay.
func TestNumbersInTexts(t *testing.T) {
	one := batch("[1, 2.5,-3e1 , 4]", "-", " (5 6 7 8) ", "0,0,0,0")
	out := transformtest.Run(t, newTest(t, "label=f32x4 text=yes"), one)
	c := &out.Columns[1]
	if got := fmt.Sprint(shardify.View[float32](c.Data), c.Valid, c.Levels, c.Shape, len(c.Offsets)); got != "[1 2.5 -30 4 0 0 0 0 5 6 7 8 0 0 0 0] [1 0 1 1] 0 [4] 0" {
		t.Error(got)
	}
	out = transformtest.Run(t, newTest(t, "label=f64 text=yes"), batch("[1, 2]", "[]", "-", "", "3"))
	if c := &out.Columns[1]; fmt.Sprint(shardify.View[float64](c.Data), c.Levels, c.Offsets) != "[1 2 3] 1 [[0 2 2 2 2 3]]" {
		t.Error(c)
	}
	lists := func() *shardify.Batch { // as rows=many makes them
		b := batch("[1,2]", "[3,4]", "[5,6]")
		c := &b.Columns[1]
		c.Levels, c.Counter, c.Nullable, c.Valid, c.Offsets = 2, "rows", false, nil, [][]int64{{0, 0, 2, 3}, c.Offsets[0]}
		return b
	}
	out = transformtest.Run(t, newTest(t, "label=f64x2 text=yes"), lists())
	if c := &out.Columns[1]; c.Counter != "rows" || fmt.Sprint(shardify.View[float64](c.Data), c.Levels, c.Offsets) != "[1 2 3 4 5 6] 1 [[0 0 2 3]]" {
		t.Error(c)
	}
	out = transformtest.Run(t, newTest(t, "label=f32 text=yes"), lists())
	if c := &out.Columns[1]; c.Levels != 2 || fmt.Sprint(c.Offsets) != "[[0 0 2 3] [0 2 4 6]]" {
		t.Error(c)
	}
	transformtest.Conform(t, newTest(t, "label=f32x4 text=yes"), one, transformtest.Arena(t))
	transformtest.Conform(t, newTest(t, "label=f32 text=yes"), lists(), transformtest.Arena(t))
	for text, want := range map[string]string{
		"[1,2": "does not end with ]", "[1,2,3]": "has 3 numbers; want 2", "[1,]": "ends with a comma", "[1,,2]": "no number", "[[1,2]]": "no number", "1;2": "no number", "[1,nan]": "not finite", "": "has 0 numbers",
	} {
		p := newTest(t, "label=f32x2 text=yes")
		b := lists()
		b.Columns[1] = batch("[1,2]", "[3,4]", text).Columns[1]
		b.Columns[1].Levels, b.Columns[1].Nullable, b.Columns[1].Valid, b.Columns[1].Offsets = 2, false, nil, [][]int64{{0, 0, 2, 3}, b.Columns[1].Offsets[0]}
		if _, err := p.Schema(transformtest.SchemaOf(b)); err != nil {
			t.Fatal(err)
		}
		_, err := p.Apply(b, 0, transformtest.Arena(t))
		if e, _ := errors.AsType[*shardify.Error](err); e == nil || !errors.Is(err, shardify.ErrCorrupt) || e.Sample != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"label=u8 text=yes", "label=i64 text=yes", "label=yolo text=yes", "label=f32 text=no"} {
		if _, err := ParseSpec(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if _, err := newTest(t, "id=f32 text=yes").Schema(transformtest.SchemaOf(one)); err == nil {
		t.Error("numbers are no texts")
	}
}
