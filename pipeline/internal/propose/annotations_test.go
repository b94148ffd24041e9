package propose

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func scan(x ...float32) string {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return string(b)
}

func riff(channels, bits byte) string {
	return "RIFF....WAVEfmt \x10\x00\x00\x00\x01\x00" + string([]byte{channels, 0}) + "\x40\x1f\x00\x00\x00\x00\x00\x00\x00\x00" + string([]byte{bits, 0}) + "data"
}

func flac(channels byte) string {
	return "fLaC" + strings.Repeat("\x00", 16) + string([]byte{0xf0 | (channels-1)<<1, 0xf0}) + strings.Repeat("\x00", 24)
}

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
		{"f32x4", []string{scan(1, 0.5, -80, 0.99), "", scan(0, 0, 0, 1)}, "f32x4", 2},
		{"f32x4", []string{scan(1, 2, 3, 255)}, "", 0},
		{"f32x4", []string{scan(1, 2, 3, 0.5, 4)}, "", 0},
		{"f32x4", []string{scan(1, 2e6, 3, 0.5)}, "", 0},
		{"f32x4", []string{scan(1, 2, float32(math.NaN()), 0.5)}, "", 0},
		{"wav", []string{riff(1, 16), riff(1, 16)}, "wav", 2},
		{"wav", []string{riff(1, 16), riff(2, 16)}, "", 1},
		{"wav", []string{riff(1, 16), riff(1, 24)}, "", 1},
		{"wav", []string{"RIFF....AVI "}, "", 0},
		{"flac", []string{flac(1), flac(1)}, "flac", 2},
		{"flac", []string{flac(1), flac(2)}, "", 1},
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
