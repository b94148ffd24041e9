package readers

import "github.com/shardify/shardify/readers/internal/grid"

// SelectionOf is the part of a value of --sel that concerns some dimensions, "" without one.
func SelectionOf(sel string, dims []string) (string, error) { return grid.Only(sel, dims) }
