package trainer

import (
	"fmt"
	"io"
	"time"

	"github.com/shardify/shardify/gpuload"
)

// Options say what is loaded, and what the trainer does with it.
type Options struct {
	// Load is the loader. Rank, World, LocalRanks and Trace are set here; Workers, if 0,
	// are shared by the ranks.
	Load gpuload.Config
	// Step is the time that an accelerator would take for a batch.
	Step time.Duration
	// The run ends with whatever comes first; 0 means no limit. Without any it is
	// defaultTime. Time counts from the first batch.
	Epochs int
	Steps  int64
	Time   time.Duration
	// Ranks train side by side in this process (default 1), each with a loader of its
	// own, as the processes of one node would.
	Ranks int
	// Bound measures the same trainer on a synthetic loader for up to this long.
	Bound time.Duration
	// Trace receives all ranks' timelines as one list of Chrome trace events.
	Trace io.Writer
	// Detail keeps what the page shows: the timeline around some steps.
	Detail bool
	// Progress, if set, may be read while Run works.
	Progress *Progress
}

// defaultTime is how long a run takes that nothing limits.
const defaultTime = 10 * time.Second

// BoundTime is how long the synthetic run takes at most by default.
const BoundTime = 2 * time.Second

const maxRanks = 1024

func (o *Options) check() error {
	if o.Ranks == 0 {
		o.Ranks = 1
	}
	if o.Epochs == 0 && o.Steps == 0 && o.Time == 0 {
		o.Time = defaultTime
	}
	switch {
	case o.Ranks < 0 || o.Ranks > maxRanks:
		return fmt.Errorf("%d ranks: want 1 to %d", o.Ranks, maxRanks)
	case o.Step < 0 || o.Epochs < 0 || o.Steps < 0 || o.Time < 0:
		return fmt.Errorf("step %v, %d epochs, %d steps, time %v: none may be negative", o.Step, o.Epochs, o.Steps, o.Time)
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	return nil
}
