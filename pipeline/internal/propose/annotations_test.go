package propose

import "testing"

// TestFormsOfAnnotations: all lines of all files must be of a form.
func TestFormsOfAnnotations(t *testing.T) {
	const voc, yolo, kitti = "<annotation><object/></annotation>", "0 0.5 0.5 0.25 0.1\n12 1 0 0.5 1\n", "Car 0.00 0 -1.57 1 2 3 4 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59\n"
	const seg, pose = "0 0 0 1 0 1 1\n", "0 0.5 0.5 0.25 0.1 0.5 0.5 2\n"
	for _, c := range []struct {
		begin string
		files []string
		want  string
		seen  int
	}{
		{"voc", []string{voc, "", voc}, "voc", 2},
		{"voc", []string{voc, "<svg/>"}, "", 1},
		{"lines", []string{yolo, "", " \n", yolo}, "yolo", 2},
		{"lines", []string{kitti, kitti + kitti}, "kitti", 2},
		{"lines", []string{yolo, kitti}, "", 1},
		{"lines", []string{"[1, 2.5,3 ,4]", "", "[0 0 0 0]"}, "f32x4 text=yes", 2},
		{"lines", []string{"[1, 2]", "[1]", "[]", "[1, 2]"}, "f32 text=yes", 4},
		{"lines", []string{"[1, 2]", "a"}, "", 1},
		{"lines", []string{"[1, b]"}, "", 1},
		{"lines", []string{"[[1, 2]]"}, "", 1},
		{"lines", []string{seg, seg + seg}, "yolo-seg", 2},
		{"lines", []string{seg, yolo}, "", 1},
		{"lines", []string{pose, seg, pose}, "yolo-pose", 3},
		{"lines", []string{"0 0 0 1 0 1 1 0.5\n" + seg}, "yolo-pose", 1}, // an even number of columns
		{"lines", []string{"0 0.5 0.5 0.25 0.1 0.5 3 2\n"}, "", 1},
		{"lines", []string{"a cat on a mat\n"}, "", 1},
		{"lines", []string{"0 0.5 0.5 0.25 1.5\n"}, "", 1}, // no share
		{"lines", []string{"0 0.5 0.5 0.25 NaN\n"}, "", 1},
		{"lines", []string{"-1 0.5 0.5 0.25 0.5\n"}, "", 1},  // no class
		{"lines", []string{"1.0 0.5 0.5 0.25 0.5\n"}, "", 1}, // no class
		{"lines", []string{yolo + "0 0.5 0.5\n"}, "", 1},
		{"lines", []string{"1 0.00 0 -1.57 1 2 3 4 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59\n"}, "", 1},
		{"lines", []string{"", ""}, "lines", 0},
	} {
		g := guess{form: c.begin}
		for _, f := range c.files {
			if g.form != "" {
				g.look([]byte(f))
			}
		}
		if g.form != c.want || g.seen != c.seen {
			t.Errorf("%q: %+v, want %s", c.files, g, c.want)
		}
	}
}
