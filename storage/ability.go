package storage

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"
)

// As finds an ability: T is one of the interfaces below, x a storage or a file of one. If
// x itself does not have it, what x wraps is asked.
func As[T any](x any) (T, bool) {
	for x != nil {
		if t, ok := x.(T); ok {
			return t, true
		}
		w, ok := x.(interface{ Unwrap() any })
		if !ok {
			break
		}
		x = w.Unwrap()
	}
	var none T
	return none, false
}

// Flusher is a Store that makes files durable at the end rather than one by one.
type Flusher interface {
	// Flush makes durable what was published so far. Call it before publishing what
	// vouches for the rest (the manifest).
	Flush(ctx context.Context) error
}

// Flush makes durable what was published so far, where Commit did not.
func Flush(ctx context.Context, s Store) error {
	if f, ok := As[Flusher](s); ok {
		return f.Flush(ctx)
	}
	return nil
}

// Namer is a Store that lists names without looking at the files: on a parallel file
// system that costs a fraction of List.
type Namer interface {
	// Names yields the names of published files below dir, in any order.
	Names(dir string) iter.Seq2[string, error]
}

// Names lists the names of files below dir, in any order, as cheaply as the store can.
func Names(s Store, dir string) iter.Seq2[string, error] {
	if n, ok := As[Namer](s); ok {
		return n.Names(dir)
	}
	return func(yield func(string, error) bool) {
		for f, err := range s.List(dir) {
			if !yield(f.Name, err) {
				return
			}
		}
	}
}

// Sizer is a Store that returns the size of a file without opening it.
type Sizer interface {
	Size(name string) (int64, error)
}

// Size is the size of a published file, looked at as cheaply as the store can.
func Size(s Store, name string) (int64, error) {
	if z, ok := As[Sizer](s); ok {
		return z.Size(name)
	}
	b, err := s.Open(name)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	return b.Size(), nil
}

// Exists reports whether a file is published.
func Exists(s Store, name string) (bool, error) {
	_, err := Size(s, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Mover is a Store that shows that it is at work.
type Mover interface {
	// Moves is a number that changes while the store does something.
	Moves() int64
}

// Moves is the store's number; 0 if it has none.
func Moves(s Store) int64 {
	if m, ok := As[Mover](s); ok {
		return m.Moves()
	}
	return 0
}

// Maker is a Store that keeps files being written where a process that is killed leaves
// them.
type Maker interface {
	// SetJob says of which batch job the files are, and how often it was started again.
	SetJob(job, restart string)
	// SetScratch makes shards in a folder of this machine before they are copied to the
	// store. Call it before the first file.
	SetScratch(folder string) error
	// DropScratch removes what SetScratch made, unless another process uses it.
	DropScratch()
	// Clean removes files being written whose process is gone.
	Clean() error
}

// Temp is a file that is being written: by a process at work, or by one that is gone.
type Temp struct {
	Name         string
	Bytes        int64
	Age          time.Duration // since the last write
	Job, Restart string        // "0": not restarted; "" if the name does not say
	Host         string
	PID          int
	// Gone: the process was one of this host, and is no more.
	Gone bool
	// Anonymous: nothing says which process made it.
	Anonymous bool
}

// Temper is a Store whose files that are being written can be listed.
type Temper interface {
	Temps() ([]Temp, error)
	// RemoveTemp removes one of them; a missing one is no error.
	RemoveTemp(name string) error
}

// Ender is a Store whose files wait for another machine while they are written.
type Ender interface {
	// Until has them fail when ctx ends.
	Until(ctx context.Context)
}

// EndWrites has files that are written to s fail when ctx ends, where they may wait.
func EndWrites(ctx context.Context, s Store) {
	if e, ok := As[Ender](s); ok {
		e.Until(ctx)
	}
}

// Keeper is a Store that keeps in memory what is being written.
type Keeper interface {
	// SetMemory bounds that, in bytes. Call it before the first file.
	SetMemory(bytes int64)
}

// Foldered is a Store with folders that stay when they are empty.
type Foldered interface {
	// RemoveFolder removes a folder if it is empty.
	RemoveFolder(name string)
}

// RemoveFolder removes an empty folder, where the store has any.
func RemoveFolder(s Store, name string) {
	if f, ok := As[Foldered](s); ok {
		f.RemoveFolder(name)
	}
}

// Replacer is a Store that can put a file in the place of another.
type Replacer interface {
	// Replace publishes content under a name that may be taken: at once, so that
	// readers see the old file or the new one.
	Replace(ctx context.Context, name string, content []byte) error
}

// Replace publishes content under a name that may be taken.
func Replace(ctx context.Context, s Store, name string, content []byte) error {
	if r, ok := As[Replacer](s); ok {
		return r.Replace(ctx, name, content)
	}
	if err := s.Remove(name); err != nil {
		return err
	}
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit(ctx)
}

// Placer is a Store that can put a file into a folder that is no data set, and leaves no sign of one there, also if
// it is killed.
type Placer interface {
	// Place publishes content under a name that may be taken, as Replace does.
	Place(ctx context.Context, name string, content []byte) error
}

// Place publishes content in a folder that is no data set.
func Place(ctx context.Context, s Store, name string, content []byte) error {
	if p, ok := As[Placer](s); ok {
		return p.Place(ctx, name, content)
	}
	return Replace(ctx, s, name, content)
}

// Swapper is a Store that can put a file in the place of one that the caller has read, unless another
// writer came first.
type Swapper interface {
	// Swap publishes content under a name as long as the file there is the old one, else it is
	// shardify.ErrExists.
	Swap(ctx context.Context, name string, old, content []byte) error
}

// Swap is Replace where a store cannot compare: then the caller must know that it writes alone.
func Swap(ctx context.Context, s Store, name string, old, content []byte) error {
	if x, ok := As[Swapper](s); ok {
		return x.Swap(ctx, name, old, content)
	}
	return Replace(ctx, s, name, content)
}

// Scratcher is a Store that has room for files without a name beside its own.
type Scratcher interface {
	// Scratch makes a file for data whose final place is not known yet. Nothing is left
	// of it once it is closed.
	Scratch() (*os.File, error)
	// Failed adds to the error of a write to that file what is known about the room
	// there; nil stays nil.
	Failed(f *os.File, err error) error
}

// Noter is a File that notices when others write to it.
type Noter interface {
	// Now is what Stamp would be if the file were opened now.
	Now() (Stamp, error)
}

// Now is the current state of an open file, as far as its storage knows.
func Now(f File) (Stamp, error) {
	if n, ok := As[Noter](f); ok {
		return n.Now()
	}
	return f.Stamp(), nil
}

// OSFiler is a File that is one of the operating system: for mmap, and for reads that know
// what is behind it.
type OSFiler interface {
	OSFile() *os.File // nil where reads must not go past a wrapper
}

// OSFile is the file of the operating system behind f, or nil.
func OSFile(f File) *os.File {
	if o, ok := As[OSFiler](f); ok {
		return o.OSFile()
	}
	return nil
}

// RangeCopier is a Pending that takes ranges of files of the operating system without
// their bytes going through the program.
type RangeCopier interface {
	// CopyRange copies n bytes of src, starting at its offset from, to offset off, and
	// returns how many it copied. The caller copies the rest itself.
	CopyRange(off int64, src *os.File, from, n int64) (int64, error)
}

// Range is a part of a file.
type Range struct{ Off, Len int64 }

// Announcer is a File that wants to know what will be read: one on another machine fetches
// many ranges by few requests, and before they are wanted.
type Announcer interface {
	// Announce passes ranges that will be read soon, in any order. It does not wait.
	Announce([]Range)
}

// Announce passes f the ranges that will be read soon, if it is an Announcer, and reports
// whether it is.
func Announce(f any, ranges iter.Seq[Range]) bool {
	a, ok := As[Announcer](f)
	if ok {
		a.Announce(slices.Collect(ranges))
	}
	return ok
}

// Forgetter is a File that keeps what it has read.
type Forgetter interface {
	// Forget drops what was kept of a range: the next read asks for it again.
	Forget(Range)
}

// Forget drops what was kept of a range, after its bytes turned out to be wrong, and reports
// whether a file keeps any.
func Forget(f any, r Range) bool {
	k, ok := As[Forgetter](f)
	if ok {
		k.Forget(r)
	}
	return ok
}
