package inspect

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/plan"
)

// Value is one field of one sample, for people.
type Value struct {
	Field string `json:"field"`
	Type  string `json:"type"`
	Bytes int64  `json:"bytes"`
	Text  string `json:"value"` // abbreviated
}

// Shown is one sample.
type Shown struct {
	Sample int64   `json:"sample"`
	Key    string  `json:"key,omitempty"`
	Input  string  `json:"input"`
	In     int64   `json:"sample_in_input"`
	Values []Value `json:"values"`
	// Origin is where it was converted from, where the set says so.
	Origin *Origin `json:"origin,omitempty"`
}

// Sample reads sample n, counted over all inputs of the source. It reads no more
// than the span needs, unless samples before it have to be decoded first.
func Sample(ctx context.Context, src shardify.Source, t *format.Table, n int64) (*Shown, error) {
	span, run, err := find(ctx, src, n)
	if err != nil {
		return nil, err
	}
	r, err := src.Reader(span.Run)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 30)
	for _, s := range run {
		mem, err := pool.Grant(ctx, s.Bytes)
		if err != nil {
			return nil, err
		}
		_, err = r.Read(ctx, s, mem)
		mem.Release()
		if err != nil {
			return nil, err
		}
	}
	mem, err := pool.Grant(ctx, span.Bytes)
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	b, err := r.Read(ctx, span, mem)
	if err != nil {
		return nil, err
	}
	if err := b.Check(); err != nil {
		return nil, err
	}
	out := Show(b, 0)
	out.Sample = n
	if in := b.ID(0).Input; int(in) < t.Len() {
		out.Input = t.Name(int(in))
		if out.Input == index.ManifestName { // as all sets are
			out.Input = filepath.Dir(t.Path(int(in)))
		}
		out.Origin = origin(b, t.Path(int(in)))
	}
	return out, nil
}

// find is the span of the one sample n. In a run it begins where the run's span
// does, with what has to be read before.
func find(ctx context.Context, src shardify.Source, n int64) (span shardify.Span, before []shardify.Span, err error) {
	at := int64(0)
	for s, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return span, nil, err
		}
		if s.Run == 0 || len(before) > 0 && before[0].Run != s.Run {
			before = before[:0]
		}
		if n >= at && n < at+s.Samples() {
			one := s
			one.Lo = s.Lo + n - at
			one.Hi = one.Lo + 1
			one.Bytes = s.Bytes/s.Samples() + 1
			if s.Run > 0 && one.Lo > s.Lo {
				skip := s
				skip.Hi = one.Lo
				before = append(before, skip)
			}
			return one, before, nil
		}
		at += s.Samples()
		if s.Run > 0 {
			before = append(before, s)
		}
	}
	return span, nil, shardify.Misuse("there is no sample %d: the samples are 0 to %d", n, at-1)
}

// Show is sample i of a batch, without what the batch does not know: its number and its input.
func Show(b *shardify.Batch, i int) *Shown {
	id := b.ID(i)
	out := &Shown{Key: string(b.Key(i)), In: id.Sample}
	schema := make([]shardify.Field, len(b.Columns))
	for k := range b.Columns {
		schema[k] = b.Columns[k].Field
	}
	for k := range b.Columns {
		if shardify.Companion(schema, k) {
			continue
		}
		c := &b.Columns[k]
		lo, hi := c.Range(i, i+1)
		v := Value{Field: c.Name, Type: TypeOf(&c.Field), Bytes: int64(hi - lo)}
		switch {
		case c.Valid != nil && c.Valid[i] == 0:
			v.Text = "nothing"
		case c.Levels == 2:
			v.Text = lists(c, i)
		case c.Media != "":
			v.Text = media(b, c, i, c.Data[lo:hi])
		default:
			v.Text = numbers(&c.Field, c.Data[lo:hi]) + labelOf(c, c.Data[lo:hi]) + raggedShape(b, c, i)
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// few is how many values of a list are shown.
const few = 8

func lists(c *shardify.Column, i int) string {
	lo, hi := c.Offsets[0][i], c.Offsets[0][i+1]
	var out []string
	size := int64(c.ElemBytes())
	for l := lo; l < min(hi, lo+few); l++ {
		part := c.Data[c.Offsets[1][l]*size : c.Offsets[1][l+1]*size]
		if c.Media != "" {
			out = append(out, text(part))
		} else {
			out = append(out, numbers(&c.Field, part))
		}
	}
	if hi-lo > few {
		out = append(out, fmt.Sprintf("... %d in all", hi-lo))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func media(b *shardify.Batch, c *shardify.Column, i int, data []byte) string {
	if c.Media == "txt" || c.Media == "json" || c.Media == "cls" {
		return text(data)
	}
	kind := c.Media
	for k := range b.Columns {
		if e := &b.Columns[k]; e.Name == c.Name+shardify.ExtSuffix && len(e.Data) > i {
			if l := e.Labels(); int(e.Data[i]) < len(l) {
				kind = l[e.Data[i]]
			}
		}
	}
	return fmt.Sprintf("%s of %s", kind, shardify.FormatSize(int64(len(data))))
}

// text quotes what a terminal can show.
func text(b []byte) string {
	const most = 120
	if !utf8.Valid(b) {
		return fmt.Sprintf("%d bytes, not UTF-8", len(b))
	}
	if len(b) > most {
		cut := most
		for !utf8.RuneStart(b[cut]) {
			cut--
		}
		return fmt.Sprintf("%q... (%d bytes)", b[:cut], len(b))
	}
	return strconv.Quote(string(b))
}

func raggedShape(b *shardify.Batch, c *shardify.Column, i int) string {
	if !c.Ragged {
		return ""
	}
	for k := range b.Columns {
		if s := &b.Columns[k]; s.Name == c.Name+shardify.ShapeSuffix {
			lo, hi := s.Range(i, i+1)
			return " as " + strings.ReplaceAll(fmt.Sprint(shardify.View[int64](s.Data)[lo/8:hi/8]), " ", " x ")
		}
	}
	return ""
}

// labelOf is the name of a code, where the field names them.
func labelOf(c *shardify.Column, data []byte) string {
	names, codes := c.Codes()
	if names == nil || c.DType.Size() != len(data) || !c.DType.IsInt() {
		return ""
	}
	n, err := strconv.ParseInt(number(c.DType, data), 10, 64)
	if i := slices.Index(codes, n); err == nil && i >= 0 {
		return " (" + names[i] + ")"
	}
	return ""
}

func numbers(f *shardify.Field, data []byte) string {
	size := f.DType.Size()
	n := len(data) / size
	if n == 1 && f.Levels == 0 && len(f.Shape) == 0 {
		return number(f.DType, data)
	}
	var out []string
	for i := range min(n, few) {
		out = append(out, number(f.DType, data[i*size:]))
	}
	if n > few {
		out = append(out, fmt.Sprintf("... %d in all", n))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// number writes one value, which b begins with.
func number(t shardify.DType, b []byte) string {
	var u uint64
	size := t.Size()
	for i := range size {
		u |= uint64(b[i]) << (8 * i)
	}
	switch {
	case t == shardify.Bool:
		return strconv.FormatBool(u != 0)
	case t >= shardify.I8 && t <= shardify.I64:
		shift := 64 - 8*size
		return strconv.FormatInt(int64(u<<shift)>>shift, 10)
	case t >= shardify.U8 && t <= shardify.U64:
		return strconv.FormatUint(u, 10)
	case t == shardify.F64:
		return strconv.FormatFloat(math.Float64frombits(u), 'g', 6, 64)
	case t == shardify.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(u))), 'g', 6, 32)
	case t == shardify.BF16:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(u)<<16)), 'g', 4, 32)
	}
	return strconv.FormatFloat(float64(half.F16(binary.LittleEndian.Uint16(b))), 'g', 4, 64)
}
