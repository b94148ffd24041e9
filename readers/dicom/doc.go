// Package dicom reads DICOM files, of medical imaging: the pixels of a file are a sample, each of its frames is, or the files of a
// series are as a volume (series.go).
//
// Package internal/dcm parses a file and decodes its pixels. Of the elements of a file nothing is read but what says
// how the pixels are stored; a list of technical ones, and those that lead to a person, are fields only for those who
// name them (fields.go).
package dicom
