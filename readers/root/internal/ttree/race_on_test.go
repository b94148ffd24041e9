//go:build race

package ttree

// underRace: everything takes ten times as long.
const underRace = true
