// Package dcm parses DICOM files (part 10 of the standard) and decodes their pixels. It knows nothing of samples.
//
//	input.go     bytes in order, of a file or of its deflated data set
//	parse.go     elements up to the pixels; those that are kept are few
//	tags.go      which tags are technical, and the names of others
//	image.go     what the elements say of the pixels
//	pixels.go    frames: places in the file, types, colours
//	rle.go       the code of RLE Lossless
//	lossless.go  lossless JPEG (ITU-T T.81, process 14)
package dcm
