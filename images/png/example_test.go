package png_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	std "image/png"

	"github.com/shardify/shardify/images/png"
)

func Example() {
	m := image.NewGray(image.Rect(0, 0, 3, 1))
	m.SetGray(1, 0, color.Gray{Y: 128})
	var file bytes.Buffer
	if err := std.Encode(&file, m); err != nil {
		fmt.Println(err)
		return
	}
	var d png.Decoder
	h, err := d.Open(file.Bytes())
	pix := make([]byte, h.W*h.H)
	if err == nil {
		err = d.Decode(pix, png.Options{Grey: h.Grey})
	}
	fmt.Println(h.W, h.H, pix, err)
	// Output:
	// 3 1 [0 128 0] <nil>
}
