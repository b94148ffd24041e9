// Package annotations has the operation that reads the annotation file of an image: --parse converts files of Pascal VOC, YOLO
// and KITTI to boxes, polygons, key points and classes, and files of plain numbers, recordings and volumes to arrays.
//
// Map of the files:
//
//	spec.go   what a value of --parse says
//	parse.go  the operation
//	codes.go  one table of classes, where the file has their names
//	rows.go   the values of the objects that were read; lines of words
//	voc.go    XML of Pascal VOC
//	yolo.go   lines of YOLO: boxes, polygons, poses
//	kitti.go  lines of KITTI
//	raw.go    plain numbers
//	texts.go  numbers in texts
//	sound.go  values of recordings; volumes.go of volumes
//	names.go  files with the names of classes
package annotations
