package stats

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

const (
	leastSide = 8   // of what is shown as a picture
	mostSide  = 256 // of a picture; larger ones are thinned out
	mostAxes  = 5
)

// pictured reports whether samples of a field may be images or volumes.
func pictured(f *shardify.Field) bool {
	return f.Media == "" && f.DType != shardify.Bool && (f.Ragged || f.Levels == 0 && sides(f.Shape) != nil)
}

// sides are the two longest axes of a sample, in order; nil where that is no image and no volume.
func sides(shape []int) []int {
	if len(shape) < 2 || len(shape) > mostAxes {
		return nil
	}
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	slices.SortStableFunc(axes, func(a, b int) int { return shape[a] - shape[b] }) // of equal ones the last are shown
	axes = axes[len(axes)-2:]
	slices.Sort(axes)
	if shape[axes[0]] < leastSide || shape[axes[1]] < leastSide {
		return nil
	}
	return axes
}

// pictures keeps slices of samples of a batch, spread over all.
func (s *Set) pictures(b *shardify.Batch) {
	if s.o.Thumbnails == 0 {
		return
	}
	for k := range b.Columns {
		c := &b.Columns[k]
		if !pictured(&c.Field) {
			continue
		}
		for i := range b.Samples {
			at, n, total := s.at+int64(i), int64(s.o.Thumbnails), max(s.o.Total, 1)
			if at != 0 && at*n/total == (at-1)*n/total || c.Valid != nil && c.Valid[i] == 0 {
				continue
			}
			shape := c.Shape
			if c.Ragged {
				shape = shapeOf(b, c.Name, i)
			}
			if t, ok := middle(c, i, shape); ok {
				t.Sample = at
				s.columns[k].slices = append(s.columns[k].slices, t)
			}
		}
	}
}

// shapeOf is the shape of a sample of a ragged field.
func shapeOf(b *shardify.Batch, name string, sample int) (shape []int) {
	k := slices.IndexFunc(b.Columns, func(c shardify.Column) bool { return c.Name == name+shardify.ShapeSuffix })
	if k < 0 || b.Columns[k].DType != shardify.I64 {
		return nil
	}
	c := &b.Columns[k]
	lo, hi := c.Range(sample, sample+1)
	for _, n := range shardify.View[int64](slices.Clone(c.Data[lo:hi])) {
		shape = append(shape, int(n))
	}
	return shape
}

// middle is the picture of the two longest axes of a sample, in the middle of the others. Grey goes from the lowest
// to the highest value but for one in a hundred at either end.
func middle(c *shardify.Column, sample int, shape []int) (t Thumbnail, ok bool) {
	axes := sides(shape)
	lo, hi := c.Range(sample, sample+1)
	n := 1
	for _, d := range shape {
		if n *= d; d <= 0 || n > hi-lo || d > hi-lo {
			return t, false
		}
	}
	if axes == nil || n*c.DType.Size() != hi-lo {
		return t, false
	}
	at, strides, where := 0, make([]int, len(shape)), make([]string, len(shape))
	for i, step := len(shape)-1, 1; i >= 0; i-- {
		strides[i] = step
		if where[i] = ":"; !slices.Contains(axes, i) {
			at += shape[i] / 2 * step
			where[i] = fmt.Sprint(shape[i] / 2)
		}
		step *= shape[i]
	}
	thin := max((shape[axes[0]]+mostSide-1)/mostSide, (shape[axes[1]]+mostSide-1)/mostSide)
	h, w := (shape[axes[0]]+thin-1)/thin, (shape[axes[1]]+thin-1)/thin
	v := make([]float64, 0, h*w)
	for y := range h {
		for x := range w {
			v = append(v, valueOf(c, lo, at+y*thin*strides[axes[0]]+x*thin*strides[axes[1]]))
		}
	}
	finite := slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	if len(finite) == 0 {
		return t, false
	}
	slices.Sort(finite)
	from, to := finite[len(finite)/100], finite[len(finite)-1-len(finite)/100]
	im := image.NewGray(image.Rect(0, 0, w, h))
	for i, x := range v {
		if share := (x - from) / (to - from); share > 0 { // not of NaN
			im.Pix[i] = byte(255 * min(share, 1))
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, im); err != nil {
		return t, false
	}
	return Thumbnail{Type: "png", Data: out.Bytes(), Place: "[" + strings.Join(where, ", ") + "]"}, true
}

// valueOf is value i of a sample that begins at a byte.
func valueOf(c *shardify.Column, lo, i int) float64 {
	size := c.DType.Size()
	var from [1]uint64 // aligned, as the data need not be
	var to [1]float64
	b := shardify.Bytes(from[:])[:size]
	copy(b, c.Data[lo+i*size:])
	numeric.Convert(shardify.Bytes(to[:]), shardify.F64, b, c.DType)
	return to[0]
}
