//go:build race

package files

// underRace: memory and time are not what they are in use.
const underRace = true
