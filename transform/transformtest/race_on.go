//go:build race

package transformtest

const raced = true
