//go:build !linux

package cache

import "os"

// Without ranges there is a file for each byte at which one begins.
const ranges = false

func tryRange(f *os.File, _, _ int64) (own, taken bool) {
	own = tryLock(f)
	return own, !own
}

func freeRange(f *os.File, _, _ int64) { unlock(f) }
