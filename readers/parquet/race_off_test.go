//go:build !race

package parquet

const underRace = false
