package root

import (
	"strings"

	"github.com/shardify/shardify/format"
)

// plainName makes a field's name of a branch's: without "[10]" at its end, and without
// what has a meaning in shards.
func plainName(dotted string) string {
	if i := strings.IndexByte(dotted, '['); i > 0 && strings.HasSuffix(dotted, "]") {
		dotted = dotted[:i]
	}
	return format.PlainName(strings.Trim(dotted, "."))
}
