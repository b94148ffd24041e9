package set

import (
	"cmp"
	"math"
	"slices"

	"github.com/shardify/shardify/readers/internal/rows"
)

// Unit is how many rows of an array are decoded together, and what one takes.
type Unit struct{ RowBytes, Rows int64 }

// PerRow is the bytes of a row of all of them, at least 1.
func PerRow(units []Unit) int64 {
	n := int64(0)
	for _, u := range units {
		n = rows.SatAdd(n, u.RowBytes)
	}
	return max(n, 1)
}

// smallUnit is how many bytes units are joined to in any case.
const smallUnit = 4 << 20

// JoinUnits finds where spans may be cut so that nothing is decoded twice: at common multiples
// of the units, those of most bytes first. What a reader keeps from span to span (keep bytes)
// need not be joined: the coordinate of the samples, say, which is often one chunk, would make
// one span of all rows. A unit of more than most bytes may be cut inside.
func JoinUnits(units []Unit, samples, most, keep int64) Borders {
	perRow := PerRow(units)
	order := slices.Clone(units)
	slices.SortStableFunc(order, func(a, b Unit) int {
		return cmp.Compare(rows.SatMul(b.RowBytes, b.Rows), rows.SatMul(a.RowBytes, a.Rows))
	})
	unit := int64(1)
	for _, u := range order {
		if u.Rows <= 1 {
			continue
		}
		joined := lcm(unit, u.Rows)
		switch {
		case joined <= smallUnit/perRow, unit == 1 && !u.light(perRow, keep):
			unit = joined
		case rows.SatMul(u.RowBytes, u.Rows) > keep && joined <= most/perRow:
			unit = joined
		}
	}
	b := Borders{Every: min(unit, max(samples, 1))}
	if n := most / perRow; b.Every > n {
		b.Inside = max(n, 1)
	}
	return b
}

// light: a reader keeps a unit, and it is next to nothing of the rows that it has.
func (u Unit) light(perRow, keep int64) bool {
	return rows.SatMul(u.RowBytes, u.Rows) <= keep && u.RowBytes <= perRow/64
}

// lcm is the least common multiple, or a large number.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if a/x > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a / x * b
}
