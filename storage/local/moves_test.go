package local

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
)

// TestAFlushMovesWhileTheDiskWrites: what the system puts on disks counts while a store
// waits for it, and at no other time.
func TestAFlushMovesWhileTheDiskWrites(t *testing.T) {
	var disk atomic.Int64
	oldSync, oldBack := syncAll, writtenBack
	defer func() { syncAll, writtenBack = oldSync, oldBack }()
	writtenBack = disk.Load
	entered, leave := make(chan struct{}), make(chan struct{})
	syncAll = func(*os.File) error { close(entered); <-leave; return nil }

	d := NewDir(t.TempDir(), SyncEnd)
	moved := func() bool {
		before := d.Moves()
		disk.Add(flushStep)
		return d.Moves() != before
	}
	if moved() {
		t.Error("others write, and the store moves")
	}
	done := make(chan error)
	go func() { done <- d.Flush(context.Background()) }()
	<-entered
	if !moved() {
		t.Error("the disk writes, and Flush does not move")
	}
	before := d.Moves()
	disk.Add(flushStep / 100)
	if d.Moves() != before {
		t.Error("a log moves Flush")
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if moved() {
		t.Error("the store moves after Flush")
	}
}
