// Package race says what make test runs with the race detector: the packages whose tests import it.
// A test that takes long and computes one thing after the other calls [Sequential].
//
// A package that starts goroutines, and has no such test, imports it for the declaration alone:
//
//	import _ "github.com/shardify/shardify/tests/race"
package race

import "testing"

// Sequential skips a test with -race -short: one thing is computed after the other, which has no
// races, and takes ten times as long. The test runs without -race in make test, and with -race in
// make test-long.
func Sequential(t testing.TB) {
	t.Helper()
	if Short() {
		t.Skip("sequential: skipped with -race -short")
	}
}

// Short reports whether a test runs with -race -short: cases that have the same goroutines as
// others, and other values, can be left to the run without -race, and to make test-long.
func Short() bool { return On && testing.Short() }
