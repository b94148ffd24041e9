package convert

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// doing is what a goroutine of a job is doing, as far as it may have to wait there for storage or
// other goroutines.
type doing uint8

const (
	atIdle doing = iota
	atReading
	atWriting
	atPublishing
	atGathering
	atGranting
	atChecking
	atMerging
)

// activity records what one goroutine is doing. A step is a whole span, so that the cost is too
// small to measure.
type activity struct {
	mu    sync.Mutex
	what  doing
	span  shardify.Span
	shard int
	moves int64

	seen, ticks int64 // of the watch
}

func (p *activity) set(what doing, shard int, s shardify.Span) {
	if p == nil { // of a survey, which is not watched
		return
	}
	p.mu.Lock()
	p.what, p.shard, p.span = what, shard, s
	p.moves++
	p.mu.Unlock()
}

// leave says that nothing is waited for.
func (p *activity) leave() { p.at(atIdle, 0) }

func (p *activity) at(what doing, shard int) { p.set(what, shard, shardify.Span{}) }

// activities are those of all goroutines of a job.
type activities struct {
	mu   sync.Mutex
	list map[*activity]bool
	past int64 // moves of those that have ended
}

func (s *activities) open() *activity {
	p := new(activity)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[*activity]bool{}
	}
	s.list[p] = true
	return p
}

func (s *activities) close(p *activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[p] {
		s.past += p.moves + 1
		delete(s.list, p)
	}
}

// tick counts the steps of all, and for how many ticks each has made none.
func (s *activities) tick() (moves int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	moves = s.past
	for p := range s.list {
		p.mu.Lock()
		if moves += p.moves; p.moves != p.seen {
			p.seen, p.ticks = p.moves, 0
		} else {
			p.ticks++
		}
		p.mu.Unlock()
	}
	return moves
}

// Stalled is the error of a job that does not move.
type Stalled = stall.Stalled

// WatchStall calls stalled, once, when the job has not moved for so long; see
// stall.Watch.
func (j *Job) WatchStall(after time.Duration, moved func() bool, stalled func(*Stalled)) (stop func()) {
	waiting := func(tick time.Duration) []string {
		return j.activities.waiting(tick, func(p *activity) string { return p.describe(j.Plan, j.Source) })
	}
	return stall.Watch(after, j.moves, moved, waiting, stalled)
}

// moves is a number that changes while the job moves.
func (j *Job) moves() int64 {
	n := j.activities.tick() + j.Progress.Samples.Load() + j.Progress.Shards.Load() + j.Progress.Gathers.Load() + j.Progress.Gathered.Load()
	for _, s := range []storage.Store{j.Store, j.scratch()} {
		n += storage.Moves(s)
	}
	return n
}

// waiting describes what the goroutines that have not moved are doing.
func (s *activities) waiting(tick time.Duration, describe func(*activity) string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var more int
	for p := range s.list {
		p.mu.Lock()
		if what := describe(p); what != "" {
			if len(out) < stall.Most {
				out = append(out, fmt.Sprintf("%s, for %v", what, time.Duration(p.ticks)*tick))
			} else {
				more++
			}
		}
		p.mu.Unlock()
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

func (p *activity) describe(of *plan.Plan, src shardify.Source) string {
	shard := func() string { // in every split
		var names []string
		for k := range max(len(of.Splits.Names()), 1) {
			names = append(names, of.Names().InSplit(k, p.shard))
		}
		return strings.Join(names, ", ")
	}
	switch p.what {
	case atReading:
		return fmt.Sprintf("reading %s, samples [%d, %d)", inputsOf(of, src, p.span), p.span.Lo, p.span.Hi)
	case atWriting:
		return "writing " + shard()
	case atPublishing:
		return "publishing " + shard() + " (fsync)"
	case atGathering:
		return "reading the fragments of the shuffle for " + shard()
	case atGranting:
		return fmt.Sprintf("waiting for memory to read %s", inputsOf(of, src, p.span))
	case atChecking:
		return "reading the receipt of " + shard()
	case atMerging:
		return "reading receipts, writing the manifest"
	}
	return ""
}

// inputsOf is where the samples of a span are.
func inputsOf(p *plan.Plan, src shardify.Source, s shardify.Span) string {
	o, ok := src.(format.Owner)
	if roots := p.In.Table.Roots; ok && len(roots) == 1 && roots[0] != "" { // a span has samples of many
		if !p.Pack.InParts() {
			return fmt.Sprintf("files of %s from %s on", roots[0], p.In.Table.Name(int(o.Owner(s.Input, s.Lo))))
		}
		return "files of " + roots[0]
	}
	if int(s.Input) < p.In.Table.Len() {
		return p.In.Table.Path(int(s.Input))
	}
	return p.In.Name(s.Input)
}
