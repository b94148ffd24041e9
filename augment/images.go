package augment

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/images/resize"
	"github.com/shardify/shardify/numbers/elementary"
	"github.com/shardify/shardify/transform/op"
)

// AttrImage marks a field of raw pixels, which further operations on images take: its
// value is the order of the axes.
const (
	AttrImage = "image"
	hwc       = "HWC"
	hw        = "HW" // of 16 bits
)

// LostOrientation follows the field in the name of a count of images that were decoded
// without regard to their EXIF tag, which no output keeps.
const LostOrientation = ": EXIF orientation ignored (--augment orient in front applies it)"

var (
	fieldArg  = Arg{"field", "*", "image fields, as a glob"}
	cutArg    = Arg{"truncated", "error", "JPEG files that end early are an error, or fill: what is missing is grey"}
	bitsArg   = Arg{"bits16", "error", "images of 16 bits a channel are an error, or upper: the upper 8 bits are kept"}
	filterArg = Arg{"filter", "bilinear", "box, bilinear, bicubic or lanczos; antialiased"}
	sizeValue = Arg{Name: "SIZE", Help: "N for N x N pixels, or WxH"}
)

const rawEffect = "raw pixels, U8 RGB [H, W, 3]; encode brings them back to jpg or png"

// imageOps are the lines of the table for images. Each decodes what is encoded; what it
// makes is raw pixels, so that a chain decodes once and loses nothing in between.
var imageOps = []Op{
	targetsOp,
	{
		Name: "check", Help: "decode images and hand them on as they are: damaged ones are errors, or left out with --on-error skip", Args: []Arg{fieldArg}, Effect: "the images as they are",
		make: newCheck,
	},
	{
		Name: "decode", Help: "decode images, and change nothing", Value: Arg{Name: "u8|u16", Help: "u8: pixels of 8 bits, RGB; u16: those of grey PNG of 16 bits"}, Args: []Arg{fieldArg, cutArg, bitsArg},
		Effect: "u8: raw pixels, as resize makes them; u16: U16 [H, W], which no other operation on images takes",
		make:   newDecode,
	},
	{
		Name: "orient", Help: "turn and mirror images as their EXIF tag says; before all others, which ignore the tag", Args: []Arg{{"targets", "none", "turn: masks, boxes and points were made for the pixels as they are stored; keep: for the upright image"}, fieldArg, cutArg, bitsArg}, Effect: rawEffect,
		make: newOrient,
	},
	{
		Name: "resize", Help: "scale images", Value: Arg{Name: "SIZE", Help: "N: the shorter side becomes N pixels and the ratio stays; WxH: both sides"},
		Args: []Arg{filterArg, fieldArg, cutArg, bitsArg}, Effect: rawEffect,
		make: newResize,
	},
	{
		Name: "centre-crop", Help: "cut the middle out of images; smaller ones are an error", Value: sizeValue, Args: []Arg{fieldArg, cutArg, bitsArg}, Effect: rawEffect,
		make: func(a *args, env Env) (shardify.Transform, error) { return newCrop(a, env, false) },
	},
	{
		Name: "random-crop", Help: "cut a part out of images at a random place; smaller ones are an error", Value: sizeValue, Args: []Arg{fieldArg, cutArg, bitsArg}, Effect: rawEffect, Random: true,
		make: func(a *args, env Env) (shardify.Transform, error) { return newCrop(a, env, true) },
	},
	{
		Name: "random-resized-crop", Help: "cut a random part out of images and scale it", Value: sizeValue, Random: true, Effect: rawEffect,
		Args: []Arg{{"scale", "0.08:1", "LO:HI of the part's area, as a share of the image"}, {"ratio", "0.75:1.3333", "LO:HI of its width over height"}, filterArg, fieldArg, cutArg, bitsArg},
		make: newResizedCrop,
	},
	{
		Name: "flip", Help: "mirror images at random", Value: Arg{Name: "horizontal|vertical", Default: "horizontal", Help: "left and right, or top and bottom"}, Random: true,
		Args: []Arg{{"p", "0.5", "chance of each image"}, fieldArg, cutArg, bitsArg}, Effect: rawEffect,
		make: newFlip,
	},
	{
		Name: "rotate", Help: "turn images about their centre by a random angle, keeping their size", Value: Arg{Name: "DEGREES", Help: "the most to either side"}, Random: true,
		Args: []Arg{{"fill", "0", "0 to 255: what comes in from outside"}, fieldArg, cutArg, bitsArg}, Effect: rawEffect,
		make: newTurn,
	},
	{
		Name: "colour-jitter", Help: "change brightness, contrast, saturation and hue at random, in this order", Random: true, Effect: rawEffect,
		Args: []Arg{
			{"brightness", "0", "S: a factor between 1-S and 1+S"}, {"contrast", "0", "S: a factor between 1-S and 1+S, about the mean grey"},
			{"saturation", "0", "S: a factor between 1-S and 1+S"}, {"hue", "0", "H up to 0.5: a turn of up to H of the circle to either side"}, fieldArg, cutArg, bitsArg,
		},
		make: newJitter,
	},
	{
		Name: "encode", Help: "encode raw pixels", Value: Arg{Name: "jpg|png", Help: "the format"},
		Args: []Arg{{"quality", "90", "1 to 100, of jpg"}, {"chroma", "4:2:0", "4:2:0, 4:2:2 or 4:4:4: pixels that share the colour of a jpg"}, fieldArg, cutArg, bitsArg}, Effect: "a field of encoded images",
		make: newEncode,
	},
}

// images changes pictures one by one.
type images struct {
	glob string
	dice dice
	do   func(p picture, r *source, s *buffers) (picture, error)
	cut  func(w, h int, r *source) (cut, error) // instead of do: the part and size of w x h pixels
	// w and h are the size of what do makes; 0: as it was (same), or varying.
	w, h int
	same bool
	// orient: pictures are made upright by their EXIF tag, which is lost in all that follows.
	orient  bool
	deep    bool   // pixels are grey, of 16 bits
	moving  bool   // places in the image change
	asked   string // what orient is to do with targets
	upright bool   // they were made for the upright image
	decoding
	pool sync.Pool

	n       int
	plan    []imageColumn
	out     []shardify.Field
	targets []target
	groups  []drops
	alike   bool // all images of a sample have one size, as something follows them all
}

// imageColumn is a column of what comes out: a copy of column from, or pictures made of
// it, or their shapes.
type imageColumn struct {
	from    int
	picture bool
	shapes  bool
	shape   int // of a ragged source: its companion; -1: encoded, or of fixed shape
	doubt   bool
	mask    *target
}

func newImages(a *args, env Env) (*images, error) {
	m := &images{glob: a.text("field"), dice: dice{table: env.Table}}
	var err error
	if m.decoding, err = newDecoding(a); err == nil {
		_, err = path.Match(m.glob, "")
	}
	return m, err
}

// Needs names the field, if it is a name.
func (m *images) Needs() []string { return plain([]string{m.glob}) }

// encoded reports whether a field holds files of images.
func encoded(f *shardify.Field) bool {
	return f.Levels == 1 && slices.Contains([]string{"jpg", "png", "gif", "webp", "image"}, f.Media)
}

// raw reports whether a field holds pixels.
func raw(f *shardify.Field) bool {
	return f.Attrs[AttrImage] == hwc && f.DType == shardify.U8 && (f.Ragged && f.Levels == 1 || f.Levels == 0 && len(f.Shape) == 3)
}

// chosen lists the image fields that the glob takes.
func chosen(in []shardify.Field, glob string, fits func(*shardify.Field) bool, what string) ([]bool, error) {
	out, any, deep := make([]bool, len(in)), false, ""
	for i := range in {
		if ok, _ := path.Match(glob, in[i].Name); ok && !shardify.Companion(in, i) && fits(&in[i]) {
			out[i], any = true, true
		} else if ok && in[i].Attrs[AttrImage] == hw {
			deep = in[i].Name
		}
	}
	if !any && deep != "" {
		return nil, shardify.Mismatch("%s holds pixels of 16 bits, which no operation on images takes: --augment decode=u8,bits16=upper instead of decode=u16 makes pixels of 8", deep)
	}
	if i := slices.IndexFunc(in, func(f shardify.Field) bool { return f.Media == "tif" || f.Media == "tiff" }); !any && i >= 0 {
		return nil, shardify.Hint(shardify.Unsupported("%s holds TIFF images, which are not decoded", in[i].Name),
			`8 and 16 bits as PNG: python3 -c 'import pathlib, PIL.Image as I; [I.open(p).save(p.with_suffix(".png")) for p in pathlib.Path("FOLDER").rglob("*.tif*")]'`,
			`floats as arrays: python3 -c 'import pathlib, numpy, tifffile; [numpy.save(p.with_suffix(".npy"), tifffile.imread(p)) for p in pathlib.Path("FOLDER").rglob("*.tif*")]'`)
	}
	if !any {
		return nil, shardify.Mismatch("no field %s holds %s", glob, what)
	}
	return out, nil
}

// Schema makes raw pixels of the image fields.
func (m *images) Schema(in []shardify.Field) ([]shardify.Field, error) {
	fits, what := func(f *shardify.Field) bool { return encoded(f) || raw(f) }, "jpg, png, gif or webp images"
	switch {
	case m.orient:
		fits, what = encoded, what+" as they are encoded: orient comes before other operations"
	case m.deep:
		fits, what = encoded, what+" as they are encoded: decode=u16 comes before other operations"
	}
	mine, err := chosen(in, m.glob, func(f *shardify.Field) bool { return fits(f) && targetOf(f) == "" }, what)
	if err != nil {
		return nil, err
	}
	if err := m.follow(in, mine); err != nil {
		return nil, err
	}
	m.n, m.plan, m.out = len(in), nil, nil
	for i := range in {
		f := in[i]
		mask := m.maskAt(i)
		if owner, ok := companionOf(in, i); ok && (mine[owner] || m.maskAt(owner) != nil) {
			continue // rebuilt, or no longer needed
		}
		if mask != nil {
			m.addMask(mask, f, in)
			continue
		}
		if t := m.targetAt(i); t != nil {
			t.at = len(m.plan)
		}
		if !mine[i] {
			m.plan, m.out = append(m.plan, imageColumn{from: i}), append(m.out, f)
			continue
		}
		c := imageColumn{from: i, picture: true, shape: -1, doubt: doubtful(in, mine, i, m.glob)}
		if f.Ragged {
			c.shape = shardify.FieldIndex(in, f.Name+shardify.ShapeSuffix)
		}
		w, h := m.w, m.h
		if m.same && f.Levels == 0 {
			h, w = f.Shape[0], f.Shape[1]
		}
		pixels, dims := rawField(f, w, h), 3
		if m.deep {
			pixels.DType, pixels.Attrs[AttrImage], dims = shardify.U16, hw, 2
		}
		m.plan, m.out = append(m.plan, c), append(m.out, pixels)
		if w == 0 {
			m.plan = append(m.plan, imageColumn{from: i, shapes: true})
			m.out = append(m.out, shardify.Field{Name: f.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{dims}})
		}
	}
	return m.out, m.gather()
}

// targetAt is the target that comes in as field i.
func (m *images) targetAt(i int) *target {
	for k := range m.targets {
		if m.targets[k].from == i {
			return &m.targets[k]
		}
	}
	return nil
}

// maskAt is the mask that comes in as field i.
func (m *images) maskAt(i int) *target {
	if t := m.targetAt(i); t != nil && t.attr == attrMask {
		return t
	}
	return nil
}

// addMask plans the column of a mask.
func (m *images) addMask(t *target, f shardify.Field, in []shardify.Field) {
	w, h := m.w, m.h
	if image := &in[t.image]; m.same && image.Levels == 0 {
		h, w = image.Shape[0], image.Shape[1]
	}
	pixels := rawField(f, w, h)
	pixels.Attrs[AttrImage] = hw
	if pixels.DType = f.DType; t.size == 2 && f.Media != "" {
		pixels.DType = shardify.U16
	}
	if w > 0 {
		pixels.Shape = []int{h, w}
	}
	t.at = len(m.plan)
	m.plan, m.out = append(m.plan, imageColumn{from: t.from, shape: t.shape, mask: t}), append(m.out, pixels)
	if w == 0 {
		m.plan = append(m.plan, imageColumn{from: t.from, shapes: true})
		m.out = append(m.out, shardify.Field{Name: f.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{2}})
	}
}

// rawField is the field of pictures of a size, or of any (0).
func rawField(f shardify.Field, w, h int) shardify.Field {
	attrs := maps.Clone(f.Attrs)
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs[AttrImage] = hwc
	out := shardify.Field{Name: f.Name, DType: shardify.U8, Nullable: f.Nullable, Attrs: attrs}
	if w > 0 {
		out.Shape = []int{h, w, 3}
	} else {
		out.Levels, out.Ragged = 1, true
	}
	return out
}

// companionOf returns the field that field i is a companion of.
func companionOf(in []shardify.Field, i int) (owner int, ok bool) {
	if !shardify.Companion(in, i) {
		return 0, false
	}
	name := strings.TrimSuffix(strings.TrimSuffix(in[i].Name, shardify.ShapeSuffix), shardify.ExtSuffix)
	owner = shardify.FieldIndex(in, name)
	return owner, owner >= 0
}

// Cost is raw pixels, ten to forty times what JPEG takes.
func (m *images) Cost([]shardify.Field) shardify.Cost {
	if m.w > 0 {
		size := 3
		for _, t := range m.targets {
			if t.attr == attrMask {
				size += t.size
			}
		}
		return shardify.Cost{Growth: 1, Sample: int64(size*m.w*m.h) + 64}
	}
	return shardify.Cost{Growth: 20, Sample: 64}
}

// Apply changes every picture of a batch.
func (m *images) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, m.n); err != nil {
		return nil, err
	}
	s, _ := m.pool.Get().(*buffers)
	if s == nil {
		s = new(buffers)
	}
	defer m.pool.Put(s)
	s.decoding = m.decoding
	out := *b
	out.Columns = make([]shardify.Column, len(m.plan))
	var shapes []int64 // of the picture column before
	var lost []shardify.Count
	if len(m.targets) > 0 {
		s.ready(m.plan, b.Samples)
	}
	for k, c := range m.plan {
		src := &b.Columns[c.from]
		switch {
		case c.mask != nil || c.shapes && m.plan[k-1].mask != nil: // made of what was done to the images
		case c.shapes:
			out.Columns[k] = shardify.Column{Field: m.out[k], Data: shardify.Bytes(shapes)}
		case !c.picture:
			out.Columns[k] = *src
		default:
			var shape *shardify.Column
			if c.shape >= 0 {
				shape = &b.Columns[c.shape]
			}
			dst := shardify.Column{Field: m.out[k], Valid: src.Valid}
			var err error
			s.lost = 0
			if shapes, err = m.column(&dst, src, shape, c, b, seed, s, mem); err != nil {
				return nil, err
			}
			if s.lost > 0 {
				lost = append(lost, shardify.Count{Name: src.Name + LostOrientation, N: s.lost})
			}
			out.Columns[k] = dst
		}
	}
	if lost != nil {
		out.Counts = append(slices.Clip(b.Counts), lost...)
	}
	if len(m.targets) == 0 {
		return &out, nil
	}
	return m.lead(b, &out, s, mem)
}

// column makes the pictures of one column and returns their shapes.
func (m *images) column(dst, src, shape *shardify.Column, c imageColumn, b *shardify.Batch, seed uint64, s *buffers, mem *shardify.Arena) (shapes []int64, err error) {
	fixed := dst.Levels == 0
	var offsets []int64
	each, dims := dst.ElemBytes(), 3
	if m.deep {
		dims = 2
	}
	if fixed {
		dst.Data = mem.Alloc(each * b.Samples)
	} else {
		offsets, shapes = mem.Int64s(b.Samples+1), mem.Int64s(dims*b.Samples)
		offsets[0] = 0
		dst.Offsets = [][]int64{offsets}
		s.out = s.out[:0]
	}
	m.dice.roll(b, seed, func(i int, r *source) {
		if err != nil {
			return
		}
		var p picture
		if present(src, i) {
			if c.doubt {
				err = doubt(src, i)
			}
			if err == nil {
				p, err = m.one(src, shape, i, r, s)
			}
			if err != nil {
				err = shardify.Amend(err, func(e *shardify.Error) {
					e.Op, e.Field, e.Sample, e.At = "augment", src.Name, b.ID(i).Sample, new(b.ID(i))
				})
				return
			}
		}
		if len(m.targets) > 0 && present(src, i) {
			s.moves[c.from][i] = s.moved
		}
		if fixed {
			to := dst.Data[each*i : each*(i+1)]
			clear(to[copy(to, p.pix):])
			return
		}
		s.out = append(s.out, p.pix...)
		offsets[i+1] = int64(len(s.out) / each)
		shape := [3]int64{int64(p.h), int64(p.w), 3}
		copy(shapes[dims*i:dims*(i+1)], shape[:])
	})
	if err == nil && !fixed {
		dst.Data = mem.Alloc(len(s.out))
		copy(dst.Data, s.out)
	}
	return shapes, err
}

// one makes the picture of sample i.
func (m *images) one(src, shape *shardify.Column, i int, r *source, s *buffers) (p picture, err error) {
	lo, hi := src.Range(i, i+1)
	if m.cut == nil || src.Media == "" || !isJPEG(src.Data[lo:hi]) {
		p, err = m.loaded(src, shape, i, r, s)
	} else {
		p, err = m.cutJPEG(src.Data[lo:hi], r, s)
	}
	if err == nil && m.w > 0 && (p.w != m.w || p.h != m.h) {
		err = fmt.Errorf("made %d x %d pixels of %d x %d", p.w, p.h, m.w, m.h)
	}
	return p, err
}

// cutJPEG decodes what is needed of a JPEG.
func (m *images) cutJPEG(file []byte, r *source, s *buffers) (picture, error) {
	w, h, err := s.open(file)
	if err != nil {
		return picture{}, err
	}
	c, err := m.cut(w, h, r)
	if err != nil {
		return picture{}, err
	}
	s.moved = moves.Cut(w, h, c.x, c.y, c.w, c.h, c.size.W, c.size.H)
	p, err := s.jpeg(c)
	return m.turned(p, file, s), err
}

// loaded makes the picture of the whole one.
func (m *images) loaded(src, shape *shardify.Column, i int, r *source, s *buffers) (picture, error) {
	if m.deep {
		return m.greys(src, i, s)
	}
	p, err := load(src, shape, i, s)
	if err != nil {
		return p, err
	}
	s.moved = moves.Oriented(p.w, p.h, 1)
	if src.Media != "" {
		lo, hi := src.Range(i, i+1)
		if err := m.undecided(src.Data[lo:hi]); err != nil {
			return p, err
		}
		p = m.turned(p, src.Data[lo:hi], s)
	}
	if m.cut == nil {
		return m.do(p, r, s)
	}
	c, err := m.cut(p.w, p.h, r)
	if err != nil {
		return p, err
	}
	s.moved = moves.Cut(p.w, p.h, c.x, c.y, c.w, c.h, c.size.W, c.size.H)
	return s.cut(p, c)
}

// load is the picture of sample i, in memory that may be changed.
func load(src, shape *shardify.Column, i int, s *buffers) (picture, error) {
	lo, hi := src.Range(i, i+1)
	data := src.Data[lo:hi]
	if src.Media != "" {
		return s.decode(data)
	}
	p := picture{}
	if shape != nil {
		row := shape.Data[24*i:]
		h, w, c := binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:]), binary.LittleEndian.Uint64(row[16:])
		if c != 3 || h > maxPixels || w > maxPixels || 3*h*w != uint64(len(data)) {
			return p, shardify.Corrupt(-1, "shape [%d, %d, %d] for %d bytes of pixels", h, w, c, len(data))
		}
		p.h, p.w = int(h), int(w)
	} else {
		p.h, p.w = src.Shape[0], src.Shape[1]
		if src.Shape[2] != 3 {
			return p, shardify.Unsupported("pixels of %d channels", src.Shape[2])
		}
	}
	p.pix = grow(&s.decoded, len(data))
	copy(p.pix, data)
	return p, nil
}

// size parses N or WxH.
func size(text string) (w, h int, err error) {
	a, b, two := strings.Cut(text, "x")
	if !two {
		b = a
	}
	w, err1 := strconv.Atoi(a)
	h, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || w < 1 || h < 1 || w > 1<<15 || h > 1<<15 {
		return 0, 0, fmt.Errorf("%q: want a size, N or WxH, up to 32768 pixels", text)
	}
	return w, h, nil
}

func filterOf(a *args) (resize.Filter, error) {
	name := a.text("filter")
	f, ok := resize.FilterOf(name)
	if !ok {
		return 0, fmt.Errorf("filter=%s: want box, bilinear, bicubic or lanczos", name)
	}
	return f, nil
}

func newResize(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	w, h, err := size(a.text(""))
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(a)
	m.moving = true
	short := !strings.Contains(a.text(""), "x")
	if !short {
		m.w, m.h = w, h
	}
	m.cut = func(pw, ph int, _ *source) (cut, error) {
		to, up := w, h
		if short {
			to, up = shorter(pw, ph, w)
		}
		return cut{0, 0, pw, ph, resize.Size{W: to, H: up, Filter: filter}}, nil
	}
	return m, err
}

// shorter is the size whose shorter side is n.
func shorter(w, h, n int) (int, int) {
	if w <= h {
		return n, max(1, int(int64(n)*int64(h)/int64(w)))
	}
	return max(1, int(int64(n)*int64(w)/int64(h))), n
}

func newCrop(a *args, env Env, random bool) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	m.moving = true
	m.w, m.h, err = size(a.text(""))
	m.cut = func(w, h int, r *source) (cut, error) {
		if w < m.w || h < m.h {
			return cut{}, shardify.Mismatch("an image of %d x %d pixels is smaller than the crop of %d x %d: --augment resize=%d before it", w, h, m.w, m.h, max(m.w, m.h))
		}
		x, y := int(math.RoundToEven(float64(w-m.w)/2)), int(math.RoundToEven(float64(h-m.h)/2))
		if random {
			x, y = r.below(w-m.w+1), r.below(h-m.h+1)
		}
		return cut{x, y, m.w, m.h, resize.Size{W: m.w, H: m.h}}, nil
	}
	return m, err
}

func newResizedCrop(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	m.moving = true
	if m.w, m.h, err = size(a.text("")); err != nil {
		return nil, err
	}
	lo, hi, err := a.pair("scale", 1e-6, 1)
	if err != nil {
		return nil, err
	}
	thin, broad, err := a.pair("ratio", 1e-3, 1e3)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(a)
	m.cut = func(w, h int, r *source) (cut, error) {
		c := cut{size: resize.Size{W: m.w, H: m.h, Filter: filter}}
		c.x, c.y, c.w, c.h = part(w, h, lo, hi, thin, broad, r)
		return c, nil
	}
	return m, err
}

// part draws a rectangle of such an area and ratio; where ten tries do not fit it is the
// middle, as far as the ratio allows.
func part(pw, ph int, lo, hi, thin, broad float64, r *source) (x, y, w, h int) {
	area := float64(pw) * float64(ph)
	for range 10 {
		a := area * r.between(lo, hi)
		ratio := elementary.Exp(r.between(elementary.Log(thin), elementary.Log(broad)))
		w, h = int(math.Round(math.Sqrt(a*ratio))), int(math.Round(math.Sqrt(a/ratio)))
		if w >= 1 && h >= 1 && w <= pw && h <= ph {
			return r.below(pw - w + 1), r.below(ph - h + 1), w, h
		}
	}
	w, h = pw, ph
	switch ratio := float64(pw) / float64(ph); {
	case ratio < thin:
		h = max(1, int(math.Round(float64(w)/thin)))
	case ratio > broad:
		w = max(1, int(math.Round(float64(h)*broad)))
	}
	return (pw - w) / 2, (ph - h) / 2, w, h
}

func newFlip(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	which := a.text("")
	if which != "horizontal" && which != "vertical" {
		return nil, fmt.Errorf("%q: want horizontal or vertical", which)
	}
	chance, err := a.number("p", 0, 1)
	m.same, m.moving = true, true
	m.do = func(p picture, r *source, s *buffers) (picture, error) {
		if r.float() < chance {
			s.moved = moves.Oriented(p.w, p.h, 2)
			if which == "vertical" {
				s.moved = moves.Oriented(p.w, p.h, 4)
			}
			mirror(p, which == "vertical")
		}
		return p, nil
	}
	return m, err
}

func newTurn(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	most, err := a.number("", 0, 180)
	if err != nil {
		return nil, err
	}
	fill, err := a.whole("fill", 0, 255)
	m.same, m.moving = true, true
	m.do = func(p picture, r *source, s *buffers) (picture, error) {
		if angle := r.between(-most, most) * math.Pi / 180; angle != 0 {
			return s.rotate(p, angle, byte(fill)), nil
		}
		return p, nil
	}
	return m, err
}

func newJitter(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	var most [4]float64
	for i, name := range []string{"brightness", "contrast", "saturation", "hue"} {
		limit := 10.0
		if name == "hue" {
			limit = 0.5
		}
		if most[i], err = a.number(name, 0, limit); err != nil {
			return nil, err
		}
	}
	if most == [4]float64{} {
		return nil, fmt.Errorf("give at least one of brightness, contrast, saturation and hue")
	}
	m.same = true
	m.do = func(p picture, r *source, _ *buffers) (picture, error) {
		factor := func(s float64) float64 { return r.between(max(1-s, 0), 1+s) }
		j := jitter{factor(most[0]), factor(most[1]), factor(most[2]), r.between(-most[3], most[3])}
		j.apply(p)
		return p, nil
	}
	return m, nil
}
