package annotations

import (
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// yoloFields are those of YOLO: boxes are centre and size, as shares of the width and the height of the image.
var yoloFields = []made{
	{name: "boxes", dtype: shardify.F32, shape: []int{4}, attr: "boxes", value: "cxcywhn"},
	{name: "class", dtype: shardify.I64},
}

// segFields are those of polygons: a list of points for each object.
var segFields = []made{
	{name: "polygons", dtype: shardify.F32, shape: []int{2}, list: true},
	{name: "class", dtype: shardify.I64},
}

// poseFields are those of boxes with so many key points each: x, y and, if there are three, visibility.
func poseFields(shape []int) []made {
	return append(slices.Clone(yoloFields), made{name: "keypoints", dtype: shardify.F32, shape: shape})
}

var yoloBox = []string{"x", "y", "width", "height"}

// yolo reads lines of class x y width height.
func yolo(s *Spec, file []byte, r *rows) error {
	return r.lines(file, func(words [][]byte) error {
		if n := len(words); n != 5 {
			switch {
			case n > 5 && n%2 == 1:
				return shardify.Corrupt(-1, "%d columns, as lines of polygons or of poses have (--parse %s=yolo-seg or yolo-pose); boxes have 5: class x y width height", n, s.Field)
			case n > 5:
				return shardify.Corrupt(-1, "%d columns, as lines of poses have (--parse %s=yolo-pose); boxes have 5: class x y width height", n, s.Field)
			default:
				return shardify.Corrupt(-1, "%d columns; want 5: class x y width height", n)
			}
		}
		return s.yoloBox(words, r)
	})
}

// yoloSeg reads lines of class x1 y1 x2 y2 x3 y3 ...
func yoloSeg(s *Spec, file []byte, r *rows) error {
	return r.lines(file, func(words [][]byte) error {
		switch n := len(words); {
		case n == 5:
			return shardify.Corrupt(-1, "5 columns, as lines of boxes have; polygons have a class and 3 points or more")
		case n%2 == 0:
			return shardify.Corrupt(-1, "an odd number of coordinates, %d; polygons are class x1 y1 x2 y2 ...", n-1)
		case n < 7:
			return shardify.Corrupt(-1, "%d columns; polygons have a class and 3 points or more", n)
		}
		class, err := s.yoloClass(words[0])
		if err != nil {
			return err
		}
		for i := 1; i < len(words); i++ {
			x, err := share(yoloBox[(i-1)%2], words[i])
			if err != nil {
				return err
			}
			r.floats(0, x)
		}
		r.end(0, int64(len(words)/2))
		r.i64(1, class)
		r.objects++
		return nil
	})
}

// yoloPose reads lines of class x y width height, and the key points.
func yoloPose(s *Spec, file []byte, r *rows) error {
	points, each := s.shape[0], s.shape[1]
	return r.lines(file, func(words [][]byte) error {
		if n, want := len(words), 5+points*each; n != want {
			return shardify.Corrupt(-1, "%d columns; want %d: class x y width height, and %d key points of %d numbers", n, want, points, each)
		}
		for i, word := range words[5:] {
			name := []string{"x of a key point", "y of a key point", "visibility"}[i%each]
			x, err := number(name, word)
			switch {
			case err != nil:
				return err
			case i%each == 2 && (x < 0 || x > 2):
				return shardify.Corrupt(-1, "%s is %v; want 0 to 2", name, x)
			case i%each < 2 && outOfImage(x):
				return notShare(name, x)
			}
			r.floats(2, x)
		}
		return s.yoloBox(words[:5], r)
	})
}

// yoloClass reads the number of a class.
func (s *Spec) yoloClass(word []byte) (int64, error) {
	class, err := number("the class", word)
	switch {
	case err != nil:
		return 0, err
	case class < 0 || class != math.Trunc(class) || class > 1<<31:
		return 0, shardify.Corrupt(-1, "the class is %.40q; want a whole number from 0", word)
	case s.Names != nil && class >= float64(len(s.Names)):
		return 0, shardify.Corrupt(-1, "the class is %v; there are names for 0 to %d", class, len(s.Names)-1)
	}
	return int64(class), nil
}

// yoloBox reads class x y width height.
func (s *Spec) yoloBox(words [][]byte, r *rows) error {
	var box [4]float64
	class, err := s.yoloClass(words[0])
	if err != nil {
		return err
	}
	if err := numbers(box[:], yoloBox, words[1:]); err != nil {
		return err
	}
	outside := false
	for i, x := range box {
		if outOfImage(x) {
			return notShare(yoloBox[i], x)
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
	r.i64(1, class)
	r.objects++
	return nil
}

// edge is what a share may be beyond 0 and 1, by rounding: programs write 1.0000001 for an object at the border.
const edge = 1e-3

func outOfImage(x float64) bool { return x < -edge || x > 1+edge }

func notShare(name string, x float64) error {
	return shardify.Corrupt(-1, "%s is %v; want shares of the width and the height of the image, from 0 to 1", name, x)
}

// share reads a coordinate.
func share(name string, word []byte) (float64, error) {
	x, err := number(name, word)
	if err == nil && outOfImage(x) {
		err = notShare(name, x)
	}
	return x, err
}
