package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// Status looks at a data set that is being made and changes nothing.
func Status(ctx context.Context, folder string) (*Report, error) {
	return Options{}.Status(ctx, folder)
}

// Options are how closely to look.
type Options struct {
	// Deep reads every receipt and looks at every shard, however many there are.
	Deep bool
	// Todo lists the tasks that are not done, of Tasks; 0 divides the plan by its size.
	Todo  bool
	Tasks int
}

// receiptsRead is the most receipts that are read without Deep: their names show what is done, but
// not how many samples were skipped.
const receiptsRead = 10_000

// receiptsAsked is the same where each receipt is a request to a server.
const receiptsAsked = 1_000

// look is one look at a data set.
type look struct {
	Options
	now    time.Time
	store  storage.Store
	plan   *plan.Plan
	done   *plan.Done
	groups []*Group
	of     map[*Attempt]*Group
	states map[*Attempt]string
	r      *Report
}

// open is the store of a data set, which must be there.
func open(ctx context.Context, folder string) (storage.Store, error) {
	st, err := storages.Files.Stat(ctx, folder)
	if err == nil && st.Type != storage.Folder {
		err = &fs.PathError{Op: "open", Path: folder, Err: errors.New("not a folder")}
	}
	if err != nil {
		return nil, err
	}
	return storages.Open(folder, storages.Output{Sync: local.SyncNone})
}

// Status is the function of that name.
func (o Options) Status(ctx context.Context, folder string) (*Report, error) {
	store, err := open(ctx, folder)
	if err != nil {
		return nil, err
	}
	l := &look{Options: o, now: time.Now(), store: store, of: map[*Attempt]*Group{}, states: map[*Attempt]string{}}
	l.r = &Report{Output: folder, Stages: []Stage{}, Tasks: []Task{}, Damaged: []int{}, Next: []string{}, Free: -1, Time: l.now}
	if storages.Local(folder) {
		l.r.Free = host.FreeSpace(storages.Plain(folder))
	}
	if err := l.attempts(ctx); err != nil {
		return nil, err
	}
	complete, err := l.manifest()
	if err != nil {
		return nil, err
	}
	l.plan, err = plan.Load(l.store)
	switch {
	case complete && err != nil: // readers need no plan, and it may be gone
		l.r.Next = []string{"shardify verify " + printable.Quote(folder)}
		return l.r, nil
	case errors.Is(err, fs.ErrNotExist):
		return l.r, l.unplanned()
	case err != nil:
		return nil, err
	}
	l.r.Plan = l.plan.Digest()
	l.groups = slices.DeleteFunc(l.groups, func(g *Group) bool { // of a plan that was replaced
		return g.Latest.Plan != "" && g.Latest.Plan != l.r.Plan
	})
	if l.done, err = plan.ReadDone(ctx, l.plan, l.store); err != nil {
		return nil, err
	}
	if complete {
		for i := range l.done.Shards {
			l.done.Shards[i] = true
		}
	} else if err := l.receipts(ctx); err != nil {
		return nil, err
	}
	l.stages()
	l.state(complete)
	l.next()
	if o.Todo {
		l.todo(o.Tasks)
	}
	return l.r, nil
}

func (l *look) attempts(ctx context.Context) (err error) {
	if l.groups, err = Attempts(ctx, l.store); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.r.Unreadable = append(l.r.Unreadable, AttemptsDir+": "+err.Error())
		return nil // receipts show what is done
	}
	var good []*Group
	for _, g := range l.groups {
		l.r.Attempts += len(g.Names)
		if g.Latest.Unreadable != "" {
			l.r.Unreadable = append(l.r.Unreadable, AttemptsDir+"/"+g.Latest.Name)
			continue
		}
		l.of[g.Latest], l.states[g.Latest] = g, g.Latest.State(l.now)
		good = append(good, g)
	}
	l.groups = good
	return nil
}

// manifest fills in what the manifest of a complete data set says.
func (l *look) manifest() (complete bool, err error) {
	b, err := l.store.Open(index.ManifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer b.Close()
	text := make([]byte, b.Size())
	if n, err := b.ReadAt(text, 0); n < len(text) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return false, shardify.Annotate(err, "read", index.ManifestName, "")
	}
	m, err := index.DecodeManifest(text)
	if err != nil {
		return false, err
	}
	r := l.r
	r.State, r.Exact = StatusComplete, true
	r.Samples, r.Bytes, r.TotalBytes = m.Samples, m.Bytes, m.Bytes
	r.TotalSamples = m.Samples
	for _, s := range m.Skipped {
		r.Skipped += s.Hi - s.Lo
	}
	r.Dropped, r.Reasons = m.Dropped, plan.Reasons(m.Counts)
	return true, nil
}

// unplanned is the state of a folder without a plan.
func (l *look) unplanned() error {
	l.r.State = StatusNone
	var temps []storage.Temp
	if x, ok := storage.As[storage.Temper](l.store); ok {
		var err error
		if temps, err = x.Temps(); err != nil {
			return err
		}
	}
	for _, t := range temps {
		if strings.HasPrefix(t.Name, "plan.") && !t.Gone && t.Age < local.TempAge {
			l.r.State = StatusPlanning
		}
	}
	for _, g := range l.groups {
		if l.states[g.Latest] == StateRunning {
			l.r.State = StatusPlanning
		}
	}
	if l.r.State == StatusNone && l.free() {
		l.r.Next = append(l.r.Next, fmt.Sprintf("shardify plan INPUT... -o %s", printable.Quote(l.r.Output)))
	}
	return nil
}

// free reports whether a plan may be made in the folder: it is empty but for files that dead
// processes have left.
func (l *look) free() bool {
	for e, err := range storages.Files.List(context.Background(), l.r.Output) {
		if err != nil || e.Name != storage.Private {
			return false
		}
	}
	return true
}

// receipts reads what receipts say, unless there are too many.
func (l *look) receipts(ctx context.Context) error {
	r, p := l.r, l.plan
	r.TotalSamples, r.TotalBytes = p.Pack.Samples, p.Pack.OutputBytes
	r.Reasons = plan.Drops(p)
	for _, c := range p.In.Unread {
		r.Dropped += c.N
	}
	shards, most := count(l.done.Shards)+count(l.done.Portions), receiptsRead
	if !storages.Local(r.Output) {
		most = receiptsAsked
	}
	if r.Exact = l.Deep || shards <= most; !r.Exact {
		r.estimate(l)
		return nil
	}
	sum, err := readTally(ctx, p, l.store, l.done, l.Deep)
	if err != nil {
		return err
	}
	r.Samples, r.Bytes, r.Skipped, r.Dropped = sum.Samples, sum.Bytes, sum.Skipped, r.Dropped+sum.Dropped
	r.Damaged = append(r.Damaged, sum.Damaged...)
	return nil
}

// estimate fills in what names alone let guess.
func (r *Report) estimate(l *look) {
	n, all := count(l.done.Shards), max(len(l.done.Shards), 1)
	r.Bytes = int64(float64(l.plan.Pack.OutputBytes) * float64(n) / float64(all))
	if l.done.Portions == nil {
		for i, done := range l.done.Shards {
			if done {
				r.Samples += l.plan.Pack.Shards[i].Samples
			}
		}
	} else {
		r.Samples = int64(float64(l.plan.Pack.Samples) * float64(n) / float64(all))
	}
	for _, g := range l.groups {
		r.Skipped += g.Latest.Work.Skipped
	}
}

func count(list []bool) (n int) {
	for _, x := range list {
		if x {
			n++
		}
	}
	return n
}

// state finds the one word.
func (l *look) state(complete bool) {
	r := l.r
	all, begun, running := true, len(l.groups) > 0, false
	for _, s := range r.Stages {
		all = all && s.Units.Done == s.Units.Total
		begun = begun || s.Units.Done > 0
	}
	for _, g := range l.groups {
		running = running || g.Latest.Command != "merge" && l.states[g.Latest] == StateRunning
	}
	if g := l.merger(all); g != nil && !complete && l.states[g.Latest] != StateDone {
		t := l.task(g, "merge")
		r.Merge = &t
	}
	switch {
	case complete:
		r.State = StatusComplete
	case all && (running || r.Merge != nil && r.Merge.State == StateRunning):
		r.State = StatusMerging
	case all:
		r.State = StatusUnmerged
	case running:
		r.State = StatusRunning
	case begun:
		r.State = StatusPartial
	default:
		r.State = StatusPlanned
	}
}

// merger is the latest attempt at the merge: that of a convert, too, once all shards are there.
func (l *look) merger(all bool) *Group {
	for i := len(l.groups) - 1; i >= 0; i-- {
		if c := l.groups[i].Latest.Command; c == "merge" || all && c == "convert" {
			return l.groups[i]
		}
	}
	return nil
}
