//go:build race

package readertest

// Raced reports whether the program was built with -race.
const Raced = true
