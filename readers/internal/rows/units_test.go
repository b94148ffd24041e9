package rows

import "testing"

// A coordinate in one chunk does not make one span of all rows; chunks of what the rows consist
// of do.
func TestUnitsAreJoinedWhereThatSavesReading(t *testing.T) {
	const step = 260_640 // of one field
	for _, c := range []struct {
		name  string
		units []Unit
		want  Borders
	}{
		{"steps", []Unit{{step, 1}, {8, 1000}}, Borders{Every: 1}},
		{"eight steps", []Unit{{step, 8}, {step, 8}, {8, 1000}}, Borders{Every: 8}},
		{"a coordinate of two steps", []Unit{{step, 8}, {8, 2}}, Borders{Every: 8}},
		{"a coordinate larger than what is kept", []Unit{{step, 1}, {8, 1 << 21}}, Borders{Every: 1000}},
		{"few bytes", []Unit{{8, 1}, {8, 1000}}, Borders{Every: 1000}},
		{"half of the bytes", []Unit{{step, 1}, {step, 16}}, Borders{Every: 16}},
		{"more than most", []Unit{{8 * step, 4000}}, Borders{Every: 1000, Inside: (512 << 20) / (8 * step)}},
	} {
		if got := JoinUnits(c.units, 1000, 512<<20, 8<<20); got.Every != c.want.Every || got.Inside != c.want.Inside {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
