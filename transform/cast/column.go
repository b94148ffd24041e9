package cast

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/transform/op"
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

// report adds the counts to a batch.
func (l *lost) report(b *shardify.Batch, what string) {
	op.Count(b, l.overflow, "%s: too large, now infinite", what)
	op.Count(b, l.rounded, "%s: integers rounded", what)
	op.Count(b, l.cut, "%s: fractions cut off", what)
	op.Count(b, l.clipped, "%s: clipped", what)
}

// Column changes the type of a column of b. Values that are missing become 0. What was lost is
// counted in out.
func Column(c *shardify.Column, b, out *shardify.Batch, to shardify.DType, what string, mem *shardify.Arena) error {
	return convertColumn(c, b, out, caster{to: to}, what, mem)
}

func convertColumn(c *shardify.Column, b, out *shardify.Batch, t caster, what string, mem *shardify.Arena) error {
	from, n := c.DType, 0
	if size := from.Size(); size > 0 {
		n = len(c.Data) / size
	}
	to := mem.Alloc(n * t.to.Size())
	var sum lost
	one := func(lo, hi int) error {
		l := convertValues(to[lo*t.to.Size():hi*t.to.Size()], t, c.Data[lo*from.Size():hi*from.Size()], from)
		if l.bad >= 0 {
			return op.AtSample(misfit(c, lo+l.bad, t), b, op.SampleAt(c, b.Samples, lo+l.bad))
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
	sum.report(out, what)
	return err
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
	v := Text(c.DType, c.Data, i)
	hint := fmt.Sprintf("%s=%s:clip takes the nearest", c.Name, t.to)
	if v == "NaN" || t.to == shardify.Bool {
		hint = "--nan decides about NaN"
	}
	return shardify.Mismatch("field %s is %s, which %s does not hold; %s", c.Name, v, t.to, hint)
}

// Text writes value i.
func Text(d shardify.DType, data []byte, i int) string {
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
