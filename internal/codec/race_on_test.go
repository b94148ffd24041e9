//go:build race

package codec

const raceEnabled = true // under -race a sync.Pool drops what it holds at random
