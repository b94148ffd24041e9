package walk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/folders"
	"github.com/shardify/shardify/storage/local/dirfd"
	"github.com/shardify/shardify/storage/storages"
)

// nameMax is the longest name in a list: more is not a list of names.
const nameMax = 64 << 10

// listBatch is how many names of a list are looked at together.
const listBatch = 8 << 10

// filesFrom takes the names of a list, in its order.
func (w *walker) filesFrom(ctx context.Context) error {
	base := w.Base
	if base == "" {
		base = "."
	}
	l := list{walker: w, roots: map[string]*listRoot{}}
	l.base = base
	l.abs, _ = filepath.Abs(base)
	if below := strings.Trim(filepath.ToSlash(l.abs), "/"); below != "" {
		l.prefix = []byte(below + "/")
	}
	defer l.close()
	in := bufio.NewReaderSize(w.FilesFrom, nameMax)
	end := terminator(in)
	if head, _ := in.Peek(nameMax); bytes.Contains(head, []byte("://")) {
		w.remote() // nothing else is being listed
	}
	for line := int64(1); ; line++ {
		name, err := in.ReadSlice(end)
		if err != nil && err != io.EOF {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = fmt.Errorf("name %d is longer than %d bytes: not a list of names", line, nameMax)
			}
			return &shardify.Error{Op: "read", File: "list of inputs", Sample: -1, Offset: -1, Err: err}
		}
		if n := len(name); n > 0 && name[n-1] == end {
			name = name[:n-1]
		}
		if bytes.Contains(name, []byte("://")) && bytes.IndexByte(name, '?') > 0 { // it may be signed
			name = []byte(storages.Plain(string(name)))
		}
		if quick, err := l.quick(ctx, name); err != nil {
			return err
		} else if !quick {
			l.put(ctx, name)
		}
		if len(l.batch) >= listBatch || err == io.EOF {
			if e := l.flush(ctx); e != nil {
				return e
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// terminator is the zero byte if the first names have one, else the line feed.
func terminator(in *bufio.Reader) byte {
	head, _ := in.Peek(nameMax)
	if bytes.IndexByte(head, 0) >= 0 {
		return 0
	}
	return '\n'
}

var errFolder = errors.New("a folder; list files only, with find -type f")

// list is a list of names being read.
type list struct {
	*walker
	base, abs string
	prefix    []byte               // abs without its first slash and with one at its end
	roots     map[string]*listRoot // by their folders
	batch     []listedName
}

type listRoot struct {
	index int
	dir   folders.Folder
	open  bool
	err   error
}

type listedName struct {
	name string // as listed
	rel  string // below its root
	root *listRoot
	info dirfd.Info
	err  error
}

func (l *list) close() {
	for _, r := range l.roots {
		if r.open {
			r.dir.Close()
		}
	}
}

// quick puts a name straight into the table where there is nothing to ask about it:
// neither the file system, nor the format, nor how it is to be read.
func (l *list) quick(ctx context.Context, name []byte) (bool, error) {
	if !l.NoStat || l.Keep != nil || !plain(name) {
		return false, nil
	}
	root := l.roots[l.base]
	if name[0] == '/' {
		below, ok := bytes.CutPrefix(name[1:], l.prefix)
		if !ok {
			root = l.roots[top]
		}
		if name = below; len(name) == 0 {
			return false, nil
		}
	}
	if root == nil || root.err != nil {
		return false, nil // the first one finds the root
	}
	if len(l.batch) > 0 {
		if err := l.flush(ctx); err != nil {
			return false, err
		}
	}
	if w := l.table.Len(); w%listBatch == 0 && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return true, l.addBytes(ctx, root.index, name)
}

// plain reports whether a name means what it says, and its folders and file may be inputs.
func plain(name []byte) bool {
	rest := name
	if len(rest) > 0 && rest[0] == '/' {
		rest = rest[1:]
	}
	for {
		if len(rest) == 0 {
			return false
		}
		c := rest[0]
		if c == '.' || c == '/' { // ".", "..", "//" and whatever is hidden
			return false
		}
		k := bytes.IndexByte(rest, '/')
		if c|0x20 == 't' && (k == len("Thumbs.db") || k < 0 && len(rest) == len("Thumbs.db")) {
			return false
		}
		if k < 0 {
			return bytes.IndexByte(name, 0) < 0
		}
		rest = rest[k+1:]
	}
}

// put puts one name into the batch.
func (l *list) put(ctx context.Context, b []byte) {
	if len(b) == 0 {
		return
	}
	e := listedName{name: string(b)}
	e.root, e.rel, e.err = l.place(ctx, e.name)
	if e.err == nil && l.leftOut(e.rel) {
		return
	}
	l.batch = append(l.batch, e)
}

// place finds root and relative path of a name.
func (l *list) place(ctx context.Context, name string) (*listRoot, string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return nil, "", errors.New("a zero byte in a list of lines")
	}
	dir, rel := l.base, filepath.ToSlash(storage.Clean(name))
	if s := storage.Scheme(name); s != "" {
		dir, rel = topOf(rel, len(s)+len("://"))
	} else if filepath.IsAbs(name) {
		below, ok := strings.CutPrefix(rel, strings.TrimSuffix(filepath.ToSlash(l.abs), "/")+"/")
		if ok {
			rel = below
		} else {
			dir, rel = top, strings.TrimPrefix(rel, "/")
		}
	}
	if rel == "" || rel == "." {
		return nil, "", errFolder
	}
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, "", fmt.Errorf("leads out of the folder %s", Quote(l.base))
	}
	r := l.roots[dir]
	if r == nil {
		r = &listRoot{index: l.root(dir)}
		if r.dir, r.err = folders.Open(l.fs(), dir); r.err == nil {
			r.open = true
		}
		l.roots[dir] = r
	}
	return r, rel, nil
}

// top is the root of absolute names.
const top = string(filepath.Separator)

// topOf cuts an address behind its first folder, which is where other tools have their
// buckets and servers: not every storage can list what is above.
func topOf(address string, scheme int) (dir, rel string) {
	dir = storage.Dir(address)
	if n := strings.IndexByte(address[min(scheme+1, len(address)):], '/'); n >= 0 {
		dir = address[:scheme+1+n]
	}
	return dir, strings.TrimPrefix(strings.TrimPrefix(address, dir), "/")
}

// leftOut counts names that are never samples, or not of the wanted format.
func (l *list) leftOut(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if l.left.litter([]byte(part)) {
			return true
		}
	}
	return !l.keep(&l.left, []byte(path.Base(rel)))
}

// flush stats the batch and appends it to the table.
func (l *list) flush(ctx context.Context) error {
	n := len(l.batch)
	l.chunks(ctx, (n+l.chunk-1)/l.chunk, func(c int, at *caller) {
		for i := c * l.chunk; i < min(n, (c+1)*l.chunk); i++ {
			l.look(ctx, &l.batch[i], &at.name)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range l.batch {
		e := &l.batch[i]
		if e.err != nil {
			l.bad.add(e.name, e.err)
			continue
		}
		if err := l.add(ctx, e.root.index, e.rel, e.info.Size, e.info.ModTime); err != nil {
			return err
		}
	}
	l.batch = l.batch[:0]
	return nil
}

func (l *list) look(ctx context.Context, e *listedName, name *dirfd.Name) {
	if e.err != nil || e.root.err != nil {
		if e.err == nil {
			e.err = reasonOf(e.root.err)
		}
		return
	}
	if l.NoStat {
		e.info.Size = format.SizeUnknown
		return
	}
	name.Set([]byte(e.rel))
	e.info, e.err = e.root.dir.Stat(ctx, name, false)
	switch {
	case e.err != nil:
		e.err = reasonOf(e.err)
	case e.info.Type == dirfd.Folder:
		e.err = errFolder
	case e.info.Type != dirfd.File:
		e.err = errPipe
	}
}
