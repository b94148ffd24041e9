//go:build race

package parttest

const underRace = true
