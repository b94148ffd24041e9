package rows

import "github.com/shardify/shardify/internal/columns"

// Wanted is the choice of columns, as patterns. It may be used from several goroutines.
type Wanted = columns.Wanted

// NewWanted checks the patterns; none means that every field is wanted.
func NewWanted(patterns []string) (*Wanted, error) { return columns.New(patterns) }
