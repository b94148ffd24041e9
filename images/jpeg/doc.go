// Package jpeg decodes and encodes JPEG images with the pixels and bytes of libjpeg-turbo's
// default settings: the exact integer transforms, triangle-filtered ("fancy") upsampling of
// chroma, and its fixed-point colour conversion. Pillow, torchvision and OpenCV give the
// same pixels; image/jpeg does not, because it replicates chroma.
//
//	var d jpeg.Decoder // keeps its memory from image to image
//	h, err := d.Open(file)
//	pix := make([]byte, 3*h.W*h.H)
//	err = d.Decode(pix, jpeg.Options{})
//
// It decodes baseline, extended and progressive Huffman files of 8 bits with one, three
// or four components and whole ratios of sampling, in any number of scans. Arithmetic
// coding, lossless and hierarchical files and other precisions are ErrUnsupported.
//
// # Strictness
//
// libjpeg goes on after damage, with pixels that it made up. This package refuses:
// entropy-coded data that ends early, unknown codes, runs beyond a block, restart markers
// out of order, scans of a progressive file that refine what was not sent. A file whose
// end-of-image marker alone is missing has all its pixels, and is decoded. What follows
// the end of the image is ignored. A progressive file that lacks low frequencies is
// ErrUnsupported: libjpeg would smooth it.
//
// Nothing is allocated for pixels that the file cannot hold: a block takes at least one
// bit. A file of many scans is refused after 128.
//
// # Encoding
//
// [Encoder] writes baseline files with the tables of the standard, byte for byte those of
// Pillow's Image.save(quality=Q, subsampling=S):
//
//	var e jpeg.Encoder
//	file, err := e.Encode(nil, pix, w, h, 3, jpeg.Encoding{Quality: 90})
//
// EXIF orientation is not applied; see package exif.
//
// # Speed
//
// On one core, decoding is 4.2 times as fast as image/jpeg, encoding 11 times (make bench-libraries);
// against libjpeg-turbo see bench/AUGMENT.md (make bench-augment).
package jpeg
