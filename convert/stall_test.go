package convert

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
)

// hanging is a store whose files hang when they are written to or published.
type hanging struct {
	storage.Store
	gate   <-chan struct{}
	commit bool
}

func (h hanging) Create(name string) (storage.Pending, error) {
	p, err := h.Store.Create(name)
	if !strings.HasPrefix(name, "shard-") {
		return p, err
	}
	return hangingFile{p, h}, err
}

type hangingFile struct {
	storage.Pending
	h hanging
}

func (f hangingFile) Write(b []byte) (int, error) {
	if !f.h.commit {
		<-f.h.gate
	}
	return f.Pending.Write(b)
}

func (f hangingFile) Commit(ctx context.Context) error {
	if f.h.commit {
		<-f.h.gate
	}
	return f.Pending.Commit(ctx)
}

// TestAStallTellsWhatIsWaitedFor: an input, a shard that is written, one that is
// published, memory.
func TestAStallTellsWhatIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(j *Job, f *fakeSource, gate chan struct{})
		want   string
	}{
		"read": {func(_ *Job, f *fakeSource, gate chan struct{}) {
			f.onRead = func(s shardify.Span) {
				if s.Input == 3 {
					<-gate
				}
			}
		}, "reading "},
		"write":   {func(j *Job, _ *fakeSource, gate chan struct{}) { j.Store = hanging{j.Store, gate, false} }, "writing shard-"},
		"publish": {func(j *Job, _ *fakeSource, gate chan struct{}) { j.Store = hanging{j.Store, gate, true} }, "publishing shard-"},
		"memory": {func(j *Job, _ *fakeSource, gate chan struct{}) {
			mem, err := j.Pool.Grant(bg, j.Pool.Limit())
			if err != nil {
				t.Fatal(err)
			}
			go func() { <-gate; mem.Release() }()
		}, "waiting for memory to read "},
	} {
		t.Run(name, func(t *testing.T) {
			f := mixed()
			p := fakePlan(t, f, nil)
			m := memory.New()
			j := fakeJob(p, f, m)
			gate := make(chan struct{})
			c.change(j, f, gate)
			got := make(chan *Stalled, 1)
			stop := j.WatchStall(100*time.Millisecond, nil, func(s *Stalled) { got <- s })
			done := make(chan struct{})
			var err error
			go func() { defer close(done); _, err = j.Convert(bg) }()
			select {
			case s := <-got:
				if text := strings.Join(s.Waiting, "\n"); !strings.Contains(text, c.want) || strings.Count(text, ", for ") == 0 {
					t.Errorf("%v: %q, want %q", s, text, c.want)
				}
			case <-done:
				t.Errorf("ended: %v", err)
			case <-time.After(20 * time.Second):
				t.Error("no stall was found")
			}
			stop()
			close(gate)
			if <-done; err != nil {
				t.Errorf("it goes on when the storage does: %v", err)
			}
			if n := len(j.activities.list); n > 0 {
				t.Errorf("%d activities left", n)
			}
		})
	}
}

// TestWhatMovesSlowlyIsNoStall: neither a step in each tenth of the time, nor one long
// step in which the process does something.
func TestWhatMovesSlowlyIsNoStall(t *testing.T) { synctest.Test(t, whatMovesSlowlyIsNoStall) }

func whatMovesSlowlyIsNoStall(t *testing.T) {
	f := mixed()
	p := fakePlan(t, f, nil)
	j := fakeJob(p, f, memory.New())
	var reads atomic.Int64
	f.onRead = func(shardify.Span) {
		if reads.Add(1) < 20 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	stop := j.WatchStall(400*time.Millisecond, nil, func(s *Stalled) { t.Errorf("%v: %v", s, s.Waiting) })
	if _, err := j.Convert(bg); err != nil {
		t.Error(err)
	}
	stop()

	j = fakeJob(p, f, memory.New())
	asked := 0
	stop = j.WatchStall(20*time.Millisecond, func() bool { asked++; return true }, func(s *Stalled) { t.Errorf("%v although the process moves", s) })
	time.Sleep(200 * time.Millisecond)
	stop()
	if asked == 0 {
		t.Error("the process was not asked")
	}
}

// TestStalledIsAnErrorOfItsOwn: with what is waited for as its details.
func TestStalledIsAnErrorOfItsOwn(t *testing.T) {
	var err error = &Stalled{For: time.Minute, Waiting: []string{"reading x"}}
	var s *Stalled
	if !errors.As(err, &s) || len(s.Details()) != 1 || err.Error() != "nothing was read or written for 1m0s" {
		t.Error(err)
	}
}

// BenchmarkPost is what a span pays for the watch.
func BenchmarkPost(b *testing.B) {
	var s activities
	p := s.open()
	for b.Loop() {
		p.set(atReading, 0, shardify.Span{})
		p.leave()
	}
}
