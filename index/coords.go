package index

import (
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// JoinedCoords finds the coordinates of a set that has the rows of others: those that all of them know.
type JoinedCoords struct {
	first map[string]format.Coord
	have  map[string]int // how many sets
	sets  int
}

// Add takes a further set. Other values for one name are an error: the rows are of other grids.
func (j *JoinedCoords) Add(m *Manifest) error {
	if j.sets++; j.first == nil {
		j.first, j.have = map[string]format.Coord{}, map[string]int{}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Coords)) {
		c := m.Coords[key]
		if first, ok := j.first[key]; !ok {
			j.first[key] = c
		} else if !first.Same(&c) && !j.weights(key, m) {
			return shardify.Mismatch("the coordinate %s has other values: %s here, %s there", key, CoordText(&c), CoordText(&first))
		}
		j.have[key]++
	}
	return nil
}

// weights reports whether a coordinate is the weights of latitudes that were found to be the
// same: if these differ by rounding, so do their weights.
func (j *JoinedCoords) weights(key string, m *Manifest) bool {
	of, ok := format.WeighedCoord(key)
	if ok {
		_, ok = j.first[of]
	}
	if ok {
		_, ok = m.Coords[of]
	}
	return ok
}

// Of all sets, nil if they share none; and the names of those that only some of them have.
func (j *JoinedCoords) Of() (all map[string]format.Coord, lost []string) {
	for _, key := range slices.Sorted(maps.Keys(j.first)) {
		if j.have[key] < j.sets {
			lost = append(lost, key)
			continue
		}
		if all == nil {
			all = map[string]format.Coord{}
		}
		all[key] = j.first[key]
	}
	return all, lost
}

// LostCoords are the leftovers for coordinates that only some sets have.
func LostCoords(lost []string) (out []format.Leftover) {
	for _, key := range lost {
		out = append(out, format.Leftover{Name: "coordinate " + key, Reason: "not all of the sets have it"})
	}
	return out
}

// CoordText describes a coordinate: how many values, and from where to where they go.
func CoordText(c *format.Coord) string {
	n := c.Len()
	s := c.Text(0)
	switch {
	case n > 1 && n <= 8 && c.DType == format.CoordText:
		for i := 1; i < n; i++ {
			s += ", " + c.Text(i)
		}
	case n > 1:
		s += " ... " + c.Text(n-1)
	}
	return s
}

// checkCoords: coordinates are values that a set may have.
func (m *Manifest) checkCoords() error {
	total := 0
	for _, key := range slices.Sorted(maps.Keys(m.Coords)) {
		c := m.Coords[key]
		if err := c.Check(); err != nil {
			return shardify.Annotate(err, "", "", "coordinate "+key)
		}
		if total += c.Len(); total > format.MaxCoordTotal {
			return shardify.Corrupt(-1, "coordinates of more than %d values", format.MaxCoordTotal)
		}
	}
	return nil
}
