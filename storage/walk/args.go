package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// argument is one INPUT.
type argument struct {
	text    string
	err     error
	folder  *folder // of a folder
	root    int
	rel     string // of a file, below its root
	inside  string // of a folder that is one input: its file in the table
	pattern []string
	size    int64
	mtime   int64
}

// arguments lists all Inputs.
func (w *walker) arguments(ctx context.Context) error {
	args := make([]argument, len(w.Inputs))
	w.chunks(ctx, len(args), func(i int, _ *caller) { args[i] = w.classify(ctx, w.Inputs[i]) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.overlaps(args)
	w.roots(args)
	folders := window{w: w}
	for i := range args {
		if args[i].folder != nil {
			folders.folders = append(folders.folders, args[i].folder)
		}
	}
	for i := range args {
		if err := w.argument(ctx, &args[i], &folders); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) argument(ctx context.Context, a *argument, folders *window) error {
	switch {
	case a.err != nil:
		w.bad.add(a.text, a.err)
		return nil
	case a.folder != nil:
		return w.visit(ctx, a.root, folders.next(ctx))
	case a.pattern != nil:
		return w.glob(ctx, a)
	}
	return w.add(ctx, a.root, a.rel, a.size, a.mtime)
}

// classify looks at one argument without opening it.
func (w *walker) classify(ctx context.Context, text string) argument {
	a := argument{text: text}
	if text == "" {
		a.err = errors.New("empty name")
		return a
	}
	var st storage.Info
	var err error
	if s, ok := storage.Opened(w.fs(), text); ok { // to find its format
		st = storage.Info{Type: storage.Regular, Stamp: s}
	} else {
		st, err = w.fs().Stat(ctx, text)
	}
	if err != nil || st.Type == storage.Folder {
		if name, info, ok := w.rootOf(ctx, text); ok {
			a.inside, a.size, a.mtime = name, info.Size, info.ModTime
			return a
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.err = w.missing(text)
		if a.err == nil { // a pattern
			a.pattern = strings.Split(filepath.ToSlash(storage.Clean(text)), "/")
		}
	case err != nil:
		a.err = reasonOf(err)
	case st.Type == storage.Folder:
		a.folder = &folder{root: text}
		a.err = w.foreignFolder(text)
	case st.Type == storage.Regular:
		if !w.AnyKind && (w.Keep == nil || !w.Keep(filepath.Base(text))) { // a .mat file may be HDF5
			a.err = foreignFile(text)
		}
		a.size, a.mtime = st.Size, st.ModTime
		if w.NoStat {
			a.size, a.mtime = format.SizeUnknown, 0
		}
	default:
		a.err = errPipe
	}
	return a
}

// rootOf finds the file that represents a folder, if the folder is one input.
func (w *walker) rootOf(ctx context.Context, folder string) (name string, info storage.Info, ok bool) {
	for _, name := range w.Roots {
		if info, err := w.fs().Stat(ctx, storage.Join(folder, name)); err == nil && info.Type == storage.Regular {
			return name, info, true
		}
	}
	return "", info, false
}

// missing says why a name that does not exist is not an input; nil if it is a pattern.
func (w *walker) missing(text string) error {
	if path, ok := storage.Path(w.fs(), text); ok {
		if _, err := local.IsLink(path); err == nil {
			return errDangling
		}
	}
	if !strings.ContainsAny(text, "*?[") {
		return fs.ErrNotExist
	}
	return validPattern(text)
}

// overlaps refuses inputs that would be read twice.
func (w *walker) overlaps(args []argument) {
	type place struct {
		path []string
		i    int
	}
	var places []place
	for i := range args {
		a := &args[i]
		if a.err != nil {
			continue
		}
		text := a.text
		if a.pattern != nil {
			text, _ = splitPattern(a.pattern)
		}
		if abs, err := storage.Abs(text); err == nil {
			places = append(places, place{strings.Split(abs, string(filepath.Separator)), i})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		if c := slices.Compare(a.path, b.path); c != 0 || args[a.i].pattern == nil == (args[b.i].pattern == nil) {
			return c
		}
		if args[a.i].pattern == nil {
			return -1
		}
		return 1
	})
	var above []place // folders that hold the current place
	for _, p := range places {
		for len(above) > 0 && !within(p.path, above[len(above)-1].path) {
			above = above[:len(above)-1]
		}
		a := &args[p.i]
		if n := len(above); n > 0 {
			if q := &args[above[n-1].i]; q.folder != nil || q.inside != "" || (len(above[n-1].path) == len(p.path) && a.pattern == nil) {
				a.err = fmt.Errorf("given twice: it is in %s, too", Quote(q.text))
				continue
			}
		}
		if a.pattern == nil {
			above = append(above, p)
		}
	}
}

func within(p, dir []string) bool { return len(p) >= len(dir) && slices.Equal(p[:len(dir)], dir) }

// roots gives every argument its root. Files share the deepest folder that holds
// them, so that "*/*.npz", expanded by a shell, has the names that the same
// files have when their folder is given.
func (w *walker) roots(args []argument) {
	shared := map[string]*shared{}
	for i := range args {
		if a := &args[i]; a.err == nil && a.folder == nil && a.pattern == nil && !(a.inside != "" && unnamed(a.text)) {
			key, dir := climb(a.text)
			s := shared[key]
			if s == nil {
				shared[key] = newShared(dir)
			} else {
				s.meet(dir)
			}
		}
	}
	for i := range args {
		a := &args[i]
		switch {
		case a.err != nil:
		case a.folder != nil:
			a.root = w.root(a.text)
		case a.pattern != nil:
			var dir string
			dir, a.pattern = splitPattern(a.pattern)
			a.root = w.root(dir)
		case a.inside != "" && unnamed(a.text):
			a.root, a.rel = w.root(a.text), a.inside
		default:
			key, _ := climb(a.text)
			s := shared[key]
			if s.root < 0 {
				s.root = w.root(s.path(key))
			}
			if a.root, a.rel = s.root, s.below(key, a.text); a.inside != "" {
				a.rel += "/" + a.inside
			}
		}
	}
}

// unnamed reports whether a path has no name of its own in its folder.
func unnamed(text string) bool {
	base := filepath.Base(text)
	return base == "." || base == ".." || base == string(filepath.Separator)
}

func (w *walker) root(path string) int {
	w.table.Roots = append(w.table.Roots, path)
	return len(w.table.Roots) - 1
}

// shared is the deepest common folder of files that are all absolute, or all
// relative with equally many leading "..".
type shared struct {
	dir  []string
	root int
}

func newShared(dir []string) *shared { return &shared{dir: dir, root: -1} }

// climb splits a file's path into the leading "/", "../.." or scheme and the folders
// below it.
func climb(path string) (key string, dir []string) {
	path = filepath.ToSlash(storage.Clean(path))
	if s := storage.Scheme(path); s != "" {
		n := len(s) + len("://")
		parts := strings.Split(path[n:], "/")
		return path[:n], parts[:len(parts)-1]
	}
	parts := strings.Split(path, "/")
	parts = parts[:len(parts)-1]
	n := 0
	for n < len(parts) && (parts[n] == ".." || (n == 0 && parts[n] == "")) {
		n++
	}
	return strings.Join(parts[:n], "/") + strings.Repeat("/", min(n, 1)), parts[n:]
}

func (s *shared) meet(dir []string) {
	n := 0
	for n < min(len(s.dir), len(dir)) && s.dir[n] == dir[n] {
		n++
	}
	s.dir = s.dir[:n]
}

func (s *shared) path(key string) string {
	return storage.Clean(filepath.FromSlash(key + strings.Join(s.dir, "/")))
}

func (s *shared) below(key, path string) string {
	path = filepath.ToSlash(storage.Clean(path))
	prefix := key + strings.Join(s.dir, "/")
	return strings.TrimPrefix(path[len(prefix):], "/")
}
