//go:build race

package entries

// underRace: everything takes ten times as long.
const underRace = true
