package cdf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// place finds the sizes of variables, and the records, and checks them by what the header says
// twice and by the size of the file. What concerns one variable is its Err.
func (f *File) place(size int64) error {
	var records []*Variable
	for i := range f.Variables {
		v := &f.Variables[i]
		inner := v.Shape
		if v.Record {
			inner = v.Shape[1:]
			records = append(records, v)
		}
		v.Size = v.Type.Size
		for _, n := range inner {
			v.Size = satMul(v.Size, n)
		}
	}
	slack := int64(3) // a record of several variables is padded to 4 bytes
	if len(records) == 1 {
		slack = 0
	}
	for _, v := range records {
		f.RecordSize = satAdd(f.RecordSize, padded(v.Size, slack))
	}
	if f.streaming {
		f.count(records, size)
	}
	for i := range f.Variables {
		v := &f.Variables[i]
		if v.Record {
			v.Shape[0] = f.Records
		}
		v.Err = cmp.Or(v.Err, f.check(v, size))
	}
	return f.overlaps(size)
}

// count finds how many records there are by the size of the file.
func (f *File) count(records []*Variable, size int64) {
	f.Records = 0
	for i, v := range records {
		n := int64(0)
		if end := satAdd(v.Begin, v.Size); end <= size {
			n = (size-end)/f.RecordSize + 1
		}
		if i == 0 || n < f.Records {
			f.Records = n
		}
	}
	if len(records) == 0 {
		return
	}
	note := fmt.Sprintf("the header does not say how many records there are, as in a file that is being written: its size makes %d", f.Records)
	first := slices.MinFunc(records, func(a, b *Variable) int { return cmp.Compare(a.Begin, b.Begin) })
	if rest := size - satAdd(first.Begin, satMul(f.Records, f.RecordSize)); rest > 0 {
		note += fmt.Sprintf("; %s behind them are not read", shardify.FormatSize(rest))
	}
	f.Notes = append(f.Notes, note)
}

// check compares a variable with what else is known.
func (f *File) check(v *Variable, size int64) error {
	if v.Begin < f.header && (!v.Record || f.Records > 0) {
		return shardify.Corrupt(v.Begin, "its values begin within the header, which has %d bytes", f.header)
	}
	if !v.Record {
		if end := satAdd(v.Begin, v.Size); end > size {
			return shardify.Corrupt(size, "its values end at byte %d, beyond the end of the file", end)
		}
	} else if f.Records > 0 {
		if end := satAdd(satAdd(v.Begin, satMul(f.Records-1, f.RecordSize)), v.Size); end > size {
			return shardify.Corrupt(size, "its %d records end at byte %d, beyond the end of the file", f.Records, end)
		}
	}
	whole := padded(v.Size, 3)
	switch { // vsize cannot say more than 32 bits before CDF-5; scipy writes 0 before the first record
	case v.claimed == v.Size, v.claimed == whole, f.Version < 5 && (v.claimed == math.MaxUint32 || whole > math.MaxInt32), v.Record && v.claimed == 0 && f.Records == 0:
	default:
		return shardify.Corrupt(-1, "its size is %d by the header and %d by its shape; if the values are sound, nccopy OLD.nc NEW.nc writes a correct file", v.claimed, v.Size)
	}
	return nil
}

// overlaps makes sure that no two variables have the same bytes, and notes records that are there and
// are not counted.
func (f *File) overlaps(size int64) error {
	type stretch struct {
		lo, hi int64
		name   string
	}
	var fixed []stretch
	overlap := func(list []stretch) error {
		slices.SortStableFunc(list, func(a, b stretch) int { return cmp.Compare(a.lo, b.lo) })
		for i := 1; i < len(list); i++ {
			if list[i].lo < list[i-1].hi {
				return shardify.Corrupt(list[i].lo, "the values of %s and of %s are in the same place", list[i-1].name, list[i].name)
			}
		}
		return nil
	}
	var one []stretch
	for i := range f.Variables {
		switch v := &f.Variables[i]; {
		case v.Err != nil:
		case v.Record:
			one = append(one, stretch{v.Begin, v.Begin + v.Size, v.Name})
		default:
			fixed = append(fixed, stretch{v.Begin, v.Begin + v.Size, v.Name})
		}
	}
	if len(one) > 0 && f.Records > 0 {
		if err := overlap(one); err != nil {
			return err
		}
		first, last := one[0], one[len(one)-1]
		if last.hi-first.lo > f.RecordSize {
			return shardify.Corrupt(last.lo, "the values of %s are in the second record", last.name)
		}
		fixed = append(fixed, stretch{first.lo, first.lo + (f.Records-1)*f.RecordSize + last.hi - first.lo, "the records"})
		if more := (size - first.lo - f.Records*f.RecordSize) / f.RecordSize; more > 0 && !f.streaming {
			f.Notes = append(f.Notes, fmt.Sprintf("the header says %d records, and behind them is room for %d more, which are not read", f.Records, more))
		}
	}
	return overlap(fixed)
}

func padded(n, slack int64) int64 { return satAdd(n, -n&slack) }

func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func satMul(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
