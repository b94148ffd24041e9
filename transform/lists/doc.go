// Package lists has the operations on the elements of lists: --sort, --pick and --pad.
package lists
