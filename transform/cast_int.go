package transform

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/numbers/half"
)

// caster is a wanted type. Integers that do not fit are an error, unless clip takes the
// nearest that does.
type caster struct {
	to   shardify.DType
	clip bool
}

// lost counts values that a cast changed.
type lost struct {
	overflow int64 // finite floats that became infinite
	rounded  int64 // integers that the floating type does not hold exactly
	cut      int64 // floats whose fraction went
	clipped  int64
	bad      int // the first value that does not fit, or -1
}

func (l *lost) report(b *shardify.Batch, op, name string) {
	count(b, l.overflow, "%s %s: too large, now infinite", op, name)
	count(b, l.rounded, "%s %s: integers rounded", op, name)
	count(b, l.cut, "%s %s: fractions cut off", op, name)
	count(b, l.clipped, "%s %s: clipped", op, name)
}

// convertColumn changes the type of a column of a batch. Values that are missing become 0.
func convertColumn(c *shardify.Column, b *shardify.Batch, t caster, mem *shardify.Arena) (lost, error) {
	from, n := c.DType, 0
	if size := from.Size(); size > 0 {
		n = len(c.Data) / size
	}
	to := mem.Alloc(n * t.to.Size())
	var sum lost
	one := func(lo, hi int) error {
		l := convertValues(to[lo*t.to.Size():hi*t.to.Size()], t, c.Data[lo*from.Size():hi*from.Size()], from)
		if l.bad >= 0 {
			return atSample(misfit(c, lo+l.bad, t), b, sampleAt(c, b.Samples, lo+l.bad))
		}
		sum.overflow, sum.rounded = sum.overflow+l.overflow, sum.rounded+l.rounded
		sum.cut, sum.clipped = sum.cut+l.cut, sum.clipped+l.clipped
		return nil
	}
	var err error
	if c.Valid == nil {
		err = one(0, n)
	} else {
		err = eachValid(c, b.Samples, one, func(lo, hi int) { clear(to[lo*t.to.Size() : hi*t.to.Size()]) })
	}
	c.DType, c.Data = t.to, to
	return sum, err
}

// eachValid calls there for stretches of values of samples that have one, and missing
// for the others.
func eachValid(c *shardify.Column, samples int, there func(lo, hi int) error, missing func(lo, hi int)) error {
	size := max(c.DType.Size(), 1)
	for i := 0; i < samples; {
		k := i
		for k < samples && c.Valid[k] == c.Valid[i] {
			k++
		}
		lo, hi := c.Range(i, k)
		if c.Valid[i] == 0 {
			missing(lo/size, hi/size)
		} else if err := there(lo/size, hi/size); err != nil {
			return err
		}
		i = k
	}
	return nil
}

func misfit(c *shardify.Column, i int, t caster) error {
	v := valueText(c.DType, c.Data, i)
	hint := fmt.Sprintf("%s=%s:clip takes the nearest", c.Name, t.to)
	if v == "NaN" || t.to == shardify.Bool {
		hint = "--nan decides about NaN"
	}
	return shardify.Mismatch("field %s is %s, which %s does not hold; %s", c.Name, v, t.to, hint)
}

// valueText writes value i.
func valueText(d shardify.DType, data []byte, i int) string {
	var x [1]int64
	var f [1]float64
	v := data[i*d.Size() : (i+1)*d.Size()]
	if d.IsFloat() {
		numeric.Convert(shardify.Bytes(f[:]), shardify.F64, v, d)
	} else {
		numeric.Convert(shardify.Bytes(x[:]), shardify.I64, v, d)
	}
	switch {
	case d == shardify.Bool:
		return fmt.Sprint(x[0] != 0)
	case d == shardify.U64:
		return fmt.Sprint(uint64(x[0]))
	case d == shardify.F64:
		return fmt.Sprint(f[0])
	case d.IsFloat():
		return fmt.Sprint(float32(f[0]))
	}
	return fmt.Sprint(x[0])
}

func convertValues(dst []byte, t caster, src []byte, from shardify.DType) lost {
	switch from {
	case shardify.Bool:
		return fromInt[uint8](dst, t, src)
	case shardify.I8:
		return fromInt[int8](dst, t, src)
	case shardify.I16:
		return fromInt[int16](dst, t, src)
	case shardify.I32:
		return fromInt[int32](dst, t, src)
	case shardify.I64:
		return fromInt[int64](dst, t, src)
	case shardify.U8:
		return fromInt[uint8](dst, t, src)
	case shardify.U16:
		return fromInt[uint16](dst, t, src)
	case shardify.U32:
		return fromInt[uint32](dst, t, src)
	case shardify.U64:
		return fromInt[uint64](dst, t, src)
	case shardify.F32:
		return fromFloat[float32](dst, t, src)
	case shardify.F64:
		return fromFloat[float64](dst, t, src)
	}
	return fromHalf(dst, t, src, from)
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func fromInt[S integer](dst []byte, t caster, src []byte) lost {
	x := shardify.View[S](src)
	switch t.to {
	case shardify.Bool:
		for i, e := range x {
			dst[i] = 0
			if e != 0 {
				dst[i] = 1
			}
		}
		return lost{bad: -1}
	case shardify.I8:
		return intToInt[S, int8](dst, x, math.MinInt8, math.MaxInt8, t.clip)
	case shardify.I16:
		return intToInt[S, int16](dst, x, math.MinInt16, math.MaxInt16, t.clip)
	case shardify.I32:
		return intToInt[S, int32](dst, x, math.MinInt32, math.MaxInt32, t.clip)
	case shardify.I64:
		return intToInt[S, int64](dst, x, math.MinInt64, math.MaxInt64, t.clip)
	case shardify.U8:
		return intToInt[S, uint8](dst, x, 0, math.MaxUint8, t.clip)
	case shardify.U16:
		return intToInt[S, uint16](dst, x, 0, math.MaxUint16, t.clip)
	case shardify.U32:
		return intToInt[S, uint32](dst, x, 0, math.MaxUint32, t.clip)
	case shardify.U64:
		return intToInt[S, uint64](dst, x, 0, math.MaxUint64, t.clip)
	case shardify.F32:
		return intToFloat[S, float32](dst, x)
	case shardify.F64:
		return intToFloat[S, float64](dst, x)
	}
	return intToHalf(dst, x, t.to)
}

func intToHalf[S integer](dst []byte, x []S, to shardify.DType) lost {
	l := lost{bad: -1}
	z := shardify.View[uint16](dst)
	limit := float32(math.Ldexp(1, magnitude[S]()))
	for i, e := range x {
		f := half.NarrowInt(uint64(e), e < 0)
		var back float32
		if to == shardify.F16 {
			z[i] = half.ToF16(f)
			back = half.F16(z[i])
		} else {
			z[i] = half.ToBF16(f)
			back = half.BF16(z[i])
		}
		switch {
		case math.IsInf(float64(back), 0):
			l.overflow++
		case back >= limit || S(back) != e:
			l.rounded++
		}
	}
	return l
}

// magnitude is the exponent that integers of S stay below.
func magnitude[S integer]() (exp int) {
	for e := S(1); e > 0; e <<= 1 {
		exp++
	}
	return exp
}

// intToInt checks whether the value comes back, and keeps its sign.
func intToInt[S, D integer](dst []byte, x []S, lo int64, hi uint64, clip bool) lost {
	z := shardify.View[D](dst)
	l := lost{bad: -1}
	for i, e := range x {
		d := D(e)
		if S(d) == e && (d < 0) == (e < 0) {
			z[i] = d
			continue
		}
		if !clip {
			l.bad = i
			return l
		}
		l.clipped++
		if e < 0 {
			z[i] = D(lo)
		} else {
			z[i] = D(hi)
		}
	}
	return l
}

func intToFloat[S integer, D float32 | float64](dst []byte, x []S) lost {
	z := shardify.View[D](dst)
	l := lost{bad: -1}
	exp := magnitude[S]()
	exact := 53
	if D(1<<24+1) == D(1<<24) {
		exact = 24
	}
	if exp <= exact {
		for i, e := range x {
			z[i] = D(e)
		}
		return l
	}
	limit := D(math.Ldexp(1, exp))
	for i, e := range x {
		f := D(e)
		if z[i] = f; f >= limit || S(f) != e {
			l.rounded++
		}
	}
	return l
}
