package annotations

import (
	"strconv"

	"github.com/shardify/shardify"
)

// kittiFields are those of a line of label_2, in the order of the file; boxes are in pixels from 0. Lines of results have a
// score, too.
var kittiFields = []made{
	{name: "class", text: true},
	{name: "truncated", dtype: shardify.F32},
	{name: "occluded", dtype: shardify.I32},
	{name: "alpha", dtype: shardify.F32},
	{name: "boxes", dtype: shardify.F32, shape: []int{4}, attr: "boxes", value: "xyxy"},
	{name: "dimensions", dtype: shardify.F32, shape: []int{3}},
	{name: "location", dtype: shardify.F32, shape: []int{3}},
	{name: "rotation_y", dtype: shardify.F32},
	{name: "score", dtype: shardify.F32},
}

var kittiNames = []string{"type", "truncated", "occluded", "alpha", "left", "top", "right", "bottom", "height", "width", "length", "x", "y", "z", "rotation_y", "score"}

// kitti reads lines of type truncated occluded alpha bbox dimensions location rotation_y.
func kitti(s *Spec, file []byte, r *rows) error {
	names := kittiNames
	if !s.score {
		names = names[:len(names)-1]
	}
	var x [16]float64
	return r.lines(file, func(words [][]byte) error {
		switch n := len(words); {
		case n == len(names):
		case n == len(kittiNames):
			return shardify.Corrupt(-1, "16 columns, as results with a score have; --parse '%s=kitti score=read' reads them", s.Field)
		default:
			return shardify.Corrupt(-1, "%d columns; want %d: type truncated occluded alpha, 4 of the box, 3 dimensions, 3 of the location, rotation_y", n, len(names))
		}
		if err := numbers(x[1:], names[1:], words[1:]); err != nil {
			return err
		}
		occluded, err := strconv.ParseInt(string(words[2]), 10, 32)
		if err != nil {
			return shardify.Corrupt(-1, "occluded is %.40q; want a whole number", words[2])
		}
		if err := ordered(names[4:], x[4:8]); err != nil {
			return err
		}
		if x[4] < 0 || x[5] < 0 {
			r.outside++
		}
		if err := r.class(0, s, words[0]); err != nil {
			return err
		}
		r.floats(1, x[1])
		r.i32(2, occluded)
		r.floats(3, x[3])
		r.floats(4, x[4:8]...)
		r.floats(5, x[8:11]...)
		r.floats(6, x[11:14]...)
		r.floats(7, x[14])
		if s.score {
			r.floats(8, x[15])
		}
		r.objects++
		return nil
	})
}
