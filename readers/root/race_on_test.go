//go:build race

package root

// underRace: everything takes ten times as long.
const underRace = true
