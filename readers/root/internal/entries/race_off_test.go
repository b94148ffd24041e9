//go:build !race

package entries

const underRace = false
