package walk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/folders"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/local/dirfd"
	"github.com/shardify/shardify/storage/zips"
)

// entry is a name in a listing: 8 bytes beside the name itself.
type entry struct {
	off  uint32
	size uint8
	kind dirfd.Type
}

// listing is one folder's content, sorted, without the entries that are left out.
type listing struct {
	names   []byte
	entries []entry
	// sizes and times are parallel to entries; nil with NoStat.
	sizes, times []int64
	stats        []stat // by off
	left         leftOut
	bad          BadInputs
}

// stat is what a listing of another machine says about the entry whose name is at off.
type stat struct {
	off         uint32
	size, mtime int64
}

func (l *listing) name(i int) []byte {
	e := l.entries[i]
	return l.names[e.off : e.off+uint32(e.size)]
}

// folder is a node of the tree: what reports whether a link leads back up, and how
// to get here.
type folder struct {
	parent   *folder
	root     string // the argument
	rel      string // slash path below it; "" is the root
	dev, ino uint64
	// wanted narrows the listing to names of interest; nil lists all.
	wanted  func(name []byte, t dirfd.Type) bool
	listing listing
	ready   chan struct{} // closed when listing is complete
}

func (f *folder) path() string { return storage.Join(f.root, f.rel) }

func (f *folder) below(name []byte) string {
	if f.rel == "" {
		return string(name)
	}
	return f.rel + "/" + string(name)
}

// longest is the longest path that is followed: no tool reaches further, and a
// hostile tree ends somewhere.
const longest = 16 << 10

var errLoop = errors.New(reasonLoop)

// list fills f.listing. Failures are part of the listing.
func (w *walker) list(ctx context.Context, f *folder) {
	defer close(f.ready)
	l := &f.listing
	err := w.read(ctx, f)
	switch {
	case err == errLoop:
		*l = listing{}
		l.left.add("links", reasonLoop, 1)
	case err != nil:
		*l = listing{}
		l.bad.add(f.path(), err)
	}
}

func (w *walker) read(ctx context.Context, f *folder) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	path := f.path()
	if len(path) > longest {
		return fmt.Errorf("path of more than %d bytes: %w", longest, fs.ErrInvalid)
	}
	if f.parent != nil {
		if err := w.foreignFolder(f.rel); err != nil {
			return err
		}
	}
	d, err := folders.Open(w.fs(), path)
	if err != nil {
		return reasonOf(err)
	}
	defer d.Close()
	info, err := d.Info()
	if err != nil {
		return err
	}
	f.dev, f.ino = info.Dev, info.Ino
	for p := f.parent; p != nil && info.Ino != 0; p = p.parent {
		if p.dev == f.dev && p.ino == f.ino {
			return errLoop
		}
	}
	if err := w.entries(ctx, d, f); err != nil {
		return reasonOf(err)
	}
	return w.statAll(ctx, d, f)
}

// entries reads the names, drops those that are left out, and sorts.
func (w *walker) entries(ctx context.Context, d folders.Folder, f *folder) error {
	l := &f.listing
	l.entries, l.names = make([]entry, 0, w.usual.entries.Load()), make([]byte, 0, w.usual.names.Load())
	buf := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buf)
	tell := func(size, mtime int64) {
		at := uint32(len(l.names))
		if n := len(l.stats); n > 0 && l.stats[n-1].off == at {
			l.stats = l.stats[:n-1] // of a name that was left out
		}
		l.stats = append(l.stats, stat{at, size, mtime})
	}
	root := len(w.Roots)
	err := d.List(ctx, *buf, tell, func(name []byte, t dirfd.Type) error {
		if i := slices.Index(w.Roots[:root], string(name)); i >= 0 && t != dirfd.Folder && f.wanted == nil {
			root = i
		}
		if (f.wanted != nil && !f.wanted(name, t)) || l.left.litter(name) || (t == dirfd.File && !zips.IsArchive(string(name)) && !w.keep(&l.left, name)) {
			return nil
		}
		if len(name) > math.MaxUint8 || len(l.names)+len(name) > math.MaxUint32 {
			return shardify.Unsupported("more than 4 GiB of names in one folder")
		}
		l.entries = append(l.entries, entry{uint32(len(l.names)), uint8(len(name)), t})
		l.names = append(l.names, name...)
		return nil
	})
	if err != nil {
		return err
	}
	if root < len(w.Roots) {
		name := w.Roots[root]
		*l = listing{names: []byte(name), entries: []entry{{0, uint8(len(name)), dirfd.Unknown}}}
		return nil
	}
	w.usual.entries.Store(int64(min(len(l.entries), usualEntries)))
	w.usual.names.Store(int64(min(len(l.names), usualNames)))
	l.sort()
	return nil
}

// usual is the size of the last listing: folders of a data set are much alike.
type usual struct{ entries, names atomic.Int64 }

// A folder larger than this grows by itself.
const (
	usualEntries = 2 << 10
	usualNames   = 32 << 10
)

// keep asks the format's filter and counts a refusal.
func (w *walker) keep(left *leftOut, base []byte) bool {
	if w.Keep == nil {
		return true
	}
	s := string(base)
	if w.Keep(s) {
		return true
	}
	left.other(s)
	return false
}

// statChunk is how many entries a goroutine stats at once, and remoteChunk how many of
// another machine.
const (
	statChunk   = 256
	remoteChunk = 1
)

// statAll stats every file once, and everything whose type the listing did not give, with as many
// goroutines as are free at the moment.
func (w *walker) statAll(ctx context.Context, d folders.Folder, f *folder) error {
	l := &f.listing
	n := len(l.entries)
	if !w.NoStat {
		l.sizes, l.times = make([]int64, n), make([]int64, n)
	}
	bad := make([][]badEntry, (n+w.chunk-1)/w.chunk)
	w.chunks(ctx, len(bad), func(c int, at *caller) {
		at.pace.Begin()
		for i := c * w.chunk; i < min(n, (c+1)*w.chunk); i++ {
			if err := w.stat(ctx, d, f, i, at); err != nil {
				bad[c] = append(bad[c], badEntry{i, err})
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, list := range bad {
		for _, b := range list {
			l.bad.add(storage.Join(f.path(), string(l.name(b.i))), b.err)
			l.entries[b.i].kind = dropped
		}
	}
	l.stats = nil
	l.compact(w)
	return nil
}

type badEntry struct {
	i   int
	err error
}

// dropped marks an entry that compact removes.
const dropped dirfd.Type = 255

var (
	errPipe     = fmt.Errorf("a pipe, socket or device, not opened: %w", shardify.ErrUnsupported)
	errDangling = fmt.Errorf("link to nothing (not fetched yet? remove it otherwise): %w", fs.ErrNotExist)
)

// stat completes one entry.
func (w *walker) stat(ctx context.Context, d folders.Folder, f *folder, i int, at *caller) error {
	l := &f.listing
	e := &l.entries[i]
	switch e.kind {
	case dirfd.Other:
		return errPipe
	case dirfd.Folder:
		return nil
	case dirfd.File:
		if zips.IsArchive(string(l.name(i))) {
			return w.statArchive(ctx, f, l, i)
		}
		if w.NoStat {
			return nil
		}
		k, ok := slices.BinarySearchFunc(l.stats, e.off, func(t stat, off uint32) int { return cmp.Compare(t.off, off) })
		if ok && l.stats[k].size >= 0 {
			l.sizes[i], l.times[i] = l.stats[k].size, l.stats[k].mtime
			return nil
		}
	}
	at.name.Set(l.name(i))
	info, err := d.Stat(ctx, &at.name, at.pace.Next(d.Dir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && e.kind == dirfd.Link {
			return errDangling
		}
		return err
	}
	if info.Type == dirfd.Other {
		return errPipe
	}
	if e.kind != dirfd.File && !w.Follow { // a link, or the listing did not say
		if err := w.inside(f, string(l.name(i))); err != nil {
			return err
		}
	}
	if e.kind == dirfd.File && info.Type != dirfd.File {
		return errors.New("changed its type while it was listed")
	}
	if info.Type == dirfd.File && e.kind != dirfd.File {
		if zips.IsArchive(string(l.name(i))) {
			return w.statArchive(ctx, f, l, i)
		}
		e.kind = unasked
	} else {
		e.kind = info.Type
	}
	if !w.NoStat {
		l.sizes[i], l.times[i] = info.Size, info.ModTime
	}
	return nil
}

// statArchive completes the entry of a zip file: a folder, or a file of a format that reads it whole.
func (w *walker) statArchive(ctx context.Context, f *folder, l *listing, i int) error {
	info, err := w.fs().Stat(ctx, storage.Join(f.path(), string(l.name(i))))
	if err != nil {
		return err
	}
	e := &l.entries[i]
	if e.kind = unasked; info.Type == storage.Folder {
		e.kind = dirfd.Folder
	}
	if !w.NoStat {
		l.sizes[i], l.times[i] = info.Size, info.ModTime
	}
	return nil
}

// ErrOutside is a link in a folder that leads to what is not below the input.
var ErrOutside = errors.New("a link that leads out of the input folder; --follow-symlinks takes what it leads to")

// inside refuses a link out of the argument that it was found in: a folder from elsewhere
// must not bring files of the user who converts it into a data set. The argument itself
// may be a link.
func (w *walker) inside(f *folder, name string) error {
	path := storage.Join(f.path(), name)
	own, ok := storage.Path(w.fs(), path)
	if !ok {
		return nil // no other storage has links
	}
	if link, err := local.IsLink(own); err != nil || !link {
		return reasonOf(err)
	}
	real, err := local.RealPath(own)
	if err != nil {
		return reasonOf(err)
	}
	top, ok := w.tops.Load(f.root)
	if !ok {
		if top, err = local.RealPath(f.root); err != nil {
			return reasonOf(err)
		}
		w.tops.Store(f.root, top)
	}
	if rel, err := filepath.Rel(top.(string), real); err != nil || !filepath.IsLocal(rel) {
		return ErrOutside
	}
	return nil
}

// unasked marks a file that the format's filter has not seen yet, since only the stat showed that
// it is a file.
const unasked dirfd.Type = 254

// compact removes what stat dropped.
func (l *listing) compact(w *walker) {
	k := 0
	for i, e := range l.entries {
		if e.kind == unasked {
			e.kind = dirfd.File
			if !w.keep(&l.left, l.name(i)) {
				e.kind = dropped
			}
		}
		if e.kind == dropped {
			continue
		}
		l.entries[k] = e
		if l.sizes != nil {
			l.sizes[k], l.times[k] = l.sizes[i], l.times[i]
		}
		k++
	}
	l.entries = l.entries[:k]
}

// caller is what a goroutine needs to ask for files.
type caller struct {
	name dirfd.Name
	pace dirfd.Pace
}

// chunks calls do for 0..n-1, here and on as many further goroutines as the
// bound over the whole walk leaves.
func (w *walker) chunks(ctx context.Context, n int, do func(c int, at *caller)) {
	var next atomic.Int64
	work := func() {
		var at caller
		for c := int(next.Add(1)) - 1; c < n && ctx.Err() == nil; c = int(next.Add(1)) - 1 {
			do(c, &at)
		}
	}
	var wg sync.WaitGroup
	for range n - 1 {
		select {
		case w.helpers <- struct{}{}:
			wg.Go(func() { defer func() { <-w.helpers }(); work() })
			continue
		default:
		}
		break
	}
	work()
	wg.Wait()
}

// reasonOf drops the path that a file system error repeats.
func reasonOf(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
