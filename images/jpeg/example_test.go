package jpeg_test

import (
	"fmt"

	"github.com/shardify/shardify/images/jpeg"
)

func Example() {
	pix := make([]byte, 16*8*3)
	for i := range pix {
		pix[i] = []byte{200, 100, 50}[i%3]
	}
	var e jpeg.Encoder
	file, err := e.Encode(nil, pix, 16, 8, 3, jpeg.Encoding{Quality: 90})
	if err != nil {
		fmt.Println(err)
		return
	}
	var d jpeg.Decoder
	h, err := d.Open(file)
	if err == nil {
		err = d.Decode(pix, jpeg.Options{})
	}
	fmt.Println(h.W, h.H, h.Components, pix[:3], err)
	// Output:
	// 16 8 3 [200 100 50] <nil>
}
