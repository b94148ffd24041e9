package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

const (
	// firstHeap is the size at which the heap is collected for the first time. From the
	// runtime's own 4 MiB on, a conversion of a quarter of a second would be collected
	// five times, for a fortieth of its time.
	firstHeap = 32 << 20
	// runtimeHeap is that size at 100 percent.
	runtimeHeap = 4 << 20
)

// gc is how much the heap grows between collections, after the first.
var gc struct {
	sync.Mutex
	percent int
}

// collectLate puts off the first collection, unless the user has said how to collect.
func collectLate() {
	gc.percent = 100
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * firstHeap / runtimeHeap)
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		gc.Lock()
		defer gc.Unlock()
		debug.SetGCPercent(gc.percent)
	}, struct{}{})
}

// collectSooner lets the heap grow by no more than this percentage.
func collectSooner(percent int) {
	gc.Lock()
	defer gc.Unlock()
	gc.percent = percent
	debug.SetGCPercent(percent)
}
