package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/arrow"
)

// The physical types of Parquet.
const (
	pBool   = 0
	pI32    = 1
	pI64    = 2
	pF32    = 4
	pF64    = 5
	pBytes  = 6
	pFixed  = 7
	jagged  = -1 // a list of any length
	keyName = "__key__"
)

// column is how a field is written.
type column struct {
	name   string
	field  int            // of the schema; -1: the names of samples
	dtype  shardify.DType // as it is written: that of labels is i64
	from   shardify.DType
	media  string
	lists  []int // lengths of nested lists, outermost first; jagged for any
	file   bool  // a structure of bytes and a path, as Hugging Face stores images
	labels []string
	size   int // bytes of a sample's values, if all have as many

	// Of the current row group.
	rep, def []byte
	data     []byte
	nulls    int64
}

// isImage and isSound are what Hugging Face decodes.
func isImage(media string) bool {
	switch media {
	case "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "image":
		return true
	}
	return false
}

func isSound(media string) bool {
	switch media {
	case "wav", "flac", "mp3", "ogg":
		return true
	}
	return false
}

func isText(media string) bool { return media == "txt" || media == "json" }

// plan are the columns of a schema. It refuses what Parquet does not hold.
func plan(schema []shardify.Field, keyed bool) ([]column, error) {
	var all []column
	if keyed {
		all = append(all, column{name: keyName, field: -1, dtype: shardify.U8, from: shardify.U8, media: "txt"})
	}
	for i := range schema {
		f := &schema[i]
		if shardify.Companion(schema, i) { // an image says its kind
			continue
		}
		c, err := columnOf(f)
		if err != nil {
			return nil, shardify.Amend(err, func(e *shardify.Error) { e.Field = f.Name })
		}
		c.field = i
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, shardify.Unsupported("a Parquet file without columns")
	}
	return all, nil
}

func columnOf(f *shardify.Field) (column, error) {
	c := column{name: f.Name, dtype: f.DType, from: f.DType, media: f.Media}
	switch {
	case f.Ragged:
		return c, shardify.Unsupported("arrays whose shapes differ: make them equal (--pad, --augment resize), or use --format mmap")
	case f.DType == shardify.BF16:
		return c, shardify.Unsupported("Parquet has no bf16: --cast %s=f32, or use --format mmap", f.Name)
	case f.Elem() == 0:
		return c, shardify.Unsupported("arrays of shape %v: use --format mmap", f.Shape)
	}
	levels := f.Levels
	if f.Media != "" {
		levels--
		c.file = isImage(f.Media) || isSound(f.Media)
	}
	for range levels {
		c.lists = append(c.lists, jagged)
	}
	c.lists = append(c.lists, f.Shape...)
	if names := f.Labels(); names != nil && f.DType.IsInt() && len(c.lists) == 0 && allNamed(names) {
		c.labels, c.dtype = names, shardify.I64
	}
	if f.Levels == 0 {
		c.size = f.Elem() * c.dtype.Size()
	}
	return c, nil
}

func allNamed(names []string) bool {
	seen := map[string]bool{}
	for _, s := range names {
		if s == "" || seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

// most is the definition level of a value that is there: one for each part that may lack.
func (c *column) most() int {
	n := 1 + 2*len(c.lists)
	if c.file {
		n++
	}
	return n
}

// physical is the type of values in the file.
func (c *column) physical() int {
	switch {
	case c.media != "":
		return pBytes
	case c.dtype == shardify.Bool:
		return pBool
	case c.dtype == shardify.F16:
		return pFixed
	case c.dtype == shardify.F32:
		return pF32
	case c.dtype == shardify.F64:
		return pF64
	case c.dtype.Size() == 8:
		return pI64
	}
	return pI32
}

func unsigned(d shardify.DType) bool { return d >= shardify.U8 && d <= shardify.U64 }

// arrow is the type of the column there.
func (c *column) arrow() arrow.Field {
	return c.nested(c.name, c.lists)
}

func (c *column) nested(name string, lists []int) arrow.Field {
	f := arrow.Field{Name: name}
	switch {
	case len(lists) > 0:
		f.Kind = arrow.List
		if lists[0] != jagged {
			f.Kind, f.Size = arrow.FixedList, lists[0]
		}
		f.Children = []arrow.Field{c.nested("element", lists[1:])}
	case c.file:
		f.Kind, f.Children = arrow.Struct, []arrow.Field{{Name: "bytes", Kind: arrow.Binary}, {Name: "path", Kind: arrow.Text}}
	case isText(c.media):
		f.Kind = arrow.Text
	case c.media != "":
		f.Kind = arrow.Binary
	case c.dtype == shardify.Bool:
		f.Kind = arrow.Bool
	case c.dtype.IsFloat():
		f.Kind, f.Bits = arrow.Float, 8*c.dtype.Size()
	default:
		f.Kind, f.Bits, f.Signed = arrow.Int, 8*c.dtype.Size(), !unsigned(c.dtype)
	}
	return f
}

// levels appends those of sample i.
func (c *column) levels(col *shardify.Column, i int) {
	if col.Valid != nil && col.Valid[i] == 0 {
		c.rep, c.def = append(c.rep, 0), append(c.def, 0)
		c.nulls++
		return
	}
	c.walk(col, 0, int64(i), 0)
}

func (c *column) walk(col *shardify.Column, k int, at int64, rep byte) {
	if k == len(c.lists) {
		c.rep, c.def = append(c.rep, rep), append(c.def, byte(c.most()))
		return
	}
	lo, hi := at*int64(c.lists[k]), (at+1)*int64(c.lists[k])
	if c.lists[k] == jagged {
		lo, hi = col.Offsets[k][at], col.Offsets[k][at+1]
	}
	if lo == hi {
		c.rep, c.def = append(c.rep, rep), append(c.def, byte(2*k+1))
		c.nulls++
		return
	}
	if k < len(c.lists)-1 {
		for ; lo < hi; lo++ {
			c.walk(col, k+1, lo, rep)
			rep = byte(k + 1)
		}
		return
	}
	for m := byte(c.most()); lo < hi; lo++ {
		c.rep, c.def = append(c.rep, rep), append(c.def, m)
		rep = byte(k + 1)
	}
}

// values appends those of samples [lo, hi), which are all there.
func (c *column) values(col *shardify.Column, lo, hi int) {
	if c.media != "" {
		ends := col.Offsets[len(col.Offsets)-1]
		if len(col.Offsets) > 1 {
			lo, hi = int(col.Offsets[0][lo]), int(col.Offsets[0][hi])
		}
		for i := lo; i < hi; i++ {
			c.data = binary.LittleEndian.AppendUint32(c.data, uint32(ends[i+1]-ends[i]))
			c.data = append(c.data, col.Data[ends[i]:ends[i+1]]...)
		}
		return
	}
	from, to := col.Range(lo, hi)
	c.numbers(col.Data[from:to])
}

// numbers appends numbers in the type that the file has.
func (c *column) numbers(b []byte) {
	wide := 4
	if c.labels != nil {
		wide = 8
	}
	if n := c.from.Size(); n >= wide || c.from == shardify.Bool || c.from == shardify.F16 {
		c.data = append(c.data, b...)
		return
	}
	for ; len(b) > 0; b = b[c.from.Size():] {
		v := uint64(0)
		switch c.from {
		case shardify.I8:
			v = uint64(int8(b[0]))
		case shardify.U8:
			v = uint64(b[0])
		case shardify.I16:
			v = uint64(int16(binary.LittleEndian.Uint16(b)))
		case shardify.U16:
			v = uint64(binary.LittleEndian.Uint16(b))
		case shardify.I32:
			v = uint64(int32(binary.LittleEndian.Uint32(b)))
		default:
			v = uint64(binary.LittleEndian.Uint32(b))
		}
		if wide == 8 {
			c.data = binary.LittleEndian.AppendUint64(c.data, v)
		} else {
			c.data = binary.LittleEndian.AppendUint32(c.data, uint32(v))
		}
	}
}

// page appends the body of the page of the row group: levels, then values.
func (c *column) page(dst []byte, def []byte, most int, values bool) []byte {
	if len(c.lists) > 0 {
		dst = appendLevels(dst, c.rep, len(c.lists))
	}
	dst = appendLevels(dst, def, most)
	switch {
	case !values:
	case c.dtype == shardify.Bool && c.media == "":
		for i := 0; i < len(c.data); i += 8 {
			v := byte(0)
			for k, b := range c.data[i:min(i+8, len(c.data))] {
				v |= b << k
			}
			dst = append(dst, v)
		}
	default:
		dst = append(dst, c.data...)
	}
	return dst
}

// appendLevels appends levels up to most, behind their length: runs of equal ones, and groups of
// eight in as many bits as most takes.
func appendLevels(dst, levels []byte, most int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	width := bits.Len(uint(most))
	for i := 0; i < len(levels); {
		if n := run(levels[i:]); n >= 8 {
			dst = append(binary.AppendUvarint(dst, uint64(n)<<1), levels[i])
			i += n
			continue
		}
		end := i + 8
		for end < len(levels) && run(levels[end:min(end+8, len(levels))]) < 8 {
			end += 8
		}
		groups := (end - i) / 8
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		for ; groups > 0; groups-- {
			v := uint64(0)
			for k, l := range levels[min(i, len(levels)):min(i+8, len(levels))] {
				v |= uint64(l) << (k * width)
			}
			for range width {
				dst = append(dst, byte(v))
				v >>= 8
			}
			i += 8
		}
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// run is how many equal levels there are.
func run(b []byte) int {
	n := 1
	for n < len(b) && b[n] == b[0] {
		n++
	}
	return n
}
