// Package walk turns what a user names as input (files, folders, patterns, lists
// of names) into the table of files that a plan is made from.
//
// It reads directories in batches, stats each file once (or not at all), and
// opens nothing but directories. The order is a property of the names alone:
// arguments as given, below each in natural order, component by component (2
// before 10). Inputs that are left out are counted by reason; what cannot be input is
// refused, all of it in one error.
//
//	t, left, err := walk.Walk(ctx, walk.Request{Inputs: []string{"photos"}})
package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local/dirfd"
	"github.com/shardify/shardify/storage/storages"
)

// ErrNone means that the inputs hold no file that is wanted.
var ErrNone = errors.New("no input files")

// Request says what to list.
type Request struct {
	// FS is where the inputs are; nil means the files of this machine.
	FS storage.FS
	// Inputs are files, folders (listed to the bottom) and
	// patterns: path.Match for each component, ** for any number of folders. A
	// file named here is taken whatever its name.
	Inputs []string
	// FilesFrom is a list of names, ended by zero bytes or line feeds, in the
	// order in which they are taken; nil for none. Names are relative to Base
	// ("" is the current folder); absolute names below Base become relative to it.
	FilesFrom io.Reader
	Base      string
	// Keep reports by the base name whether a file found in a folder, by a pattern or in a list
	// is one for the format; nil takes all. What it refuses is counted by extension. It is
	// called from several goroutines.
	Keep func(base string) bool
	// Roots: a folder with a file of such a name is one input, represented by the first of
	// them. Nothing below it is listed.
	Roots []string
	// NoStat leaves sizes unknown: a list of a million files then costs its
	// directories only.
	NoStat bool
	// AnyKind takes files and folders of kinds that no reader understands (.csv,
	// .lmdb): for opaque copies.
	AnyKind bool
	// Follow takes what links found in folders lead to, wherever that is; without it only
	// what is below the same input, and other links are refused. Inputs themselves, and
	// names of a list, may be links.
	Follow bool
	// Jobs bounds the goroutines that wait for the file system; 0 means four per
	// processor, since they mostly wait.
	Jobs int
	// Parts takes a long list in parts; nil makes one table.
	Parts *Parts
}

// Parts takes a list of inputs, all below one root, in several tables.
type Parts struct {
	// Files is what a part has at least; the last one has fewer, if there are several.
	Files int
	// Cutter says where a part may end.
	Cutter format.Cutter
	// Emit gets a part and gives an empty table to go on with.
	Emit func(ctx context.Context, t *format.Table) (*format.Table, error)
	// Stopped, after Walk: from some place on the order of the names has not allowed parts. The
	// table that Walk returns goes on where the last part ends.
	Stopped bool
}

// Walk lists the inputs. The error may be a *BadInputs with all that cannot be
// read, or wrap ErrNone.
func Walk(ctx context.Context, r Request) (*format.Table, []format.Leftover, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := newWalker(r)
	defer w.wg.Wait() // after cancel: nothing outlives the call
	defer cancel()
	if err := w.arguments(ctx); err != nil {
		return nil, nil, err
	}
	if r.FilesFrom != nil {
		if err := w.filesFrom(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := w.bad.err(); err != nil {
		return nil, nil, err
	}
	left := w.left.list()
	if w.table.Len() == 0 {
		return nil, left, w.nothing(left)
	}
	return w.table, left, nil
}

type walker struct {
	Request
	table   *format.Table
	from    storage.FS // of table, which parts replace while helpers list
	files   int        // that it has room for
	left    leftOut
	bad     BadInputs
	helpers chan struct{} // bounds goroutines that stat beside the lister
	listers chan struct{} // bounds listings in progress
	ahead   int           // listings started before they are needed, per level
	chunk   int           // files that a goroutine stats at once
	buffers sync.Pool     // *[]byte for getdents
	wg      sync.WaitGroup
	usual   usual
	tops    sync.Map // argument -> its path without links
}

func (w *walker) fs() storage.FS { return w.from }

// dirBuffer is what one getdents may fill: some 1,500 names.
const dirBuffer = 64 << 10

func newWalker(r Request) *walker {
	jobs := r.Jobs
	if jobs <= 0 {
		jobs = 4 * runtime.GOMAXPROCS(0)
	}
	table := &format.Table{FS: r.FS}
	w := &walker{
		Request: r,
		table:   table,
		from:    storages.Of(table),
		chunk:   statChunk,
		buffers: sync.Pool{New: func() any { b := make([]byte, dirBuffer); return &b }},
	}
	w.jobs(jobs)
	if len(r.Inputs) > 0 {
		if _, own := storage.Path(w.from, r.Inputs[0]); !own {
			w.remote()
		}
	}
	return w
}

// jobs bounds the goroutines that wait. Call it while none runs.
func (w *walker) jobs(n int) {
	w.helpers, w.listers, w.ahead = make(chan struct{}, n-1), make(chan struct{}, n), min(n, 16)
}

// remoteJobs is how many requests are made at the same time.
const remoteJobs = 64

// remote is for files of another machine, which takes long to answer.
func (w *walker) remote() {
	w.jobs(max(cap(w.listers), remoteJobs))
	w.chunk = remoteChunk
}

// nothing says what was there instead.
func (w *walker) nothing(left []format.Leftover) error {
	var there []string
	err := ErrNone
	for _, l := range left {
		there = append(there, fmt.Sprintf("%d %s (%s)", l.Count, l.Name, l.Reason))
		if e := foreignFile(l.Name); e != nil {
			err = fmt.Errorf("%w; %w", ErrNone, e)
		}
	}
	if there != nil {
		err = fmt.Errorf("%w; left out: %s", err, strings.Join(there, ", "))
	}
	in := strings.Join(w.Inputs[:min(3, len(w.Inputs))], ", ")
	return &shardify.Error{Op: "list", File: Quote(in), Sample: -1, Offset: -1, Err: err}
}

func tooMany() error { return shardify.Unsupported("more than %d input files", uint32(math.MaxUint32)) }

// add appends a file to the table.
func (w *walker) add(ctx context.Context, root int, rel string, size, mtime int64) error {
	if w.table.Len() == math.MaxUint32 {
		return tooMany()
	}
	w.table.Append(root, rel, size, mtime)
	return w.added(ctx)
}

// addBytes is add for a file whose size is not needed.
func (w *walker) addBytes(ctx context.Context, root int, rel []byte) error {
	if w.table.Len() == math.MaxUint32 {
		return tooMany()
	}
	w.table.AppendIn(root, "", rel, format.SizeUnknown, 0)
	return w.added(ctx)
}

// added passes on a part if the table is one without its last file.
func (w *walker) added(ctx context.Context) error {
	p := w.Parts
	if p == nil || p.Stopped {
		return nil
	}
	n := w.table.Len() - 1
	begins, err := p.Cutter.Next(w.table.NameBytes(n))
	if err != nil || len(w.table.Roots) > 1 {
		p.Stopped = true
		if err != nil && !errors.Is(err, format.ErrNotInParts) {
			return err
		}
		return nil
	}
	if !begins || n < p.Files {
		return nil
	}
	p.Cutter.Begin()
	full := w.table
	last := &format.Table{}
	full.MoveLast(last)
	if w.table, err = p.Emit(ctx, full); err != nil {
		return err
	}
	w.table.Roots, w.table.FS, w.files = full.Roots, full.FS, 0
	last.MoveLast(w.table)
	return nil
}

// visit puts everything below f into the table, in order. It frees the listing.
func (w *walker) visit(ctx context.Context, root int, f *folder) error {
	select {
	case <-f.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l := f.listing
	f.listing = listing{}
	w.left.merge(l.left)
	w.bad.merge(&l.bad)
	children := window{w: w}
	for i, e := range l.entries {
		if e.kind == dirfd.Folder {
			children.folders = append(children.folders, &folder{parent: f, root: f.root, rel: f.below(l.name(i))})
		}
	}
	n := len(l.entries) - len(children.folders)
	if w.Parts != nil {
		n = min(n, w.Parts.Files)
	}
	w.room(n, n*(len(l.names)/max(len(l.entries), 1)+len(f.rel)+2))
	for i, e := range l.entries {
		if e.kind == dirfd.Folder {
			if err := w.visit(ctx, root, children.next(ctx)); err != nil {
				return err
			}
			continue
		}
		size, mtime := int64(format.SizeUnknown), int64(0)
		if l.sizes != nil {
			size, mtime = l.sizes[i], l.times[i]
		}
		if w.table.Len() == math.MaxUint32 {
			return tooMany()
		}
		w.table.AppendIn(root, f.rel, l.name(i), size, mtime)
		if err := w.added(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// room makes room in the table for further files with names of so many bytes. It
// doubles a small table: to copy one often costs more than the memory it wastes.
func (w *walker) room(files, bytes int) {
	const small = 128 << 10
	have := w.table.Len()
	if w.files = max(w.files, have); w.files < have+files {
		w.files = have + max(files, min(have, small), have/4)
		w.table.Grow(w.files-have, bytes/max(files, 1)*(w.files-have))
	}
}

// window lists folders ahead of their visit, a few at a time, so that memory
// holds few listings and a slow file system is asked for several at once.
type window struct {
	w       *walker
	folders []*folder
	begun   int
	taken   int
}

// next returns the next folder, being listed.
func (x *window) next(ctx context.Context) *folder {
	for ; x.begun < min(len(x.folders), x.taken+x.w.ahead); x.begun++ {
		x.w.begin(ctx, x.folders[x.begun])
	}
	f := x.folders[x.taken]
	x.folders[x.taken] = nil
	x.taken++
	return f
}

func (w *walker) begin(ctx context.Context, f *folder) {
	f.ready = make(chan struct{})
	w.wg.Go(func() {
		select {
		case w.listers <- struct{}{}:
			defer func() { <-w.listers }()
		case <-ctx.Done():
			return // and so does a goroutine that waits for f
		}
		w.list(ctx, f)
	})
}
