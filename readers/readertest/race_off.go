//go:build !race

package readertest

// Raced tells whether the program was built with -race.
const Raced = false
