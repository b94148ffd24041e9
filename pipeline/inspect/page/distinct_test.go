package page

import (
	"slices"
	"testing"
)

// TestNeighbouringBordersAreToldApart: a histogram far from zero has more digits.
func TestNeighbouringBordersAreToldApart(t *testing.T) {
	for _, c := range []struct{ values, want any }{
		{[]float64{0, 1, 2}, []string{"0", "1", "2"}},
		{[]float64{36928, 36938.5, 36949}, []string{"36,928", "36,939", "36,949"}},
		{[]float64{1600000000, 1600000100}, []string{"1,600,000,000", "1,600,000,100"}},
		{[]float64{5, 5}, nil},
	} {
		got := distinct(c.values.([]float64), Plain)
		if want, ok := c.want.([]string); ok && !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", c.values, got, want)
		}
	}
}
