package annotations

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/codes"
	"github.com/shardify/shardify/transform/op"
)

// Parse is lists of the objects in annotation files.
var Parse = op.Kind{Name: "parse", Value: "FIELD=voc|yolo|yolo-seg|yolo-pose|kitti|wav|flac|nifti|npy|tensor|TYPExN[ KEY=VALUE]...", Example: "label=yolo names=data.yaml", Help: "boxes and classes of the file that is a field, as FIELD_boxes, FIELD_class, ... in its place; values of recordings",
	More: "names=FILE gives classes their numbers, keep=yes keeps FIELD, class=text, score=read, keypoints=17x3; points=f32x4 makes an array of plain numbers, bbox=f32x4 text=yes of texts [x, y, w, h]; audio=wav the values of a recording and FIELD_rate, as=f32 from -1 to 1, channels=1 their mean, short=take; image=nifti or image=npy the values of an array, x=tensor those of tf.io.serialize_tensor", Keeps: true, New: op.Of(newParse), Fields: op.FieldsOf(newParse)}

// made is a field that is made of a file.
type made struct {
	name        string
	dtype       shardify.DType
	shape       []int
	text        bool
	one         bool // a value for each file; else one for each object
	list        bool // several values for each object
	ragged      bool // of a shape that a field of its own has
	attr, value string
}

// parse converts files to lists of objects.
type parse struct {
	spec   Spec
	fields []made
	read   func(s *Spec, file []byte, r *rows) error

	col     int
	n       int
	keep    []int // columns of the input that stay
	out     []shardify.Field
	workers sync.Pool // of *rows
}

// operation is a parse, or one with a survey.
type operation interface {
	shardify.Transform
	Fields() op.Fields
}

func newParse(e *op.Env, text string) (operation, error) {
	s, err := ParseSpec(text)
	if err != nil {
		return nil, err
	}
	s.codes = map[string]int64{}
	for code, name := range s.Names {
		s.codes[name] = int64(code)
	}
	p := &parse{spec: s}
	switch s.form {
	case "voc":
		p.fields, p.read = vocFields, voc
	case "yolo":
		p.fields, p.read = yoloFields, yolo
	case "yolo-seg":
		p.fields, p.read = segFields, yoloSeg
	case "yolo-pose":
		p.fields, p.read = poseFields(s.shape), yoloPose
	case "kitti":
		p.fields, p.read = kittiFields, kitti
		if !s.score {
			p.fields = p.fields[:len(p.fields)-1]
		}
	case "wav", "flac":
		p.fields, p.read = soundFields(&p.spec), recording
	case "nifti", "npy", "tensor":
		p.fields, p.read = volumeFields(&p.spec), volume
	}
	if !s.classes() {
		return p, nil
	}
	made, err := codes.Encode.New(e, p.name("class"))
	if err != nil {
		return nil, err
	}
	return &classed{parse: p, codes: made.Transform.(shardify.Surveyor)}, nil
}

// name is the name of a field that is made.
func (p *parse) name(of string) string {
	if of == "" || of == shardify.ShapeSuffix {
		return p.spec.Field + of
	}
	return p.spec.Field + "_" + of
}

func (p *parse) Fields() op.Fields {
	f := op.Fields{Named: []string{p.spec.Field}}
	for i := range p.fields {
		if p.fields[i].name == "" {
			continue
		}
		f.Made = append(f.Made, p.name(p.fields[i].name))
	}
	return f
}

// Schema puts what is made in the place of the file.
func (p *parse) Schema(in []shardify.Field) ([]shardify.Field, error) {
	i, err := op.Lookup(in, p.spec.Field)
	if err != nil {
		return nil, err
	}
	f := in[i]
	switch {
	case p.spec.text:
	case f.Media == "" || f.Levels != 1 || format.FieldNamed(in, f.Name+shardify.ExtSuffix) >= 0:
		return nil, op.FlagError("parse", p.spec.Text(), shardify.Misuse("%s is %s; files are parsed, as fields of --pair have them", f.Name, op.Holds(&f)))
	case p.spec.File != "" && p.spec.Names == nil:
		return nil, op.FlagError("parse", p.spec.Text(), fmt.Errorf("%s has not been read: names=[\"A\",\"B\"] says the names themselves", p.spec.File))
	}
	if p.spec.form == "yolo-pose" && p.spec.shape == nil {
		return nil, op.FlagError("parse", p.spec.Text(), shardify.Misuse("how many key points has an object? names=data.yaml says it as kpt_shape, or keypoints=17x3: 17 of x, y and visibility"))
	}
	if p.spec.Looks {
		return nil, op.FlagError("parse", p.spec.Text(), fmt.Errorf("no file was looked at: of=i16x1 says that all have values of i16 and one channel"))
	}
	p.col, p.n, p.keep, p.out = i, len(in), nil, nil
	if p.spec.numbers() {
		if p.spec.text {
			if f, err = p.written(f); err != nil {
				return nil, err
			}
		} else {
			f.DType, f.Shape, f.Media = p.spec.dtype, p.spec.shape, ""
		}
		p.out = slices.Clone(in)
		p.out[i] = f
		return p.out, nil
	}
	for k := range in {
		if k != i || p.spec.Keeps {
			p.keep, p.out = append(p.keep, k), append(p.out, in[k])
		}
		if k == i {
			p.out = append(p.out, p.makes(&f)...)
		}
	}
	for k := range p.fields {
		if err := op.Free(in, p.name(p.fields[k].name)); err != nil && p.fields[k].name != "" {
			return nil, op.FlagError("parse", p.spec.Text(), err)
		}
	}
	return p.out, nil
}

// makes are the fields that are made of a file.
func (p *parse) makes(file *shardify.Field) (out []shardify.Field) {
	for i := range p.fields {
		m := &p.fields[i]
		f := shardify.Field{Name: p.name(m.name), DType: m.dtype, Shape: m.shape, Ragged: m.ragged, Nullable: file.Nullable && !p.spec.yolo()}
		if !m.one {
			if f.Levels = 1; m.name != "" {
				f.Counter = p.name("objects")
			}
		}
		if m.list {
			f.Levels++
		}
		switch text := m.text; {
		case m.name == "class" && p.spec.Names != nil:
			f.DType, f.Attrs = shardify.I64, map[string]string{"labels": strings.Join(p.spec.Names, shardify.LabelSeparator), format.VocabAttr: "text"}
		case text:
			f.DType, f.Media, f.Levels = shardify.U8, "txt", f.Levels+1
		}
		if m.attr != "" {
			f.Attrs = map[string]string{m.attr: m.value}
		}
		out = append(out, f)
	}
	return out
}

// Cost is that of the shortest lines: "0 0 0 0 0".
func (p *parse) Cost([]shardify.Field) shardify.Cost {
	c := shardify.Cost{Growth: 6, Sample: 256}
	if p.spec.text && p.spec.shape != nil { // a missing text
		c.Sample = max(c.Sample, int64(8*p.spec.shape[0]))
	}
	return c
}

// rows are the empty rows of a worker.
func (p *parse) rows() *rows {
	r, _ := p.workers.Get().(*rows)
	if r == nil {
		r = new(rows)
	}
	r.reset(max(len(p.fields), 1))
	return r
}

// there reports whether a sample has a file.
func there(c *shardify.Column, i int) bool { return c.Valid == nil || c.Valid[i] != 0 }

// Apply reads each file for itself.
func (p *parse) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, p.n); err != nil {
		return nil, err
	}
	if p.spec.text {
		return p.texts(b, mem)
	}
	if p.spec.numbers() {
		return p.arrays(b, mem)
	}
	r := p.rows()
	defer p.workers.Put(r)
	file := &b.Columns[p.col]
	lists := mem.Int64s(b.Samples + 1)
	lists[0] = 0
	background := int64(0)
	for i := range b.Samples {
		lo, hi := file.Range(i, i+1)
		switch {
		case there(file, i):
			if err := p.read(&p.spec, file.Data[lo:hi], r); err != nil {
				return nil, p.located(err, b, i)
			}
		default:
			background++
			r.absent(p.fields)
		}
		lists[i+1] = r.objects
	}
	out := op.Fork(b)
	out.Columns = nil
	for _, k := range p.keep {
		out.Columns = append(out.Columns, b.Columns[k])
	}
	at := p.col
	if p.spec.Keeps {
		at++
	}
	out.Columns = slices.Insert(out.Columns, at, p.columns(r, p.out[at:at+len(p.fields)], file, lists, mem)...)
	op.Count(out, r.outside, "parse %s: boxes that reach outside of the image, kept", p.spec.Field)
	if p.spec.yolo() {
		op.Count(out, background, "parse %s: no file, read as an image without objects", p.spec.Field)
	}
	return out, nil
}

// absent takes in a sample without a file.
func (r *rows) absent(fields []made) {
	for i := range fields {
		if fields[i].one {
			n := fields[i].dtype.Size()
			for _, d := range fields[i].shape {
				n *= d
			}
			r.columns[i].data = append(r.columns[i].data, make([]byte, n)...)
		}
	}
}

// columns are what was read, in an arena.
func (p *parse) columns(r *rows, fields []shardify.Field, file *shardify.Column, lists []int64, mem *shardify.Arena) []shardify.Column {
	out := make([]shardify.Column, len(fields))
	for i := range fields {
		c := &out[i]
		c.Field, c.Data = fields[i], mem.Alloc(len(r.columns[i].data))
		copy(c.Data, r.columns[i].data)
		if c.Nullable {
			c.Valid = file.Valid
		}
		if c.Levels > 0 {
			c.Offsets = [][]int64{lists}
		}
		if c.Levels > 1 {
			ends := mem.Int64s(len(r.columns[i].ends) + 1)
			ends[0] = 0
			copy(ends[1:], r.columns[i].ends)
			c.Offsets = append(c.Offsets, ends)
		}
	}
	return out
}

// located says which file an error is about.
func (p *parse) located(err error, b *shardify.Batch, i int) error {
	return shardify.Amend(err, func(e *shardify.Error) {
		e.Op, e.Field, e.Sample, e.At = "parse", p.spec.Field, b.ID(i).Sample, new(b.ID(i))
		e.File = string(b.Key(i)) // the input is another file of the sample
	})
}
