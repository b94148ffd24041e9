// Package exif finds how an encoded image is to be turned before it is shown: the tag
// Orientation of EXIF data, where JPEG, PNG, WebP and TIFF keep it. It reads no other tag and turns nothing.
//
//	o := exif.Orientation(file) // 1 to 8
//
// Nothing is allocated, and damage is never an error: an image without a readable tag is upright.
// The standard library has nothing of the kind.
package exif
