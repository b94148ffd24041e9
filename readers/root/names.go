package root

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// namer gives every column of a table a name of its own.
type namer struct{ taken map[string]bool }

// unique returns name, or name with a number behind it if it is taken: branches of
// one name in a tree are legal.
func (n *namer) unique(name string) string {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	own := name
	for i := 2; n.taken[own]; i++ {
		own = name + "_" + strconv.Itoa(i)
	}
	n.taken[own] = true
	return own
}

// note marks a name as taken.
func (n *namer) note(name string) {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	n.taken[name] = true
}

// plainName makes a field's name of a branch's: without "[10]" at its end, and without
// what has a meaning in shards.
func plainName(dotted string) string {
	if i := strings.IndexByte(dotted, '['); i > 0 && strings.HasSuffix(dotted, "]") {
		dotted = dotted[:i]
	}
	return shardify.PlainName(strings.Trim(dotted, "."))
}
