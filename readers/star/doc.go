// Package star reads STAR files, the tables of electron microscopy: a row of a loop is a sample. parse.go understands a file,
// and makes JSON lines of its rows; package readers/jsonl does the rest.
package star
