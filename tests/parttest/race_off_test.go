//go:build !race

package parttest

const underRace = false
