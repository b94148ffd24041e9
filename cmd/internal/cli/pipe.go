package cli

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// codePipe is the exit code when the reader of the output is gone (shardify ... | head): the one
// that a shell shows of a program that SIGPIPE has ended.
const codePipe = 141

// errPipe is the cause of a context that ends because no process reads the output.
var errPipe = errors.New("the reader of the output has closed it")

// pipe records whether a process still reads the output.
type pipe struct {
	once sync.Once
	gone chan struct{}
}

// newPipe makes writes to a stream without a reader fail: a process that SIGPIPE ends writes no
// record of its end.
func newPipe() *pipe {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &pipe{gone: make(chan struct{})}
}

// saw takes the error of a write to the output.
func (p *pipe) saw(err error) {
	if p != nil && errors.Is(err, syscall.EPIPE) {
		p.once.Do(func() { close(p.gone) })
	}
}
