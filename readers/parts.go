package readers

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
)

// PartFiles is how many inputs a table has at least before the next part begins: a
// rule of the plan, since shards do not cross parts. Tests make it smaller.
var PartFiles = 1 << 17

// tables is how many there are at most: being listed, being looked at, being written.
const tables = 3

// inParts reports whether a list may come in parts: it has one root, and an order.
func (r *Request) inParts(ctx context.Context, f format.Input) (bool, error) {
	if !r.Parts || f.Parts == nil || !f.Parts.Can(r.args(nil)) {
		return false, nil
	}
	if r.FilesFrom != nil {
		return len(r.Inputs) == 0, nil
	}
	if len(r.Inputs) != 1 {
		return false, nil
	}
	st, err := stat(ctx, r.fs(), r.Inputs[0])
	return st != nil && st.Type == storage.Folder && len(SplitFolders(ctx, r.Inputs[0])) < 2, err
}

// stat is nil for what is not there, be it that the name is a pattern, or a word that
// stands for something. What could not be looked at is an error: taken for absent, it
// would be planned otherwise.
func stat(ctx context.Context, in storage.FS, name string) (*storage.Info, error) {
	st, err := in.Stat(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, fs.ErrInvalid):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &st, nil
}

func (r *Request) fs() storage.FS { return filesOr(r.FS) }

// filesOr is fs, or the files of this machine.
func filesOr(fs storage.FS) storage.FS {
	if fs == nil {
		return storages.Files
	}
	return fs
}

func (r *Request) args(t *format.Table) format.OpenArgs {
	return format.OpenArgs{Table: t, Columns: r.Columns, Options: r.Options, Jobs: r.Jobs, SkipDamaged: r.SkipDamaged, Rounds: r.Rounds, Late: r.Late, Splits: r.Splits, Folders: r.Folders, Scratch: r.Scratch, Used: &format.Used{}}
}

// More is a list of inputs that continues.
type More struct {
	Survey format.PartSurvey
	used   *format.Used
	cancel context.CancelFunc
	next   chan listed
	free   chan *format.Table
	parts  walk.Parts
	left   []format.Leftover
	err    error
}

// listed is a part; last: the listing is complete.
type listed struct {
	*format.Table
	last, separate bool
}

// openParts lists the inputs in parts, if there are enough.
func openParts(ctx context.Context, f format.Input, r Request) (*Opened, error) {
	all := r.args(nil)
	survey, err := f.Parts.Survey(all)
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(ctx)
	m := &More{
		Survey: survey, cancel: cancel, used: all.Used,
		next: make(chan listed), free: make(chan *format.Table, tables),
	}
	for range tables - 1 {
		m.free <- &format.Table{}
	}
	m.parts = walk.Parts{Files: PartFiles, Cutter: f.Parts.Cutter(r.args(nil), r.FilesFrom != nil), Emit: m.pass}
	go m.list(inner, walkOf(f, r))
	first, err := m.receive(ctx)
	if err != nil {
		m.Close()
		return nil, err
	}
	if first.last {
		m.Close()
		return openTable(ctx, f, r, first.Table, m.left)
	}
	src, err := f.Open(ctx, r.args(first.Table))
	if err != nil {
		// Is it the first part alone? And if not, the error is about all of them.
		table := m.whole(ctx, first.Table)
		m.Close()
		if table == nil {
			return nil, err
		}
		return openTable(ctx, f, r, table, m.left)
	}
	return &Opened{Source: src, Args: r.args(first.Table), More: m}, nil
}

// wholeFiles is the most inputs that are put in one table to find out more about an
// error.
const wholeFiles = 1 << 24

// whole puts all inputs into one table; nil if that fails, or they are too many.
func (m *More) whole(ctx context.Context, t *format.Table) *format.Table {
	all := &format.Table{Roots: t.Roots, FS: t.FS}
	for {
		all.AppendTable(t)
		m.Reuse(t)
		l, err := m.receive(ctx)
		switch {
		case err != nil || all.Len() > wholeFiles:
			return nil
		case l.Table == nil:
			return all
		}
		t = l.Table
		all.Roots = t.Roots
	}
}

// list walks the inputs.
func (m *More) list(ctx context.Context, w walk.Request) {
	defer close(m.next)
	w.Parts = &m.parts
	t, left, err := walk.Walk(ctx, w)
	m.left, m.err = left, err
	if err == nil {
		select {
		case m.next <- listed{t, true, m.parts.Stopped}:
		case <-ctx.Done():
		}
	}
}

// pass passes on a part and waits for a table to go on with.
func (m *More) pass(ctx context.Context, t *format.Table) (*format.Table, error) {
	select {
	case m.next <- listed{t, false, false}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case t := <-m.free:
		return t, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Next is the next part, nil after the last one. The error is ErrNotInParts where that goes
// on in such an order that the inputs are to be planned in one table.
func (m *More) Next(ctx context.Context) (*format.Table, error) {
	l, err := m.receive(ctx)
	if err == nil && l.separate {
		err = format.ErrNotInParts
	}
	return l.Table, err
}

func (m *More) receive(ctx context.Context) (listed, error) {
	select {
	case l, ok := <-m.next:
		if !ok {
			return listed{}, m.err
		}
		return l, nil
	case <-ctx.Done():
		return listed{}, context.Cause(ctx)
	}
}

// Reuse takes a part back that is no longer in use.
func (m *More) Reuse(t *format.Table) {
	t.Reset()
	select {
	case m.free <- t:
	default:
	}
}

// LeftOut is what the listing left out, after the last part.
func (m *More) LeftOut() []format.Leftover { return m.left }

// Close ends the listing.
func (m *More) Close() {
	m.cancel()
	for range m.next { // it may wait with a part
	}
}
