// Package images makes the pixels of a batch's images: JPEG and PNG files are decoded, cut,
// resized, mirrored, cast and laid out in the caller's memory. The pixels are those that
// Pillow gives, to the bit, with the same choices: which part of an image is shown depends on
// the seed, the epoch and the sample's number alone (python/shardify/geometry.py has the same
// arithmetic, and the tests of Python compare the two).
package images
