package set

import (
	"context"
	"fmt"
	"iter"

	"github.com/shardify/shardify"
)

// Runs is a Set some inputs of which are read in order alone: such an input is a run.
type Runs struct {
	*Set
	serial map[uint32]bool // by input
}

// NewRuns asks of each input whether it is a run.
func NewRuns(s *Set, serial func(in *Input) (bool, error)) (*Runs, error) {
	r := &Runs{s, map[uint32]bool{}}
	for in := range s.Inputs() {
		yes, err := serial(&in)
		if err != nil {
			return nil, err
		}
		if yes {
			r.serial[in.Index] = true
		}
	}
	return r, nil
}

func (r *Runs) run(input uint32) uint32 {
	if r.serial[input] {
		return input + 1
	}
	return 0
}

// Spans implements shardify.Source.
func (r *Runs) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for sp, err := range r.Set.Spans(ctx, target) {
			sp.Run = r.run(sp.Input)
			if !yield(sp, err) {
				return
			}
		}
	}
}

// CheckRun refuses a run that does not exist; 0 is all inputs that are not runs.
func (r *Runs) CheckRun(run uint32) error {
	if run != 0 && !r.serial[run-1] {
		return fmt.Errorf("%s: there is no run %d", r.of.Format, run)
	}
	return nil
}

// BeginRun is Begin for the reader of a run.
func (r *Runs) BeginRun(ctx context.Context, sp shardify.Span, run uint32, mem *shardify.Arena) (Input, *shardify.Batch, error) {
	if sp.Run == run && r.run(sp.Input) == run {
		sp.Run = 0
	} else if sp.Run == 0 {
		sp.Run = run + 1 // Begin refuses it
	}
	return r.Begin(ctx, sp, mem)
}
