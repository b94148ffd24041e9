package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// Standings of an attempt.
const (
	StateRunning = "running"
	StateDone    = "done"
	StateFailed  = "failed"
	StateKilled  = "killed" // it ended without saying so
	StateStopped = "stopped"
	StateWaiting = "waiting"
)

// Silence is how long a running attempt may give no sign of life where its process
// cannot be seen: file systems and clocks have their delays.
const Silence = 10 * Heartbeat

// State is the state of the attempt at a time.
func (a *Attempt) State(now time.Time) string {
	if a.End != nil {
		switch a.Outcome {
		case OutcomeDone:
			return StateDone
		case OutcomeStopped:
			return StateStopped
		case OutcomeWaiting:
			return StateWaiting
		}
		return StateFailed
	}
	switch a.Life() {
	case LifeRuns:
		return StateRunning
	case LifeGone:
		return StateKilled
	}
	if now.Sub(a.Updated) > Silence {
		return StateKilled
	}
	return StateRunning
}

// Group is the attempts that try the same, the latest last.
type Group struct {
	Names  []string // of records below AttemptsDir
	Latest *Attempt
}

// Attempts reads the latest attempt of each group; of the others it knows the names.
// The order is that of their starts. It writes nothing.
func Attempts(ctx context.Context, set storage.Store) ([]*Group, error) {
	byGroup, err := attemptNames(set)
	if err != nil {
		return nil, err
	}
	groups := make([]*Group, 0, len(byGroup))
	for _, names := range byGroup {
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(path.Base(a), path.Base(b)) })
		groups = append(groups, &Group{Names: names})
	}
	const readers = 32
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, x := range groups {
		if each.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			x.Latest, err = readAttempt(set, x.Names[len(x.Names)-1])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	groups = slices.DeleteFunc(groups, func(g *Group) bool { return g.Latest == nil })
	slices.SortFunc(groups, func(a, b *Group) int {
		return cmp.Or(a.Latest.Start.Compare(b.Latest.Start), cmp.Compare(a.Latest.Name, b.Latest.Name))
	})
	return groups, nil
}

// attemptNames lists the records by group.
func attemptNames(set storage.Store) (map[string][]string, error) {
	out := map[string][]string{}
	for name, err := range storage.Names(set, AttemptsDir) {
		if err != nil {
			return nil, err
		}
		name = strings.TrimPrefix(name, AttemptsDir+"/")
		if group, _, ok := splitName(name); ok {
			out[group] = append(out[group], name)
		}
	}
	return out, nil
}

// readAttempt reads a record. A damaged one is marked Unreadable; the result is nil if the record
// is gone meanwhile.
func readAttempt(set storage.Store, name string) (*Attempt, error) {
	for try := 0; ; try++ {
		a, err := openAttempt(set, AttemptsDir+"/"+name)
		switch {
		case err == nil:
			a.Name = name
			return a, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported):
			return nil, err
		case try < 3:
			time.Sleep(2 * time.Millisecond) // perhaps it is being written
		default:
			return &Attempt{Name: name, Unreadable: err.Error()}, nil
		}
	}
}

func openAttempt(set storage.Store, name string) (*Attempt, error) {
	f, err := set.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, AttemptBytes+1))
	if err != nil {
		return nil, err
	}
	a, err := DecodeAttempt(b)
	return a, shardify.Annotate(err, "read", name, "")
}
