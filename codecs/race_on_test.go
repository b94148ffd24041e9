//go:build race

package codecs

const raceEnabled = true // under -race a sync.Pool drops what it holds at random
