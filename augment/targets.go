package augment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/images/png"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/transform/op"
)

// Attributes of fields that follow the images of their sample.
const (
	attrMask    = "mask"   // classes: pixels are numbers of classes; colours: an image like others
	attrBoxes   = "boxes"  // one of moves.Forms
	attrPoints  = "points" // xy, or xyv with a visibility
	attrWide    = "mask.dtype"
	attrFill    = "mask.fill"
	attrVisible = "boxes.min-visible"
	attrFollows = "follows"     // the image, of several
	attrAlone   = "boxes.alone" // no other list loses elements with the boxes
	classes     = "classes"
	colours     = "colours"
)

// targetsOp is the line of the table that says which fields follow the images.
var targetsOp = Op{
	Name: "targets", Help: "name the masks, boxes and points that follow the images in the operations behind it",
	Args: []Arg{
		{"mask", "none", "MASK+MASK: their pixels are class numbers of grey or palette PNG, or of arrays [H, W]; MASK:u16 for PNG of 16 bits, MASK:colours for pictures"},
		{"boxes", "none", "BOXES:FORM+...: lists [n, 4] of xyxy, xywh, cxcywh (pixels) or cxcywhn (shares of width and height)"},
		{"points", "none", "POINTS:FORM+...: places xy, or xyv with a visibility"},
		{"image", "none", "the image that they follow, of several of other sizes"},
		{"with", "none", "LIST+LIST: they lose the elements whose boxes are dropped, as lists do that share the counter of the boxes"},
		{"min-visible", "0", "boxes of which an operation leaves a smaller share of the area are dropped; 0: those of which nothing is left"},
		{"fill", "0", "class number of what rotate brings in from outside"},
	},
	Effect: "the fields as they are, integers of boxes and points as f32; their forms are attributes of the fields, which the set keeps",
	make:   newTargets,
}

// targets writes attributes.
type targets struct {
	roles []role
	with  []string // lists that go with the boxes
	alone bool
	joins []join
	attrs map[string]map[string]string // of all targets, by the attribute of their kind; "": all kinds
	out   []shardify.Field
}

type role struct{ attr, field, form string }

// join is a list that gets the counter of boxes.
type join struct{ list, boxes int }

func newTargets(a *args, _ Env) (shardify.Transform, error) {
	t := &targets{attrs: map[string]map[string]string{"": {}, attrMask: {}, attrBoxes: {}}}
	for _, kind := range []struct {
		attr  string
		forms []string
	}{{attrMask, []string{"", "u16", colours}}, {attrBoxes, moves.Forms}, {attrPoints, []string{"xy", "xyv"}}} {
		for _, text := range strings.Split(a.text(kind.attr), "+") {
			if text == "" {
				continue
			}
			name, form, _ := strings.Cut(text, ":")
			if !slices.Contains(kind.forms, form) {
				return nil, fmt.Errorf("%s=%s: want FIELD:FORM with one of %s", kind.attr, text, strings.TrimPrefix(strings.Join(kind.forms, ", "), ", "))
			}
			t.roles = append(t.roles, role{kind.attr, name, form})
		}
	}
	_, given := a.given["with"]
	for _, name := range strings.Split(a.text("with"), "+") {
		if t.alone = given && name == "none"; name != "" && name != "none" {
			t.with = append(t.with, name)
		}
	}
	share, err := a.number("min-visible", 0, 1)
	if err != nil {
		return nil, err
	}
	fill, err := a.whole("fill", 0, 1<<16-1)
	if err != nil {
		return nil, err
	}
	for _, v := range []struct{ key, kind, attr, value string }{
		{"min-visible", attrBoxes, attrVisible, strconv.FormatFloat(share, 'g', -1, 64)}, {"fill", attrMask, attrFill, strconv.Itoa(fill)}, {"image", "", attrFollows, a.text("image")},
	} {
		if _, ok := a.given[v.key]; ok {
			t.attrs[v.kind][v.attr] = v.value
		}
	}
	return t, nil
}

// Needs names the fields.
func (t *targets) Needs() (out []string) {
	for _, r := range t.roles {
		out = append(out, r.field)
	}
	if image := t.attrs[""][attrFollows]; image != "" {
		out = append(out, image)
	}
	return append(out, t.with...)
}

// Schema adds the attributes.
func (t *targets) Schema(in []shardify.Field) ([]shardify.Field, error) {
	t.out = slices.Clone(in)
	if image := t.attrs[""][attrFollows]; image != "" {
		if i := shardify.FieldIndex(in, image); i < 0 || !encoded(&in[i]) && !raw(&in[i]) {
			return nil, shardify.Mismatch("image=%s is no field of jpg, png, gif or webp images", image)
		}
	}
	for _, r := range t.roles {
		i := shardify.FieldIndex(in, r.field)
		if i < 0 {
			return nil, fmt.Errorf("there is no field %s: %w", r.field, shardify.ErrSchema)
		}
		f := &t.out[i]
		f.Attrs = attrsOf(f)
		switch {
		case r.attr != attrMask:
			f.Attrs[r.attr] = r.form
		case r.form == colours:
			f.Attrs[attrMask] = colours
		default:
			f.Attrs[attrMask] = classes
			if r.form != "" {
				f.Attrs[attrWide] = r.form
			}
		}
	}
	any := false
	for i := range t.out {
		f := &t.out[i]
		attr := targetOf(f)
		if attr == "" {
			any = any || f.Attrs[attrMask] == colours
			continue
		}
		any = true
		f.Attrs = attrsOf(f)
		maps.Copy(f.Attrs, t.attrs[""])
		maps.Copy(f.Attrs, t.attrs[attr])
		if attr != attrMask && f.Media == "" && f.DType != shardify.Bool && !f.DType.IsFloat() {
			f.DType = shardify.F32
		}
		if _, err := targetColumn(t.out, i); err != nil {
			return nil, err
		}
	}
	if !any {
		return nil, shardify.Mismatch("no field has masks, boxes or points: name them, as in targets,mask=mask,boxes=boxes:xyxy")
	}
	return t.out, t.together()
}

// together gives the lists that go with boxes their counter.
func (t *targets) together() error {
	t.joins = nil
	if len(t.with) == 0 && !t.alone {
		return nil
	}
	boxes := -1
	for i := range t.out {
		if targetOf(&t.out[i]) == attrBoxes {
			if boxes >= 0 && t.out[i].CounterName() != t.out[boxes].CounterName() {
				return shardify.Mismatch("with= is for one list of boxes, not %s and %s", t.out[boxes].Name, t.out[i].Name)
			}
			boxes = i
		}
	}
	if boxes < 0 {
		return shardify.Mismatch("with= is for lists that go with boxes: there are no boxes")
	}
	if t.alone {
		t.out[boxes].Attrs[attrAlone] = "yes"
		return nil
	}
	counter := t.out[boxes].CounterName()
	t.out[boxes].Counter = counter
	for _, name := range t.with {
		i := shardify.FieldIndex(t.out, name)
		if i < 0 {
			return fmt.Errorf("there is no field %s: %w", name, shardify.ErrSchema)
		}
		if f := &t.out[i]; !listed(f) {
			return shardify.Mismatch("field %s is %s, no list whose elements go with boxes", name, op.Holds(f))
		}
		t.out[i].Counter = counter
		t.joins = append(t.joins, join{i, boxes})
	}
	return nil
}

// listed reports whether a field is a list of elements.
func listed(f *shardify.Field) bool {
	return f.Levels > 0 && !f.Ragged && (f.Media == "" || f.Levels > 1)
}

// company is the error for boxes beside lists where no setting says whether they lose the same elements.
func company(in []shardify.Field, boxes int) error {
	b := &in[boxes]
	var lists []string
	for i := range in {
		switch f := &in[i]; {
		case i == boxes || !listed(f):
		case f.CounterName() == b.CounterName():
			return nil
		case f.Counter == "":
			lists = append(lists, f.Name)
		}
	}
	if lists == nil || b.Attrs[attrAlone] != "" {
		return nil
	}
	names := strings.Join(lists, "+")
	return shardify.Mismatch("boxes outside the image are dropped: do the lists %s lose the same elements? --augment 'targets,boxes=%s:%s,with=%s' in front says that they do, with=none that they do not", names, b.Name, b.Attrs[attrBoxes], names)
}

func attrsOf(f *shardify.Field) map[string]string {
	out := map[string]string{}
	maps.Copy(out, f.Attrs)
	return out
}

// Cost is a copy of integers.
func (t *targets) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 0.5, Sample: 8} }

// Apply makes floating-point numbers of integers.
func (t *targets) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, len(t.out)); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for k := range out.Columns {
		c, f := &out.Columns[k], t.out[k]
		if c.DType != f.DType {
			data := mem.Alloc(len(c.Data) / c.DType.Size() * f.DType.Size())
			numeric.Convert(data, f.DType, c.Data, c.DType)
			c.Data = data
		}
		c.Field = f
	}
	for _, j := range t.joins {
		if err := op.SameLengths(b, j.list, j.boxes); err != nil {
			return nil, err
		}
		c := &out.Columns[j.list]
		c.Offsets = append([][]int64{b.Columns[j.boxes].Offsets[0]}, c.Offsets[1:]...)
	}
	return out, nil
}

// targetOf is the attribute that makes a field follow images; "" for all others.
func targetOf(f *shardify.Field) string {
	switch {
	case f.Attrs[attrMask] == classes:
		return attrMask
	case f.Attrs[attrBoxes] != "":
		return attrBoxes
	case f.Attrs[attrPoints] != "":
		return attrPoints
	}
	return ""
}

// target is a field that follows images.
type target struct {
	attr, form string
	from       int // among the fields that come in
	at         int // among the fields that come out
	image      int // it follows, among the fields that come in
	shape      int // of a mask: the column of its shape in what comes in; -1: none
	size       int // of a mask: bytes of a pixel; of points: numbers of one
	fill       uint64
	visible    float64
}

// targetColumn checks that a field holds what its attribute says.
func targetColumn(in []shardify.Field, i int) (t target, err error) {
	f := &in[i]
	t = target{attr: targetOf(f), shape: -1}
	t.form = f.Attrs[t.attr]
	last := 0
	if len(f.Shape) > 0 {
		last = f.Shape[len(f.Shape)-1]
	}
	switch t.attr {
	case attrMask:
		return t, maskColumn(&t, in, i)
	case attrBoxes:
		if f.Media != "" || f.DType != shardify.F32 && f.DType != shardify.F64 || f.Levels != 1 || len(f.Shape) != 1 || last != 4 || f.Ragged || !slices.Contains(moves.Forms, t.form) {
			return t, shardify.Mismatch("field %s is %s, no list [n, 4] of boxes %s in f32 or f64", f.Name, op.Holds(f), t.form)
		}
		if s := f.Attrs[attrVisible]; s != "" {
			if t.visible, err = strconv.ParseFloat(s, 64); err != nil {
				return t, shardify.Mismatch("field %s: attribute %s is %q", f.Name, attrVisible, s)
			}
		}
	case attrPoints:
		t.size = map[string]int{"xy": 2, "xyv": 3}[t.form]
		flat := len(f.Shape) == 0 && f.Levels > 0
		if f.Media != "" || f.DType != shardify.F32 && f.DType != shardify.F64 || t.size == 0 || f.Ragged || last != t.size && !flat {
			return t, shardify.Mismatch("field %s is %s, no points %s in f32 or f64", f.Name, op.Holds(f), t.form)
		}
	}
	return t, nil
}

func maskColumn(t *target, in []shardify.Field, i int) (err error) {
	f := &in[i]
	t.size = f.DType.Size()
	switch {
	case encoded(f) && (f.Media == "png" || f.Media == "image"):
		t.size = 1
		if f.Attrs[attrWide] == "u16" {
			t.size = 2
		}
	case encoded(f):
		return shardify.Mismatch("field %s holds %s images: class numbers are read of grey or palette PNG", f.Name, f.Media)
	case f.Media == "" && !f.DType.IsFloat() && f.Levels == 0 && len(f.Shape) == 2:
	case f.Media == "" && !f.DType.IsFloat() && f.Ragged && f.Levels == 1 && len(f.Shape) == 0:
		t.shape = shardify.FieldIndex(in, f.Name+shardify.ShapeSuffix)
		if s := in[t.shape].Shape; len(s) != 1 || s[0] != 2 {
			return shardify.Mismatch("field %s has values of %v dimensions, no mask [H, W]", f.Name, s)
		}
	default:
		return shardify.Mismatch("field %s is %s: a mask is a grey or palette PNG, or integers [H, W]", f.Name, op.Holds(f))
	}
	if s := f.Attrs[attrFill]; s != "" {
		if t.fill, err = strconv.ParseUint(s, 10, 64); err != nil || t.size < 8 && t.fill>>(8*t.size) != 0 {
			return shardify.Mismatch("field %s: fill=%s does not fit %d bits", f.Name, s, 8*t.size)
		}
	}
	return nil
}

// follow finds the fields that follow the images that are changed, and which image each follows.
func (m *images) follow(in []shardify.Field, mine []bool) error {
	m.targets, m.groups, m.alike = nil, nil, false
	if m.deep {
		return nil
	}
	var pictures, others []string
	for i := range in {
		switch {
		case mine[i]:
			pictures = append(pictures, in[i].Name)
		case targetOf(&in[i]) == "" && (encoded(&in[i]) || raw(&in[i])):
			others = append(others, in[i].Name)
		}
	}
	for i := range in {
		if targetOf(&in[i]) == "" {
			continue
		}
		t, err := targetColumn(in, i)
		if err != nil {
			return err
		}
		if t.attr == attrBoxes && m.moving {
			if err := company(in, i); err != nil {
				return err
			}
		}
		image := in[i].Attrs[attrFollows]
		switch {
		case slices.Contains(others, image):
			continue // the operation is for another image
		case !slices.Contains(pictures, image):
			image = pictures[0]
			if len(others) > 0 {
				return shardify.Mismatch("does %s follow %s or %s? --augment 'targets,image=%s' or --augment 'targets,image=%s' in front", in[i].Name, image, others[0], image, others[0])
			}
			m.alike = true
		}
		t.from, t.image = i, shardify.FieldIndex(in, image)
		m.targets = append(m.targets, t)
	}
	return nil
}

// maskLike says whether a name sounds like class numbers.
func maskLike(name string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' }), func(w string) bool {
		return strings.HasPrefix(w, "mask") || strings.HasPrefix(w, "label") || strings.HasPrefix(w, "seg")
	})
}

// doubtful reports whether a field may hold class numbers and no setting says so.
func doubtful(in []shardify.Field, mine []bool, i int, glob string) bool {
	if in[i].Attrs[attrMask] != "" || !maskLike(in[i].Name) || glob == in[i].Name {
		return false
	}
	for k := range in {
		if k != i && mine[k] && !maskLike(in[k].Name) {
			return true
		}
	}
	return false
}

// doubt is the error for such a field, once it holds what may be class numbers.
func doubt(src *shardify.Column, i int) error {
	lo, hi := src.Range(i, i+1)
	if b := src.Data[lo:hi]; len(b) < 26 || string(b[:len(png.Signature)]) != png.Signature || b[25] != 0 && b[25] != 3 { // grey, or with a palette
		return nil
	}
	return Doubt(src.Name)
}

// Doubt is the error for a grey or palette PNG that may be class numbers.
func Doubt(name string) error {
	return shardify.Mismatch("%s is a grey or palette PNG beside another image: class numbers, or a picture? --augment 'targets,mask=%s' in front keeps class numbers; --augment 'targets,mask=%s:colours' makes RGB pixels", name, name, name)
}
