// Package view makes windows of rows: it reads what users say of them, and finds the anchors by
// the values of a coordinate.
package view
