package main

import (
	"os"
	"sync"
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
)

// program is what every command has.
type program struct {
	*cli.IO
	stdin   *os.File
	stall   time.Duration // of --stall
	anyTime bool          // of --ignore-times
	// ends are done before the process ends, by itself or because it takes too long to
	// stop.
	mu   sync.Mutex
	ends []func(code int)
}

// atEnd has something done before the process ends with a code.
func (p *program) atEnd(f func(code int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, f)
}

// end does what is to be done before the process ends, once, the latest first.
func (p *program) end(code int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i](code)
	}
	p.ends = nil
	return code
}
