package set_test

import (
	"testing"

	"github.com/shardify/shardify/readers/internal/rows/set"
)

// A coordinate in one chunk does not make one span of all rows; chunks of what the rows consist
// of do.
func TestUnitsAreJoinedWhereThatSavesReading(t *testing.T) {
	const step = 260_640 // of one field
	for _, c := range []struct {
		name  string
		units []set.Unit
		want  set.Borders
	}{
		{"steps", []set.Unit{{step, 1}, {8, 1000}}, set.Borders{Every: 1}},
		{"eight steps", []set.Unit{{step, 8}, {step, 8}, {8, 1000}}, set.Borders{Every: 8}},
		{"a coordinate of two steps", []set.Unit{{step, 8}, {8, 2}}, set.Borders{Every: 8}},
		{"a coordinate larger than what is kept", []set.Unit{{step, 1}, {8, 1 << 21}}, set.Borders{Every: 1000}},
		{"few bytes", []set.Unit{{8, 1}, {8, 1000}}, set.Borders{Every: 1000}},
		{"half of the bytes", []set.Unit{{step, 1}, {step, 16}}, set.Borders{Every: 16}},
		{"more than most", []set.Unit{{8 * step, 4000}}, set.Borders{Every: 1000, Inside: (512 << 20) / (8 * step)}},
	} {
		if got := set.JoinUnits(c.units, 1000, 512<<20, 8<<20); got.Every != c.want.Every || got.Inside != c.want.Inside {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
