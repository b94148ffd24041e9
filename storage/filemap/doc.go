// Package filemap reads files through memory mappings, where that is as safe as a call of read.
//
// A page of a mapping that cannot be read, since its file became shorter or its device fails, is a
// signal (SIGBUS). Guard turns it into an error. That needs the signal handler of Go's runtime,
// which another program may replace where Go is a library (Python's faulthandler, PyTorch's workers
// of a DataLoader): Safe is false then, and the caller reads with pread.
package filemap

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errFault is a page of a mapping that could not be read.
var errFault = errors.New("a page of a mapped file cannot be read")

// Guard calls f, which reads mappings. A fault in f on this goroutine is an error that wraps errFault;
// what f wrote is undefined then. f must not hold locks.
func Guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		if fault, ok := r.(interface{ Addr() uintptr }); ok {
			err = fmt.Errorf("%w: address %#x", errFault, fault.Addr())
			return
		}
		panic(r)
	}()
	return f()
}
