package node

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"math"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/codecs/crc32c"
	"github.com/shardify/shardify/codecs/filter"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/numbers/half"
)

// codec3 adds a codec of format 3 that is neither transpose nor what makes bytes.
func (b *builder) codec3(name string, o object) error {
	if name == "crc32c" {
		return b.numcodec("crc32c", object{"location": "end"}, false)
	}
	const prefix = "numcodecs."
	if len(name) > len(prefix) && name[:len(prefix)] == prefix {
		return b.numcodec(name[len(prefix):], o, true)
	}
	return b.numcodec(name, o, true)
}

// toBytes adds what makes bytes of the elements.
func (b *builder) toBytes(name string, o object, depth int) error {
	switch name {
	case "bytes":
		if b.typ.Varies() {
			return shardify.Unsupported("codec bytes for elements of type %s", b.typ.Name)
		}
		switch endian := text(o, "endian", ""); {
		case endian == "big":
			t := b.typ
			b.add("bytes", b.size, func(dst, src []byte, _ *Scratch) ([]byte, error) {
				if len(src) != len(dst) {
					return src, nil // of the wrong size, which the caller says
				}
				copy(dst, src)
				t.swap(dst, true)
				return dst, nil
			})
		case endian == "" && o["endian"] == nil && unit(&b.typ) > 1:
			return shardify.Corrupt(-1, "codec bytes without endian for elements of %d bytes", b.typ.Size)
		case endian != "" && endian != "little", o["endian"] != nil && endian == "":
			return shardify.Corrupt(-1, "codec bytes: endian %v", o["endian"])
		}
	case "vlen-utf8", "vlen-bytes":
		if want := map[string]kind{"vlen-utf8": Text, "vlen-bytes": Blob}[name]; b.typ.Kind != want {
			return shardify.Corrupt(-1, "codec %s for elements of type %s", name, b.typ.Name)
		}
		b.c.parse = lengthsOf(name, b.typ.Kind == Text, 1)
	case "sharding_indexed":
		if len(b.steps) > 0 {
			return shardify.Unsupported("sharding behind a codec that changes elements")
		}
		s, err := newShard(b.typ, b.c.stored(), o, depth)
		if err != nil {
			return err
		}
		b.c.shard = s
		b.c.inner = make([]int64, len(b.c.shape))
		for k := range b.c.inner {
			axis := k
			if b.c.order != nil {
				axis = b.c.order[k]
			}
			b.c.inner[axis] = s.inner[k]
		}
		b.size = -1
	}
	return nil
}

// unit is the bytes of what has a byte order.
func unit(t *Type) int {
	switch t.Kind {
	case Complex:
		return t.Size / 2
	case FixedU:
		return 4
	case Fixed, Raw, Struct: // zarr-python gives structures no byte order: little
		return 1
	}
	return t.Size
}

// numcodec adds a codec by the name that numcodecs has for it.
func (b *builder) numcodec(id string, o object, arrays bool) error {
	size := b.size
	switch id {
	case "zlib", "gzip":
		b.add(id, -1, func(dst, src []byte, s *Scratch) ([]byte, error) {
			if size < 0 {
				return inflateAll(id, src)
			}
			var n, used int
			var err error
			if id == "zlib" {
				n, used, err = s.inflate.Zlib(dst, src)
			} else {
				n, used, err = gunzip(dst, src)
			}
			if err != nil {
				return nil, shardify.Corrupt(int64(used), "%s: %v", id, err)
			}
			return dst[:n], nil
		})
	case "zstd":
		b.add(id, -1, func(dst, src []byte, _ *Scratch) ([]byte, error) {
			if size < 0 {
				return zstdAll(src)
			}
			n, err := codecs.ZstdAtMost(dst, src)
			return first(dst, n, err)
		})
	case "blosc":
		b.add(id, -1, func(dst, src []byte, s *Scratch) ([]byte, error) {
			if size < 0 {
				n := filter.BloscSize(src)
				if n < 0 || n > 255*int64(len(src)) {
					return nil, shardify.Corrupt(-1, "blosc: %d bytes claim to decode to %d", len(src), n)
				}
				dst = make([]byte, n)
			}
			return dst, filter.Blosc(dst, src, &s.filter)
		})
	case "lz4":
		b.add(id, -1, func(dst, src []byte, _ *Scratch) ([]byte, error) { return lz4(dst, src, size) })
	case "bz2":
		b.whole(id, codecs.Bzip2AtMost)
	case "lzma":
		if n, err := integer(o["format"]); o["format"] != nil && (err != nil || n != 1) {
			return shardify.Unsupported("lzma of format %v", o["format"])
		}
		b.whole(id, codecs.XZ)
	case "shuffle":
		return b.shuffle(id, o)
	case "crc32", "adler32", "crc32c", "jenkins_lookup3", "fletcher32":
		return b.checksum(id, o)
	case "base64":
		b.add(id, -1, func(dst, src []byte, _ *Scratch) ([]byte, error) {
			if most := base64.StdEncoding.DecodedLen(len(src)); most > len(dst) {
				dst = make([]byte, most)
			}
			n, err := base64.StdEncoding.Decode(dst, src)
			if err != nil {
				return nil, shardify.Corrupt(-1, "base64: %v", err)
			}
			return dst[:n], nil
		})
	default:
		if arrays {
			return b.ofElements(id, o)
		}
		return shardify.Unsupported("codec %q", id)
	}
	return nil
}

// lz4 decodes a block behind its length; size is what it must have, -1 if that is not known.
func lz4(dst, src []byte, size int64) ([]byte, error) {
	if len(src) < 4 {
		return nil, shardify.Corrupt(-1, "lz4: %d bytes are not a header", len(src))
	}
	n := int64(binary.LittleEndian.Uint32(src))
	if size >= 0 && n != size || n > 256*int64(len(src)) {
		return nil, shardify.Corrupt(0, "lz4: claims %d bytes", n)
	}
	if size < 0 {
		dst = make([]byte, n)
	}
	k, err := codecs.LZ4Block(dst, src[4:])
	return first(dst, k, err)
}

// shuffle adds the step that undoes a shuffle of bytes.
func (b *builder) shuffle(id string, o object) error {
	size, n := b.size, int64(4)
	if o["elementsize"] != nil {
		var err error
		if n, err = integer(o["elementsize"]); err != nil || n < 1 || n > maxItem {
			return shardify.Corrupt(-1, "shuffle: elementsize %v", o["elementsize"])
		}
	}
	b.add(id, size, func(dst, src []byte, _ *Scratch) ([]byte, error) {
		if size < 0 {
			dst = make([]byte, len(src))
		} else if len(src) != len(dst) {
			return src, nil
		}
		filter.Unshuffle(dst, src, int(n))
		return dst, nil
	})
	return nil
}

// whole adds a compression that is decoded where the size is known alone.
func (b *builder) whole(id string, decode func(dst, src []byte) (int, error)) {
	size := b.size
	b.add(id, -1, func(dst, src []byte, _ *Scratch) ([]byte, error) {
		if size < 0 {
			return nil, shardify.Unsupported("%s before a codec whose size is not known", id)
		}
		n, err := decode(dst, src)
		return first(dst, n, err)
	})
}

// first is what a codec decoded to.
func first(dst []byte, n int, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return dst[:n], nil
}

// checksum adds a codec that puts a checksum before or behind the data.
func (b *builder) checksum(id string, o object) error {
	start := id == "crc32" || id == "adler32"
	switch text(o, "location", "") {
	case "start":
		start = true
	case "end":
		start = false
	}
	after := b.size
	if after >= 0 {
		after += 4
	}
	b.add(id, after, func(_, src []byte, _ *Scratch) ([]byte, error) {
		if id == "fletcher32" {
			return filter.Fletcher32(src)
		}
		if len(src) < 4 {
			return nil, shardify.Corrupt(-1, "%s: %d bytes are not a checksum", id, len(src))
		}
		data, at := src[:len(src)-4], len(src)-4
		if start {
			data, at = src[4:], 0
		}
		var sum uint32
		switch id {
		case "crc32":
			sum = crc32.ChecksumIEEE(data)
		case "crc32c":
			sum = crc32c.Update(0, data)
		case "adler32":
			sum = adler32.Checksum(data)
		default:
			sum = codecs.Lookup3(data)
		}
		if stored := binary.LittleEndian.Uint32(src[at:]); stored != sum {
			return nil, shardify.Corrupt(int64(at), "%s is %08x, stored %08x", id, sum, stored)
		}
		return data, nil
	})
	return nil
}

// gunzip decodes all members.
func gunzip(dst, src []byte) (n, used int, err error) {
	for used < len(src) || used == 0 {
		k, m, err := inflate.Gzip(dst[n:], src[used:])
		n, used = n+k, used+m
		if err != nil {
			return n, used, err
		}
	}
	return n, used, nil
}

// limitAll is what a chunk without a known size may decode to.
const limitAll = 1 << 30

func inflateAll(id string, src []byte) ([]byte, error) {
	decode := inflate.Zlib
	if id == "gzip" {
		decode = gunzip
	}
	for size := 4*len(src) + 256; ; size *= 4 {
		dst := make([]byte, size)
		n, used, err := decode(dst, src)
		switch {
		case err == nil:
			return dst[:n], nil
		case !errors.Is(err, inflate.ErrTooLong):
			return nil, shardify.Corrupt(int64(used), "%s: %v", id, err)
		case size > limitAll:
			return nil, shardify.Unsupported("%s: a chunk of values decodes to more than %d bytes", id, limitAll)
		}
	}
}

func zstdAll(src []byte) ([]byte, error) {
	most := min(limitAll, 1<<26+1024*len(src))
	for size := 8*len(src) + 4096; ; size *= 8 {
		dst := make([]byte, min(size, most), min(size, most)+codecs.ZstdSlack)
		n, err := codecs.ZstdAtMost(dst, src)
		if err == nil || size >= most {
			return first(dst, n, err)
		}
	}
}

// ofElements adds a codec that changes elements, or makes bytes of objects.
func (b *builder) ofElements(id string, o object) error {
	switch id {
	case "vlen-utf8", "vlen-bytes", "vlen-array", "json2", "categorize":
		return b.objects(id, o)
	}
	dtype := func(key string, otherwise Type) (Type, error) {
		s, ok := o[key].(string)
		if !ok {
			return otherwise, nil
		}
		t, err := numpyType(s)
		if err == nil && t.Kind != Number {
			err = shardify.Unsupported("%s of elements of type %s", id, s)
		}
		return t, err
	}
	if b.typ.Kind != Number || b.size < 0 {
		return shardify.Unsupported("codec %q for elements of type %s", id, b.typ.Name)
	}
	count := b.size / int64(b.typ.Size)
	var plain, stored Type
	var err error
	switch id {
	case "packbits":
		after := 1 + (count+7)/8
		b.add(id, after, func(dst, src []byte, _ *Scratch) ([]byte, error) { return unpackBits(dst, src) })
		b.typ, b.size = Type{Name: "u1", DType: shardify.U8, Size: 1}, after
		return nil
	case "astype":
		if plain, err = dtype("decode_dtype", b.typ); err == nil {
			stored, err = dtype("encode_dtype", plain)
		}
	case "delta", "fixedscaleoffset", "quantize":
		if plain, err = dtype("dtype", b.typ); err == nil {
			stored, err = dtype("astype", plain)
		}
	case "bitround":
		plain, stored = b.typ, b.typ
	default:
		return shardify.Unsupported("codec %q", id)
	}
	if err != nil {
		return err
	}
	if plain.Size != b.typ.Size {
		return shardify.Corrupt(-1, "%s: elements of %s, the array has %s", id, plain.Name, b.typ.Name)
	}
	undo := func(x element) element { return x }
	switch id {
	case "delta":
		undo = nil
	case "fixedscaleoffset":
		scale, offset := float(o["scale"], 1), float(o["offset"], 0)
		narrow := stored.DType == shardify.F32 || stored.DType == shardify.F16
		undo = func(x element) element {
			if narrow {
				return element{f: float64(float32(float32(x.float())/float32(scale)) + float32(offset)), real: true}
			}
			q := x.float() / scale
			return element{f: q + offset, real: true}
		}
	}
	after := count * int64(stored.Size)
	b.add(id, after, func(dst, src []byte, _ *Scratch) ([]byte, error) {
		if int64(len(src)) != after {
			return nil, shardify.Corrupt(-1, "%s: %d bytes, not %d", id, len(src), after)
		}
		if undo == nil {
			sum(dst, src, &plain, &stored)
			return dst, nil
		}
		if plain.DType == stored.DType && plain.big == stored.big && id != "fixedscaleoffset" {
			return src, nil
		}
		for i := range count {
			store(dst[i*int64(plain.Size):][:plain.Size], &plain, undo(load(src[i*int64(stored.Size):][:stored.Size], &stored)))
		}
		return dst, nil
	})
	b.typ = stored
	return nil
}

func float(v any, otherwise float64) float64 {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return otherwise
}

// element is a number on its way from one type to another.
type element struct {
	f        float64
	i        uint64 // of integers, with their sign
	real     bool
	unsigned bool
}

func (x element) float() float64 {
	switch {
	case x.real:
		return x.f
	case x.unsigned:
		return float64(x.i)
	}
	return float64(int64(x.i))
}

func load(p []byte, t *Type) element {
	var n uint64
	for i, c := range p {
		if t.big {
			n = n<<8 | uint64(c)
		} else {
			n |= uint64(c) << (8 * i)
		}
	}
	switch t.DType {
	case shardify.F16:
		return element{f: float64(half.F16(uint16(n))), real: true}
	case shardify.BF16:
		return element{f: float64(half.BF16(uint16(n))), real: true}
	case shardify.F32:
		return element{f: float64(math.Float32frombits(uint32(n))), real: true}
	case shardify.F64:
		return element{f: math.Float64frombits(n), real: true}
	case shardify.U8, shardify.U16, shardify.U32, shardify.U64, shardify.Bool:
		return element{i: n, unsigned: true}
	}
	shift := 64 - 8*len(p)
	return element{i: uint64(int64(n<<shift) >> shift)}
}

func store(p []byte, t *Type, x element) {
	switch t.DType {
	case shardify.F16, shardify.BF16, shardify.F32, shardify.F64:
		putFloat(p, t.DType, x.float())
	default:
		n := x.i
		if x.real {
			n = uint64(int64(x.f))
			if x.f >= 1<<63 {
				n = uint64(x.f)
			}
		}
		putBits(p, n)
	}
	if t.big {
		swapAll(p, len(p))
	}
}

// sum undoes differences: sums in the type of dst.
func sum(dst, src []byte, plain, stored *Type) {
	var total element
	total.real = plain.DType.IsFloat()
	for i := 0; i*stored.Size < len(src); i++ {
		x := load(src[i*stored.Size:][:stored.Size], stored)
		switch {
		case !total.real:
			total.i += x.i
		case i == 0:
			total.f = x.float()
		case plain.DType == shardify.F32:
			total.f = float64(float32(total.f) + float32(x.float()))
		default:
			total.f += x.float()
		}
		store(dst[i*plain.Size:][:plain.Size], plain, total)
	}
}

func unpackBits(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return nil, shardify.Corrupt(0, "packbits: no bytes")
	}
	padding, bits := int(src[0]), src[1:]
	if padding > 7 || 8*len(bits)-padding != len(dst) {
		return nil, shardify.Corrupt(0, "packbits: %d bytes with %d bits of padding for %d values", len(bits), padding, len(dst))
	}
	for i := range dst {
		dst[i] = bits[i/8] >> (7 - i%8) & 1
	}
	return dst, nil
}

// objects adds what makes bytes of elements without a fixed size.
func (b *builder) objects(id string, o object) error {
	if !b.typ.Varies() || b.c.parse != nil {
		return shardify.Unsupported("codec %q for elements of type %s", id, b.typ.Name)
	}
	t := Type{Name: id, Kind: Text}
	switch id {
	case "vlen-utf8":
		b.c.parse = lengthsOf(id, true, 1)
	case "vlen-bytes":
		t.Kind = Blob
		b.c.parse = lengthsOf(id, false, 1)
	case "vlen-array":
		s, _ := o["dtype"].(string)
		of, err := numpyType(s)
		if err != nil {
			return err
		}
		if of.Kind != Number {
			return shardify.Unsupported("lists of %s", s)
		}
		t.Kind, t.DType = list, of.DType
		parse := lengthsOf(id, false, of.Size)
		b.c.parse = func(p []byte, dst [][]byte) error {
			if err := parse(p, dst); err != nil || !of.big {
				return err
			}
			for i, v := range dst {
				v = bytes.Clone(v)
				swapAll(v, of.Size)
				dst[i] = v
			}
			return nil
		}
	case "json2":
		b.c.parse = parseJSON2
	case "categorize":
		return b.categories(o)
	}
	b.typ, b.c.typ = t, t
	return nil
}

// categories adds codes of texts: 1 is the first text, 0 is no text.
func (b *builder) categories(o object) error {
	l, _ := o["labels"].([]any)
	labels := make([][]byte, len(l))
	for i, x := range l {
		s, ok := x.(string)
		if !ok {
			return shardify.Corrupt(-1, "categorize: a label is not text")
		}
		labels[i] = []byte(s)
	}
	s, _ := o["astype"].(string)
	if s == "" {
		s = "|u1"
	}
	of, err := numpyType(s)
	if err != nil {
		return err
	}
	if of.Kind != Number || !of.DType.IsInt() {
		return shardify.Unsupported("categorize: codes of type %s", s)
	}
	b.typ = Type{Name: "categorize", Kind: Text}
	b.c.typ = b.typ
	b.c.parse = func(p []byte, dst [][]byte) error {
		if len(p) != len(dst)*of.Size {
			return shardify.Corrupt(-1, "categorize: %d bytes for %d codes", len(p), len(dst))
		}
		for i := range dst {
			x := load(p[i*of.Size:][:of.Size], &of)
			switch {
			case x.i == 0:
				dst[i] = nil
			case x.i > uint64(len(labels)):
				return shardify.Corrupt(int64(i*of.Size), "categorize: code %d of %d labels", x.i, len(labels))
			default:
				dst[i] = labels[x.i-1]
			}
		}
		return nil
	}
	return nil
}

// lengthsOf parses a count, and for each element its length and its bytes.
func lengthsOf(id string, utf bool, unit int) func(p []byte, dst [][]byte) error {
	return func(p []byte, dst [][]byte) error {
		if len(p) < 4 {
			return shardify.Corrupt(0, "%s: %d bytes are not a count", id, len(p))
		}
		if n := binary.LittleEndian.Uint32(p); uint64(n) != uint64(len(dst)) {
			return shardify.Corrupt(0, "%s: %d values in a chunk of %d", id, n, len(dst))
		}
		at := 4
		for i := range dst {
			if len(p)-at < 4 {
				return shardify.Corrupt(int64(at), "%s: the chunk ends in value %d", id, i)
			}
			n := uint64(binary.LittleEndian.Uint32(p[at:]))
			at += 4
			if n > uint64(len(p)-at) || n%uint64(unit) != 0 {
				return shardify.Corrupt(int64(at), "%s: value %d of %d bytes, %d are left", id, i, n, len(p)-at)
			}
			dst[i] = p[at : at+int(n) : at+int(n)]
			if utf && !utf8.Valid(dst[i]) {
				return shardify.Corrupt(int64(at), "%s: value %d is not UTF-8", id, i)
			}
			at += int(n)
		}
		if at != len(p) {
			return shardify.Corrupt(int64(at), "%s: %d bytes behind the last value", id, len(p)-at)
		}
		return nil
	}
}

// parseJSON2 parses a list of the elements, their type and their shape.
func parseJSON2(p []byte, dst [][]byte) error {
	if at := tooDeep(p); at >= 0 {
		return shardify.Corrupt(int64(at), "json2: nested more than %d deep", maxDepth)
	}
	var l []json.RawMessage
	if err := json.Unmarshal(p, &l); err != nil {
		return shardify.Corrupt(-1, "json2: %v", err)
	}
	if len(l) != len(dst)+2 {
		return shardify.Corrupt(-1, "json2: %d values in a chunk of %d", len(l)-2, len(dst))
	}
	for i := range dst {
		var s string
		if json.Unmarshal(l[i], &s) == nil {
			dst[i] = []byte(s)
		} else {
			dst[i] = l[i] // as JSON
		}
	}
	return nil
}
