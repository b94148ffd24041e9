// Package members finds the arrays of one .npy or .npz file: where their bytes are, their
// shapes and their types. It reads headers, and no elements.
//
//	survey.go     the arrays of a file: Survey returns a Listing
//	storage/zips  has the central directory of an archive, and a file in the survey
//	stream.go     a compressed member, decoded once in order
//	codecs/npy    has the header of an array, and NumPy's types
package members
