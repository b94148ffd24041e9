package annotations

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// written is the field that is made of texts of numbers: of so many numbers each, or else lists of any length.
func (p *parse) written(f shardify.Field) (shardify.Field, error) {
	if f.Media != "txt" || f.Counter != "" && f.Levels < 2 && p.spec.shape == nil {
		return f, op.FlagError("parse", p.spec.Text(), shardify.Misuse("%s is %s; text=yes reads texts of numbers", f.Name, op.Holds(&f)))
	}
	f.DType, f.Shape, f.Media, f.Attrs = p.spec.dtype, p.spec.shape, "", nil
	if p.spec.shape != nil {
		f.Levels--
	}
	return f, nil
}

// texts reads numbers of texts such as "[1, 2.5, 3]".
func (p *parse) texts(b *shardify.Batch, mem *shardify.Arena) (*shardify.Batch, error) {
	out := op.Fork(b)
	c := &out.Columns[p.col]
	text, ends := c.Data, c.Offsets[c.Levels-1]
	offsets := mem.Int64s(len(ends))
	offsets[0] = 0
	r := p.rows()
	defer p.workers.Put(r)
	values := r.columns[0].data
	for i := range len(ends) - 1 {
		n, err := 0, error(nil)
		if c.Levels > 1 || there(c, i) {
			values, n, err = p.spec.appendNumbers(values, text[ends[i]:ends[i+1]])
		} else if p.spec.shape != nil { // a missing value has the size of one
			n = p.spec.shape[0]
			values = append(values, make([]byte, n*p.spec.dtype.Size())...)
		}
		if err == nil && p.spec.shape != nil && n != p.spec.shape[0] {
			err = shardify.Corrupt(-1, "the text %.60q has %d numbers; want %d", text[ends[i]:ends[i+1]], n, p.spec.shape[0])
		}
		if err != nil {
			sample := i
			if c.Levels > 1 {
				for sample = 0; c.Offsets[0][sample+1] <= int64(i); {
					sample++
				}
			}
			return nil, p.located(err, b, sample)
		}
		offsets[i+1] = offsets[i] + int64(n)
	}
	r.columns[0].data = values
	lists := append([][]int64{}, c.Offsets[:c.Levels-1]...)
	if p.spec.shape == nil {
		lists = append(lists, offsets)
	}
	c.Field, c.Offsets, c.Data = p.out[p.col], lists, mem.Alloc(len(values))
	copy(c.Data, values)
	return out, nil
}

// appendNumbers appends the numbers of a text, between commas, spaces or both, in brackets or without.
func (s *Spec) appendNumbers(b, text []byte) ([]byte, int, error) {
	rest := bytes.TrimSpace(text)
	for _, pair := range []string{"[]", "()"} {
		if len(rest) > 0 && rest[0] == pair[0] {
			if len(rest) < 2 || rest[len(rest)-1] != pair[1] {
				return b, 0, shardify.Corrupt(-1, "the text %.60q begins with %c and does not end with %c", text, pair[0], pair[1])
			}
			rest = bytes.TrimSpace(rest[1 : len(rest)-1])
			break
		}
	}
	n := 0
	for len(rest) > 0 {
		end := bytes.IndexAny(rest, ", \t\r\n")
		if end < 0 {
			end = len(rest)
		}
		x, err := number("a number of the text", rest[:end])
		if err != nil {
			return b, n, err
		}
		if s.dtype == shardify.F32 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		n++
		rest = bytes.TrimLeft(rest[end:], " \t\r\n")
		if len(rest) > 0 && rest[0] == ',' {
			if rest = bytes.TrimLeft(rest[1:], " \t\r\n"); len(rest) == 0 {
				return b, n, shardify.Corrupt(-1, "the text %.60q ends with a comma", text)
			}
		}
	}
	return b, n, nil
}
