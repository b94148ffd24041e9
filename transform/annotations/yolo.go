package annotations

import (
	"math"

	"github.com/shardify/shardify"
)

// yoloFields are those of YOLO: boxes are centre and size, as shares of the width and the height of the image.
var yoloFields = []made{
	{name: "boxes", dtype: shardify.F32, shape: []int{4}, attr: "boxes", value: "cxcywhn"},
	{name: "class", dtype: shardify.I64},
}

var yoloBox = []string{"x", "y", "width", "height"}

// yolo reads lines of class x y width height.
func yolo(s *Spec, file []byte, r *rows) error {
	var box [4]float64
	return r.lines(file, func(words [][]byte) error {
		if n := len(words); n != 5 {
			switch {
			case n > 5 && n%2 == 1:
				return shardify.Corrupt(-1, "%d columns, as lines of polygons or of poses have; boxes have 5: class x y width height", n)
			default:
				return shardify.Corrupt(-1, "%d columns; want 5: class x y width height", n)
			}
		}
		class, err := number("the class", words[0])
		switch {
		case err != nil:
			return err
		case class < 0 || class != math.Trunc(class) || class > 1<<31:
			return shardify.Corrupt(-1, "the class is %.40q; want a whole number from 0", words[0])
		case s.Names != nil && class >= float64(len(s.Names)):
			return shardify.Corrupt(-1, "the class is %v; there are names for 0 to %d", class, len(s.Names)-1)
		}
		if err := numbers(box[:], yoloBox, words[1:]); err != nil {
			return err
		}
		outside := false
		for i, x := range box {
			// Programs write 1.0000001 for an object at the border.
			if x < -edge || x > 1+edge {
				return shardify.Corrupt(-1, "%s is %v; want shares of the width and the height of the image, from 0 to 1", yoloBox[i], x)
			}
			if i < 2 {
				half := float64(box[i+2] / 2)
				outside = outside || x-half < -edge || x+half > 1+edge
			} else if x < 0 {
				return shardify.Corrupt(-1, "%s is %v, less than 0", yoloBox[i], x)
			}
		}
		if outside {
			r.outside++
		}
		r.floats(0, box[:]...)
		r.i64(1, int64(class))
		r.objects++
		return nil
	})
}

// edge is what a share may be beyond 0 and 1, by rounding.
const edge = 1e-3
