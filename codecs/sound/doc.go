// Package sound decodes recordings: WAV (RIFF, RIFX, RF64) of whole numbers and floats, and FLAC.
//
// Map of the files:
//
//	sound.go   what a recording is, and its values in a type
//	wav.go     the chunks of WAV
//	flac.go    the header and the frames of FLAC
//	bits.go    bits of FLAC, and its checksums
package sound
