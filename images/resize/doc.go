// Package resize scales pictures of RGB bytes to the bytes of Pillow's Image.resize: two
// passes, along rows and then along columns, with weights of 22 bits behind the point and
// bytes in between. Shrinking is antialiased.
//
// Rows come first, as in Pillow up to version 12; Pillow 13 begins with the columns for some
// sizes.
//
// [Resizer.Resize] takes pixels. [Resizer.Open] and [Resizer.Decode] take a JPEG file to
// a buffer of the caller: decode, cut and resize in one call, without allocation once the
// memory of the Resizer has grown. Only what the result depends on is decoded:
//
//	var r resize.Resizer // of one goroutine
//	h, err := r.Open(file)
//	err = r.Decode(dst, resize.Cut{X0: 10, Y0: 20, X1: 110, Y1: 90, Size: resize.Size{W: 224, H: 224}})
//
// The pixels are those of decoding all, Image.crop and Image.resize. [Resizer.Start] and
// [Resizer.StartJPEG] with [Resizer.Row] give the result row by row, for callers that
// flip, cast or lay it out on the way.
//
// It does not enlarge the depth of channels, rotate or blur. On one core, a picture of 500 x 375 becomes one of
// 224 x 224 25 to 31 times as fast as by golang.org/x/image/draw (make bench-libraries), and 8 times as fast as by
// Pillow (make bench-augment).
package resize
