//go:build !race

package transformtest

const raced = false
