//go:build race

package filter

const raceEnabled = true // under -race a sync.Pool drops what it holds at random
