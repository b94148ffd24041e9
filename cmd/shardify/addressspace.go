package main

import (
	"fmt"
	"runtime/debug"

	"github.com/shardify/shardify"
)

// leastSpace is the address space that a small conversion takes beside what the runtime has
// reserved at start.
const leastSpace = 64 << 20

// addressSpace refuses to start in less address space than anything works in. Where it is
// limited, what the runtime says when it finds no more is two lines, without a list of
// goroutines.
func addressSpace(room int64, limited bool) error {
	if !limited {
		return nil
	}
	debug.SetTraceback("none")
	if room < leastSpace {
		return shardify.Hint(fmt.Errorf("the address space of this process is limited (ulimit -v), and %s are left of it: a small conversion takes %s",
			shardify.FormatSize(room), shardify.FormatSize(leastSpace)), "raise the limit: ulimit -v unlimited")
	}
	return nil
}
