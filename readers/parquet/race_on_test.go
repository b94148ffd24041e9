//go:build race

package parquet

// underRace: everything takes ten times as long.
const underRace = true
