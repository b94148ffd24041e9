package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sync/errgroup"
)

// Leftover is a file that no reader needs.
type Leftover struct {
	Kind  string `json:"kind"` // LeftTemp, ...
	Name  string `json:"name"` // below the data set's folder, or a path
	Bytes int64  `json:"bytes"`
	// Keep is why it must stay for now; "" if it may go.
	Keep string `json:"keep,omitempty"`

	remove func() error
}

// Kinds of leftovers.
const (
	LeftTemp     = "temporary file"
	LeftUpload   = "upload that was not completed"
	LeftFragment = "fragment"
	LeftAttempt  = "attempt record"
)

// Waste is the leftovers of a data set.
type Waste struct {
	List []Leftover
	// Running is the attempts at work.
	Running []*Attempt

	set      storage.Store
	complete bool
	recorded bool // attempts leave records
}

// FindWaste lists files that are no longer needed in a data set's folder and, of a global shuffle,
// in its scratch folder; "" is the one inside. Published shards, receipts and the plan are never
// among them. A temporary file of an unknown process may be removed once it is older than age.
func FindWaste(ctx context.Context, folder, scratch string, age time.Duration) (*Waste, error) {
	d, err := open(ctx, folder)
	if err != nil {
		return nil, err
	}
	w := &Waste{set: d}
	if err := w.attempts(ctx); err != nil {
		return nil, err
	}
	if w.complete, err = storage.Exists(d, index.ManifestName); err != nil {
		return nil, err
	}
	if err := w.temps(d, "", age); err != nil {
		return nil, err
	}
	p, err := plan.Load(d)
	if errors.Is(err, fs.ErrNotExist) || err == nil && p.Order.Shuffle != plan.ShuffleGlobal {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	from, at := storage.Below(d, plan.ScratchDir), plan.ScratchDir+"/"
	if scratch != "" {
		s := local.NewDir(scratch, local.SyncNone)
		from, at = s, scratch+"/"
		if err := w.temps(s, at, age); err != nil {
			return nil, err
		}
	}
	return w, w.fragments(ctx, p, from, at)
}

// temps adds temporary files.
func (w *Waste) temps(s storage.Store, at string, age time.Duration) error {
	x, ok := storage.As[storage.Temper](s)
	if !ok {
		return nil
	}
	list, err := x.Temps()
	if err != nil {
		return err
	}
	for _, t := range list {
		l := Leftover{Kind: LeftTemp, Name: at + storage.Private + "/tmp/" + t.Name, Bytes: t.Bytes, remove: func() error { return x.RemoveTemp(t.Name) }}
		switch {
		case t.Anonymous:
			l.Kind, l.Name, l.Keep = LeftUpload, t.Name, w.upload(t.Age >= age)
		case !t.Gone && t.Age < age && t.Host != "":
			l.Keep = fmt.Sprintf("process %d on %s may be running", t.PID, t.Host)
		case !t.Gone && t.Age < age:
			l.Keep = "its process may be running"
		}
		w.List = append(w.List, l)
	}
	return nil
}

// upload is the reason to keep an upload whose owner is unknown. A late writer of a complete set
// whose upload is gone checks for the file instead, and finds it.
func (w *Waste) upload(old bool) string {
	switch {
	case w.complete || old:
		return ""
	case len(w.Running) > 0:
		return "it may belong to a running attempt"
	case !w.recorded:
		return "its process may be running" // one that leaves no records
	}
	return ""
}

// fragments adds those that are no longer needed. While an attempt runs, a fragment may exist
// before the receipt that names it.
func (w *Waste) fragments(ctx context.Context, p *plan.Plan, scratch storage.Store, at string) error {
	unused, err := unusedFragments(ctx, p, w.set, scratch, w.complete)
	if err != nil {
		return err
	}
	keep := ""
	if len(w.Running) > 0 && !w.complete {
		keep = "it may belong to a running attempt"
	}
	for _, f := range unused {
		w.List = append(w.List, Leftover{Kind: LeftFragment, Name: at + f.Name, Bytes: f.Size, Keep: keep, remove: func() error { return scratch.Remove(f.Name) }})
	}
	return nil
}

// attempts adds the records of all attempts but the latest of each task, and finds
// those at work.
func (w *Waste) attempts(ctx context.Context) error {
	groups, err := Attempts(ctx, w.set)
	if err != nil {
		return err
	}
	w.recorded = len(groups) > 0
	now := time.Now()
	var old []*Attempt
	var names []string
	for _, g := range groups {
		if g.Latest.Unreadable == "" && g.Latest.State(now) == StateRunning {
			w.Running = append(w.Running, g.Latest)
		}
		names = append(names, g.Names[:len(g.Names)-1]...)
	}
	slices.Sort(names)
	old = make([]*Attempt, len(names))
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i, n := range names {
		if each.Err() != nil {
			break
		}
		g.Go(func() (err error) { old[i], err = readAttempt(w.set, n); return err })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, a := range old {
		if a == nil {
			continue
		}
		name := AttemptsDir + "/" + a.Name
		l := Leftover{Kind: LeftAttempt, Name: name, Bytes: AttemptBytes, remove: func() error { return w.set.Remove(name) }}
		if a.Unreadable == "" && a.State(now) == StateRunning {
			l.Keep = "it is running"
			w.Running = append(w.Running, a)
		}
		w.List = append(w.List, l)
	}
	return nil
}

// Remove removes what may go and returns how much that was. If one file cannot be removed, the
// others still are.
func (w *Waste) Remove(ctx context.Context) (files int, bytes int64, err error) {
	var failed []error
	for _, l := range w.List {
		if ctx.Err() != nil {
			return files, bytes, context.Cause(ctx)
		}
		if l.Keep != "" {
			continue
		}
		if err := l.remove(); err != nil {
			failed = append(failed, err)
			continue
		}
		files, bytes = files+1, bytes+l.Bytes
	}
	if len(failed) > 3 {
		failed = append(failed[:3], fmt.Errorf("and %d more", len(failed)-3))
	}
	return files, bytes, errors.Join(failed...)
}

// Sum counts the leftovers of each kind that may go, and those that must stay.
func (w *Waste) Sum() (lines []string) {
	type sum struct {
		n, bytes int64
	}
	sums := map[string]*sum{}
	var order []string
	for _, l := range w.List {
		what := l.Kind
		if l.Keep != "" {
			what += ", kept: " + l.Keep
		}
		if sums[what] == nil {
			sums[what] = &sum{}
			order = append(order, what)
		}
		sums[what].n++
		sums[what].bytes += l.Bytes
	}
	for _, what := range order {
		kind, keep, _ := strings.Cut(what, ",")
		if keep != "" {
			keep = "," + keep
		}
		lines = append(lines, fmt.Sprintf("%s, %s%s", printable.Of(sums[what].n, kind), shardify.FormatSize(sums[what].bytes), keep))
	}
	return lines
}

// Removable is how many leftovers may go.
func (w *Waste) Removable() (n int) {
	for _, l := range w.List {
		if l.Keep == "" {
			n++
		}
	}
	return n
}
