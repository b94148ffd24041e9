package root

import (
	"errors"

	"github.com/shardify/shardify"
)

// isKind reports whether an error is about the data and not about getting them.
func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}
