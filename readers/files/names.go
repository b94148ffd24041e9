package files

import (
	"github.com/shardify/shardify/readers/internal/labels"
)

// names splits file names into parts.
type names = labels.Paths

// nameMax is more than any extension takes.
const nameMax = 256
