// Package lmdb reads LMDB databases: an entry is a sample.
//
//	src, err := lmdb.Format.Open(ctx, format.OpenArgs{Table: table})
//
//	values                             fields
//	images, recordings, ...            jpg, png, ...: the files as they are
//	JSON, MessagePack, packed JSON     as JSON lines
//	JSON of ASE (aselmdb, fairchem)    as frames of extended XYZ
//	Datum of Caffe                     data and label
//	text; all else                     value: text; bytes; or numbers, by --value-type
//	keys image-1, label-1, ...         a field for each prefix
//
// The keys are the field key, but for whole numbers one after the other. No lock is taken, and no file is written: a
// database that a program writes to meanwhile is an error.
//
//	source.go  the format: what the values are, and which package reads them
//	read.go    values that are fields as they are
//	text.go    values that become text
package lmdb
