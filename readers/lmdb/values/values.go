// Package values says what the values of an LMDB database are, by their first bytes.
package values

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"regexp"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/codecs/protowire"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/readers/lmdb/msgpack"
)

// Kinds of values.
const (
	Bytes   = "bytes"
	Text    = "text"
	Image   = "image"
	File    = "file" // of a kind that has a name
	Numbers = "numbers"
	Datum   = "datum"
	JSON    = "json"
	Msgpack = "msgpack"
	Atoms   = "atoms" // ASE's JSON
)

// Kind is what the values of one key in each sample are.
type Kind struct {
	Is    string         `json:"k"`
	Ext   string         `json:"e,omitempty"` // of a file or image; "" for images of several kinds
	DType shardify.DType `json:"t,omitempty"` // of numbers, or of a Datum's
	Shape []int          `json:"s,omitempty"` // the same; nil: any length
	Zlib  bool           `json:"z,omitempty"` // packed
}

var typed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9]+)(\[([0-9,]*)\])?$`) })

// Parse reads --value-type: text, bytes, image, f32, f32[6], f32[2,3], f32[].
func Parse(text string) (*Kind, error) {
	switch text {
	case Text, Bytes, Image:
		return &Kind{Is: text}, nil
	}
	m := typed().FindStringSubmatch(text)
	if m == nil {
		return nil, shardify.Misuse("--value-type %q: want text, bytes, image, or a type with the lengths of an array: f32[6]", text)
	}
	k := &Kind{Is: Numbers, Shape: []int{}}
	t, err := shardify.ParseDType(m[1])
	if err != nil || t.Size() == 0 {
		return nil, shardify.Misuse("--value-type %q: there is no type %s", text, m[1])
	}
	k.DType = t
	if m[2] == "[]" {
		k.Shape = nil
		return k, nil
	}
	for s := range bytes.SplitSeq([]byte(m[3]), []byte{','}) {
		if len(s) == 0 && m[2] == "" {
			break
		}
		n, err := strconv.Atoi(string(s))
		if err != nil || n < 1 || n > 1<<30 || n > 1<<30/max(k.elements(), 1) {
			return nil, shardify.Misuse("--value-type %q: %q is no length", text, s)
		}
		k.Shape = append(k.Shape, n)
	}
	return k, nil
}

func (k *Kind) elements() int {
	n := 1
	for _, m := range k.Shape {
		n *= m
	}
	return n
}

// Pickled is the error of values that Python pickled.
func Pickled(what string) error {
	const first, second = "pip install lmdb msgpack msgpack-numpy, then rewrite OLD as NEW, if you trust it:",
		`python3 -c 'import lmdb, pickle, msgpack, msgpack_numpy as m; old = lmdb.open("OLD", subdir=False, lock=False, readonly=True); new = lmdb.open("NEW", subdir=False, map_size=1 << 40); w = new.begin(write=True); [w.put(k, msgpack.packb(pickle.loads(v), default=m.encode)) for k, v in old.begin().cursor()]; w.commit()'`
	return shardify.Hint(shardify.Hint(shardify.Unsupported("%s is a Python pickle, which runs code when it is read; shardify does not", what), second), first)
}

func isPickle(v []byte) bool {
	return len(v) > 2 && v[0] == 0x80 && v[1] >= 2 && v[1] <= 5 && v[len(v)-1] == '.'
}

// Guess says what a value is; what names it in errors.
func Guess(v []byte, what string) (*Kind, error) {
	if isPickle(v) {
		return nil, Pickled(what)
	}
	if len(v) > 2 && v[0] == 0x78 && (v[1] == 0x01 || v[1] == 0x5e || v[1] == 0x9c || v[1] == 0xda) {
		if text, err := Unpack(nil, v); err == nil {
			if k := guessJSON(text); k != nil {
				k.Zlib = true
				return k, nil
			}
			if isPickle(text) {
				return nil, Pickled(what + ", packed,")
			}
		}
	}
	if k := guessJSON(v); k != nil {
		return k, nil
	}
	if d, err := ParseDatum(v); err == nil {
		return d.Kind(), nil
	}
	if f := filekind.Of(v); f != nil && len(v) > 16 {
		k := &Kind{Is: File, Ext: f.Exts[0]}
		if f.Image {
			k.Is = Image
		}
		return k, nil
	}
	if _, err := msgpack.JSON(nil, v); msgpack.IsMap(v) && err == nil {
		return &Kind{Is: Msgpack}, nil
	}
	if utf8.Valid(v) && !bytes.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }) {
		return &Kind{Is: Text}, nil
	}
	return &Kind{Is: Bytes}, nil
}

func guessJSON(v []byte) *Kind {
	t := bytes.TrimSpace(v)
	if len(t) < 2 || t[0] != '{' || t[len(t)-1] != '}' {
		return nil
	}
	if bytes.Contains(t, []byte(`"numbers"`)) && bytes.Contains(t, []byte(`"positions"`)) && bytes.Contains(t, []byte(`"cell"`)) && bytes.Contains(t, []byte(`"pbc"`)) {
		return &Kind{Is: Atoms}
	}
	return &Kind{Is: JSON}
}

// Join is what the values of two samples are: nil if they have nothing in common.
func (k *Kind) Join(o *Kind) *Kind {
	switch {
	case k.Is == Image && o.Is == Image:
		if k.Ext != o.Ext {
			return &Kind{Is: Image}
		}
	case k.Is == o.Is && k.Ext == o.Ext && k.Zlib == o.Zlib && k.DType == o.DType && slices.Equal(k.Shape, o.Shape):
	case (k.Is == Text || k.Is == Bytes) && (o.Is == Text || o.Is == Bytes):
		return &Kind{Is: Bytes}
	default:
		return nil
	}
	return k
}

// Most is what more than half of some values are, if that has a structure that the others lack, the first of which is
// odd; -1 without such. Rows of ASE are that also where they are fewer: other values look like them by no chance.
func Most(all []*Kind) (most *Kind, odd int) {
	for i, k := range all {
		n, other := 0, -1
		for j, o := range all {
			if k.Is == o.Is && k.Zlib == o.Zlib {
				n++
			} else if other < 0 {
				other = j
			}
		}
		if k.Is == Atoms || 2*n > len(all) && (k.Is == JSON || k.Is == Msgpack) {
			return all[i], other
		}
	}
	return nil, -1
}

// String names it.
func (k *Kind) String() string {
	switch {
	case k.Is == Datum && k.Ext == "":
		return fmt.Sprintf("a Datum of %s %v", k.DType, k.Shape)
	case k.Is == Image || k.Is == File:
		return cmp.Or(k.Ext, k.Is)
	}
	return k.Is
}

// maxText bounds a value that is unpacked.
const maxText = 256 << 20

// Unpack appends what zlib packed to b.
func Unpack(b, v []byte) ([]byte, error) {
	at := len(b)
	for size := 4*len(v) + 1024; ; size *= 4 {
		size = min(size, maxText)
		b = slices.Grow(b[:at], size)
		n, used, err := inflate.Zlib(b[at:at+size], v)
		switch {
		case err == nil && used < len(v):
			return b, shardify.Corrupt(-1, "%d bytes behind the packed text", len(v)-used)
		case err == nil:
			return b[:at+n], nil
		case !errors.Is(err, inflate.ErrTooLong):
			return b, shardify.Corrupt(-1, "zlib: %v", err)
		case size == maxText:
			return b, shardify.Unsupported("a text of more than %s, unpacked", shardify.FormatSize(maxText))
		}
	}
}

// ADatum is a record of Caffe.
type ADatum struct {
	Dims    [3]int // channels, height, width
	Data    []byte
	Floats  []byte // little-endian
	Label   int64
	Encoded bool
}

var errDatum = shardify.Corrupt(-1, "not a Caffe Datum, or damaged")

// ParseDatum reads a record of Caffe. Its data are part of b, but for floats that are not in one piece.
func ParseDatum(b []byte) (d ADatum, err error) {
	owned := false
	f := protowire.Fields{B: b}
	for f.Next() {
		switch v := f.N; {
		case f.Num >= 1 && f.Num <= 3 && f.Wire == protowire.Varint && v > 0 && v < 1<<24:
			d.Dims[f.Num-1] = int(v)
		case f.Num == 4 && f.Wire == protowire.Bytes:
			d.Data = f.Val
		case f.Num == 5 && f.Wire == protowire.Varint:
			d.Label = int64(int32(v))
		case f.Num == 6 && (f.Wire == protowire.Fixed32 || f.Wire == protowire.Bytes && len(f.Val)%4 == 0):
			if d.Floats == nil {
				d.Floats = f.Val
				break
			}
			if !owned {
				d.Floats, owned = bytes.Clone(d.Floats), true
			}
			d.Floats = append(d.Floats, f.Val...)
		case f.Num == 7 && f.Wire == protowire.Varint && v < 2:
			d.Encoded = v == 1
		default:
			return d, errDatum
		}
	}
	if f.Err != nil {
		return d, errDatum
	}
	return d, d.check()
}

// check reports whether the lengths are those of the data.
func (d *ADatum) check() error {
	n := int64(d.Dims[0]) * int64(d.Dims[1])
	if d.Dims[0] > 4096 {
		return errDatum
	}
	n *= int64(d.Dims[2])
	if d.Encoded {
		if f := filekind.Of(d.Data); f == nil || !f.Image {
			return errDatum
		}
		return nil
	}
	if n == 0 || n != int64(len(d.Data)) && len(d.Floats) == 0 || len(d.Floats) > 0 && (len(d.Data) > 0 || n != int64(len(d.Floats))/4) {
		return errDatum
	}
	return nil
}

// Kind is what a Datum is.
func (d *ADatum) Kind() *Kind {
	switch {
	case d.Encoded:
		return &Kind{Is: Datum, Ext: filekind.Of(d.Data).Exts[0]}
	case len(d.Floats) > 0:
		return &Kind{Is: Datum, DType: shardify.F32, Shape: d.Dims[:]}
	}
	return &Kind{Is: Datum, DType: shardify.U8, Shape: d.Dims[:]}
}
