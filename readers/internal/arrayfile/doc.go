// Package arrayfile reads files that are a header and arrays, such as NIfTI, MRC and WAV. A file is
// a sample, or its sections are. A format makes a Kind, whose Look says what the header of a file says;
// all else is here:
//
//	kind.go    what a format gives
//	file.go    an open file, which may be packed by gzip or have its values in another file
//	group.go   several files that are a sample, such as slices
//	labels.go  columns of tables that are joined to the samples
//	look.go    what a header says, as facts of a survey
//	source.go  the Source
//	read.go    reading samples: bytes that are swapped and converted on the way
//	turn.go    arrays whose first index is the fastest
package arrayfile
