//go:build race

package readertest

const raced = true
