package resize_test

import (
	"fmt"

	"github.com/shardify/shardify/images/resize"
)

func ExampleResizer_Resize() {
	src := resize.Pixels{Pix: []byte{10, 20, 30, 50}, W: 4, H: 1, Stride: 4, Channels: 1}
	dst := make([]byte, 2)
	var r resize.Resizer
	err := r.Resize(dst, src, resize.Size{W: 2, H: 1, Filter: resize.Box})
	fmt.Println(dst, err)
	// Output:
	// [15 40] <nil>
}
