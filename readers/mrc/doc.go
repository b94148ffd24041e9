// Package mrc reads MRC2014 files of electron microscopy: volumes (.mrc, .map) and stacks of images (.mrcs),
// plain or packed by gzip. Package internal/header parses a header; package readers/internal/arrayfile does
// the rest.
package mrc
