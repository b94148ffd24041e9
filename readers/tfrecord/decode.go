package tfrecord

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/tfrecord/schema"
)

// sink gathers one column of a span.
type sink struct {
	*schema.Leaf
	column int
	slot   int
	elem   int            // values of an element
	wide   shardify.DType // in the record; the field's own if they are equal

	rows  int
	fixed []byte // of columns of a fixed size: where the values go
	lines.Collector
	room  []byte  // of the arena, where Data begins; nil if it is memory of the sink
	rate  int     // bytes of a sample in the span before
	outer []int64 // ends of lists of lists
	valid []byte
	tmp   []byte
	back  []byte
	episode
}

// decoder reads records into columns.
type decoder struct {
	whole    bool // a record is the one value
	x        tfrecord.Example
	of       [2]tfrecord.Table
	sinks    []*sink
	value    tfrecord.Value
	rows     int
	capacity int
	steps    map[string]int // values of a step by key, if samples are steps
	skips    bool           // records whose steps are damaged
}

// wides are the types that kinds have in records.
var wides = [...]shardify.DType{tfrecord.None: shardify.U8, tfrecord.Bytes: shardify.U8, tfrecord.Floats: shardify.F32, tfrecord.Ints: shardify.I64}

func newDecoder(records string, f *file, b *shardify.Batch, in *set.Input) (*decoder, error) {
	leaves := f.leaves
	d := &decoder{whole: records != "example", steps: valuesOf(leaves), skips: f.left != nil}
	for i := range b.Columns {
		c := &b.Columns[i]
		if in.Field(i) < 0 {
			continue
		}
		k := slices.IndexFunc(leaves, func(l schema.Leaf) bool { return l.Field.Name == c.Name })
		if k < 0 || int(leaves[k].Kind) >= len(wides) {
			return nil, errState
		}
		l := &leaves[k]
		if f := &l.Field; f.DType != c.DType || f.Levels != c.Levels || f.Nullable && !c.Nullable || f.Media != c.Media || !slices.Equal(f.Shape, c.Shape) {
			return nil, errState
		}
		s := &sink{Leaf: l, column: i, elem: c.Elem(), wide: wides[l.Kind]}
		if c.Media == "" && (l.Kind == tfrecord.Bytes && l.Packed == "" && l.Exts == nil || l.Kind == tfrecord.None) || c.Media != "" && c.DType != s.wide {
			return nil, errState
		}
		table := &d.of[0]
		if l.List {
			table = &d.of[1]
		}
		var err error
		if s.slot, err = table.Find([]byte(l.Key)); err != nil {
			return nil, errState
		}
		d.sinks = append(d.sinks, s)
	}
	return d, nil
}

// held is the bytes in memory beside the columns.
func (d *decoder) held() (n int64) {
	for _, s := range d.sinks {
		n += s.Held() + int64(cap(s.tmp)+cap(s.back)+8*cap(s.outer)+cap(s.valid))
	}
	return n
}

// slack is more bytes than the samples of a span took before, in all.
const slack = 4 << 10

// begin makes room for a span, which has about so many bytes.
func (d *decoder) begin(b *shardify.Batch, bytes int64, mem *shardify.Arena) {
	d.rows, d.capacity = 0, b.Samples
	lists := int64(0)
	for _, s := range d.sinks {
		if c := &b.Columns[s.column]; c.Levels > 0 {
			lists++
		} else {
			bytes -= int64(b.Samples * c.ElemBytes())
		}
	}
	guess := int(min(max(bytes, 0), 64<<20) / max(lists*int64(b.Samples), 1))
	for _, s := range d.sinks {
		s.Reset()
		s.outer, s.valid, s.rows, s.fixed = append(s.outer[:0], 0), s.valid[:0], 0, nil
		if c := &b.Columns[s.column]; c.Levels == 0 {
			s.fixed = mem.Alloc(b.Samples * c.ElemBytes())
		} else if s.rate = cmp.Or(s.rate, guess); s.rate > 0 { // most likely the values need no second copy
			s.room = mem.Alloc(b.Samples*(s.rate+s.rate/8) + slack)
			s.Data = s.room[:0]
		}
	}
}

// record reads the next one: of its steps, if samples are steps, those from lo to hi.
func (d *decoder) record(b []byte, lo, hi int) error {
	d.rows += hi - lo
	if d.whole {
		for _, s := range d.sinks {
			s.Data = append(s.Data, b...)
			s.End()
		}
		return nil
	}
	if d.steps == nil {
		if err := d.x.Parse(b); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Offset = -1 })
		}
		if err := d.take(); err != nil {
			return err
		}
	}
	for _, s := range d.sinks {
		var err error
		if s.Step {
			err = d.putSteps(s, lo, hi)
		} else {
			for k := lo; k < hi && err == nil; k++ {
				err = d.put(s)
				s.rows++
			}
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Offset = s.Field.Name, -1 })
		}
	}
	return nil
}

// take finds the entries of the record that was parsed.
func (d *decoder) take() error {
	return errors.Join(d.of[0].Take(d.x.Features), d.of[1].Take(d.x.Lists))
}

// put reads the value of one column.
func (d *decoder) put(s *sink) error {
	v := &d.value
	switch {
	case s.List && d.of[1].Has(s.slot):
		return s.steps(d.of[1].Slots[s.slot].Value, v)
	case !s.List && d.of[0].Has(s.slot):
		if err := v.Parse(d.of[0].Slots[s.slot].Value); err != nil {
			return err
		}
		if v.Kind != tfrecord.None {
			break
		}
		fallthrough
	default:
		return s.lacks(d.capacity)
	}
	return s.put(v)
}

// put reads the values of a sample.
func (s *sink) put(v *tfrecord.Value) error {
	if v.Kind != s.Kind {
		return changed("the values are %s, not %s", v.Kind, s.Kind)
	}
	switch {
	case s.Exts != nil:
		return s.ext(v)
	case s.Packed != "":
		return s.unpack(v)
	case s.Kind == tfrecord.Bytes:
		return s.texts(v)
	case s.Field.Levels == 0 && v.Count != s.elem || s.elem > 0 && v.Count%s.elem != 0 || s.elem == 0 && v.Count != 0:
		return changed("%d values", v.Count)
	}
	return s.numbers(v)
}

// lacks marks a value that is not there.
func (s *sink) lacks(all int) error {
	if !s.Field.Nullable {
		if s.Exts != nil {
			s.fixed[s.rows] = 0
			return nil
		}
		return changed("the value is missing")
	}
	if len(s.valid) == 0 {
		s.valid = slices.Grow(s.valid, all)[:all]
		for i := range s.valid {
			s.valid[i] = 1
		}
	}
	s.valid[s.rows] = 0
	switch s.Field.Levels {
	case 0:
		clear(s.place(0))
	case 1:
		s.end()
	default:
		s.outer = append(s.outer, s.outer[len(s.outer)-1])
	}
	return nil
}

// place is where n values go, or those of one element.
func (s *sink) place(n int) []byte {
	if s.fixed != nil || s.Field.Levels == 0 {
		size := s.Field.ElemBytes()
		return s.fixed[s.rows*size:][:size]
	}
	have, size := len(s.Data), n*s.Field.DType.Size()
	s.Data = slices.Grow(s.Data, size)[:have+size]
	return s.Data[have:]
}

// numbers appends values, in the type of the field.
func (s *sink) numbers(v *tfrecord.Value) error {
	dst := s.place(v.Count)
	if s.Field.DType != s.wide {
		s.tmp = slices.Grow(s.tmp[:0], v.Count*s.wide.Size())[:v.Count*s.wide.Size()]
		s.fill(s.tmp, v)
		if err := s.narrow(dst, s.tmp); err != nil {
			return err
		}
	} else {
		s.fill(dst, v)
	}
	if s.Field.Levels > 0 {
		s.end()
	}
	return nil
}

// end ends a list.
func (s *sink) end() {
	if s.Field.Media != "" {
		s.End()
	} else {
		s.Ends = append(s.Ends, int64(len(s.Data)/s.Field.ElemBytes()))
	}
}

func (s *sink) fill(dst []byte, v *tfrecord.Value) {
	if v.Kind == tfrecord.Floats {
		v.PutFloats(dst)
	} else {
		v.PutInts(dst)
	}
}

// narrow converts values to the type that features.json names. All must be values of it.
func (s *sink) narrow(dst, src []byte) error {
	t := s.Field.DType
	if t == s.wide || t == shardify.U64 { // TensorFlow keeps its bits in an i64
		copy(dst, src)
		return nil
	}
	s.back = slices.Grow(s.back[:0], len(src))[:len(src)]
	switch t {
	case shardify.F16:
		halves(dst, s.back, src, half.ToF16, half.F16)
	case shardify.BF16:
		halves(dst, s.back, src, half.ToBF16, half.BF16)
	case shardify.Bool:
		for i := range dst {
			dst[i] = src[8*i] & 1
			binary.LittleEndian.PutUint64(s.back[8*i:], uint64(dst[i]))
		}
	default:
		numeric.Convert(dst, t, src, s.wide)
		numeric.Convert(s.back, s.wide, dst, t)
	}
	if bytes.Equal(s.back, src) {
		return nil
	}
	size := s.wide.Size()
	for i := 0; i < len(src); i += size {
		if bytes.Equal(src[i:i+size], s.back[i:i+size]) {
			continue
		}
		if s.wide == shardify.F32 {
			if x := math.Float32frombits(binary.LittleEndian.Uint32(src[i:])); x == x {
				return shardify.Mismatch("%v is no %s, which %s says", x, t, tfrecord.FeaturesName)
			}
			continue // NaN
		}
		return shardify.Mismatch("%d is no %s, which %s says", int64(binary.LittleEndian.Uint64(src[i:])), t, tfrecord.FeaturesName)
	}
	return nil
}

// halves converts f32 to 16 bits, and back.
func halves(dst, back, src []byte, to func(float32) uint16, from func(uint16) float32) {
	for i := 0; i < len(dst); i += 2 {
		h := to(math.Float32frombits(binary.LittleEndian.Uint32(src[2*i:])))
		binary.LittleEndian.PutUint16(dst[i:], h)
		binary.LittleEndian.PutUint32(back[2*i:], math.Float32bits(from(h)))
	}
}

// texts appends values of bytes.
func (s *sink) texts(v *tfrecord.Value) error {
	if s.Field.Levels == 1 {
		if v.Count != 1 {
			return changed("%d values", v.Count)
		}
		s.Data = append(s.Data, v.First()...)
		s.End()
		return nil
	}
	v.Each(func(b []byte) {
		s.Data = append(s.Data, b...)
		s.End()
	})
	s.outer = append(s.outer, int64(len(s.Ends)-1))
	return nil
}

// steps appends a list of features.
func (s *sink) steps(b []byte, v *tfrecord.Value) error {
	err := tfrecord.Steps(b, func(b []byte) error {
		if err := v.Parse(b); err != nil {
			return err
		}
		if v.Kind != s.Kind {
			return changed("the values are %s, not %s", v.Kind, s.Kind)
		}
		if s.Kind == tfrecord.Bytes {
			if v.Count != 1 {
				return changed("%d values in a step", v.Count)
			}
			s.Data = append(s.Data, v.First()...)
			s.End()
			return nil
		}
		if s.Field.Levels == 1 && v.Count != s.elem {
			return changed("%d values in a step", v.Count)
		}
		s.fill(s.place(v.Count), v)
		if s.Field.Levels == 2 {
			s.end()
		}
		return nil
	})
	if s.Field.Levels == 2 {
		s.outer = append(s.outer, int64(len(s.Ends)-1))
	} else {
		s.end()
	}
	return err
}

// ext says which kind an image is of.
func (s *sink) ext(v *tfrecord.Value) error {
	if v.Count == 1 {
		if k := filekind.Of(v.First()); k != nil && len(k.Exts) > 0 {
			if i := slices.Index(s.Exts, k.Exts[0]); i >= 0 {
				s.fixed[s.rows] = byte(i)
				return nil
			}
		}
	}
	return changed("another kind of image")
}

// unpack reads values that are as in memory.
func (s *sink) unpack(v *tfrecord.Value) error {
	dst, src := s.place(0), v.First()
	if s.Packed == "zlib" && v.Count == 1 {
		s.tmp = slices.Grow(s.tmp[:0], len(dst)+1)[:len(dst)+1]
		n, used, err := inflate.Zlib(s.tmp, src)
		if err != nil || used != len(src) {
			return shardify.Corrupt(-1, "the packed array: %v", err)
		}
		src = s.tmp[:n]
	}
	if v.Count != 1 || len(src) != len(dst) {
		return shardify.Mismatch("an array of %d bytes, %s says %d", len(src), tfrecord.FeaturesName, len(dst))
	}
	if copy(dst, src); s.Field.DType == shardify.Bool && slices.ContainsFunc(dst, func(c byte) bool { return c > 1 }) {
		return shardify.Corrupt(-1, "a bool that is neither 0 nor 1")
	}
	return nil
}

// end makes columns of what was gathered.
func (d *decoder) end(b *shardify.Batch, mem *shardify.Arena) error {
	shared := map[string][]int64{}
	for _, s := range d.sinks {
		c := &b.Columns[s.column]
		if c.Levels == 0 {
			c.Data = s.fixed
		} else {
			s.rate = (len(s.Data) + b.Samples - 1) / max(b.Samples, 1)
			data, inside := s.Data, s.room != nil && cap(s.Data) == cap(s.room)
			if inside {
				s.Data = nil
			}
			moved, ends := s.Move(mem)
			if !inside {
				data = moved
			}
			s.room = nil
			c.Data, c.Offsets = data, [][]int64{ends}
			if c.Levels == 2 {
				outer := mem.Int64s(len(s.outer))
				copy(outer, s.outer)
				c.Offsets = [][]int64{outer, ends}
			}
		}
		if c.Valid = nil; len(s.valid) > 0 {
			c.Valid = mem.Alloc(b.Samples)
			copy(c.Valid, s.valid)
		}
		if c.Counter == "" || c.Levels == 0 {
			continue
		}
		if o, ok := shared[c.Counter]; !ok {
			shared[c.Counter] = c.Offsets[0]
		} else if !slices.Equal(o, c.Offsets[0]) {
			return shardify.Amend(changed("its lists are not as long as those beside it"), func(e *shardify.Error) { e.Field = c.Name })
		} else {
			c.Offsets[0] = o
		}
	}
	return nil
}
