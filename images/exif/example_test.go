package exif_test

import (
	"fmt"

	"github.com/shardify/shardify/images/exif"
)

func ExampleOrientation() {
	// The header of a TIFF file, and a directory of one tag: Orientation, one short, 6.
	file := []byte("II*\x00\x08\x00\x00\x00" + "\x01\x00" + "\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00" + "\x00\x00\x00\x00")
	fmt.Println(exif.Orientation(file), exif.Orientation(nil))
	// Output:
	// 6 1
}
