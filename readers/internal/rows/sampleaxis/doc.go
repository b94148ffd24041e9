// Package sampleaxis finds what a sample is in files of arrays: a row along an axis, a chunk, or a
// whole file. It has the options that say it, and the ways that are offered where nothing says it: the arrays that
// have one length, the splits that names mean, rows or files.
package sampleaxis
