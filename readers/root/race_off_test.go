//go:build !race

package root

const underRace = false
