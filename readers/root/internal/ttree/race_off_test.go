//go:build !race

package ttree

const underRace = false
