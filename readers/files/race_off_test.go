//go:build !race

package files

const underRace = false
