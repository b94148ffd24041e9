package rfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Object is a key with the path of its directory.
type Object struct {
	Path string // "dir/sub/name"
	Key  *Key
	// Current is true for the highest cycle of the name.
	Current bool
}

// maxDepth bounds directories in directories.
const maxDepth = 64

// dirWalk collects the objects of all directories.
type dirWalk struct {
	f       *File
	seen    map[int64]bool // fSeekKeys of directories read, against loops
	strings map[string]string
	budget  int64 // bytes of key lists that may follow; they do not overlap
}

func (w *dirWalk) str(b []byte) string {
	if s, ok := w.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	w.strings[s] = s
	return s
}

// dirHead is a directory record.
type dirHead struct {
	nbytesKeys int64
	seekKeys   int64
}

// errNotClosed: the list of keys and the list of free blocks are written when a
// file is closed. Without them what is there is at most what was saved half way.
var errNotClosed = shardify.Corrupt(-1, "the file was not closed by its writer")

// walk reads all directories from the root on.
func (f *File) walk() error {
	w := &dirWalk{f: f, seen: map[int64]bool{}, strings: map[string]string{}, budget: f.size}
	head, err := w.head(f.begin + f.nbytesName)
	if err != nil {
		return err
	}
	if !f.closed() {
		f.problems = append(f.problems, shardify.Annotate(errNotClosed, "open", f.name, ""))
	}
	if head.seekKeys == 0 || head.nbytesKeys == 0 {
		return nil
	}
	if err := w.list(head, "", 0); err != nil {
		return err
	}
	markCurrent(f.objects)
	return nil
}

// head reads the directory record at a byte of the file.
func (w *dirWalk) head(off int64) (dirHead, error) {
	if off < 0 || off >= w.f.size {
		return dirHead{}, shardify.Corrupt(off, "directory at byte %d, the file has %d", off, w.f.size)
	}
	b, err := w.f.readAt(off, min(42, w.f.size-off))
	if err != nil {
		return dirHead{}, err
	}
	c := NewCursor(b, 0)
	version := c.I16()
	c.Skip(8) // fDatimeC, fDatimeM
	h := dirHead{nbytesKeys: int64(c.I32())}
	c.Skip(4) // fNbytesName
	if version > bigKey {
		c.Skip(16) // fSeekDir, fSeekParent
		h.seekKeys = c.I64()
	} else {
		c.Skip(8)
		h.seekKeys = int64(c.U32())
	}
	if c.Err() != nil {
		return h, shift(c.Err(), off)
	}
	return h, nil
}

// list reads the key list of a directory and the directories in it.
func (w *dirWalk) list(head dirHead, dir string, depth int) error {
	if w.seen[head.seekKeys] {
		return shardify.Corrupt(head.seekKeys, "two directories with one list of keys")
	}
	w.seen[head.seekKeys] = true
	if w.budget -= head.nbytesKeys; w.budget < 0 {
		return shardify.Corrupt(head.seekKeys, "lists of keys that overlap")
	}
	b, err := w.f.readAt(head.seekKeys, head.nbytesKeys)
	if err != nil {
		return err
	}
	own, err := ParseHeader(b)
	if err != nil {
		return shift(err, head.seekKeys)
	}
	c := NewCursor(b, 0)
	c.SeekTo(own.KeyLen)
	n := c.Count(29) // a key has 26 bytes and three strings at least
	if c.Err() != nil {
		return shift(c.Err(), head.seekKeys)
	}
	keys := make([]Key, 0, n)
	for range n {
		k := readKey(c, w.str)
		if err := c.Err(); err != nil {
			return shift(err, head.seekKeys)
		}
		keys = append(keys, k)
	}
	for i := range keys {
		k := &keys[i]
		path := k.Name
		if dir != "" {
			path = dir + "/" + k.Name
		}
		if k.Class == "TDirectory" || k.Class == "TDirectoryFile" {
			if err := w.sub(k, path, depth+1); err != nil {
				w.f.problems = append(w.f.problems, shardify.Annotate(err, "read", w.f.name, path))
			}
			continue
		}
		w.f.objects = append(w.f.objects, Object{Path: path, Key: k})
	}
	return nil
}

func (w *dirWalk) sub(k *Key, path string, depth int) error {
	if depth > maxDepth {
		return shardify.Unsupported("directories more than %d deep", maxDepth)
	}
	head, err := w.head(k.Seek + int64(k.KeyLen))
	if err != nil || head.seekKeys == 0 || head.nbytesKeys == 0 {
		return err
	}
	return w.list(head, path, depth)
}

// markCurrent finds the highest cycle of each name.
func markCurrent(objects []Object) {
	best := make(map[string]int, len(objects))
	for i, o := range objects {
		if j, ok := best[o.Path]; !ok || objects[j].Key.Cycle < o.Key.Cycle {
			best[o.Path] = i
		}
	}
	for _, i := range best {
		objects[i].Current = true
	}
}

// Objects lists everything but directories, of all directories and cycles, in
// file order.
func (f *File) Objects() []Object { return f.objects }

// Problems are directories that could not be read, and why; the others could. A
// file that was not closed by its writer has no objects, and that as a problem.
func (f *File) Problems() []error { return f.problems }

// IsTree reports whether objects of this class are trees.
func IsTree(class string) bool {
	return class == "TTree" || class == "TNtuple" || class == "TNtupleD"
}

// NTupleClass is the class of an RNTuple's anchor.
const NTupleClass = "ROOT::RNTuple"

// OldNTupleClass is that of an RNTuple from before the format was fixed.
const OldNTupleClass = "ROOT::Experimental::RNTuple"

// Trees lists the current cycle of each TTree, TNtuple and TNtupleD.
func (f *File) Trees() []Object { return f.current(IsTree) }

// NTuples lists the current cycle of each RNTuple, those of an old format
// included.
func (f *File) NTuples() []Object {
	return f.current(func(class string) bool { return class == NTupleClass || class == OldNTupleClass })
}

func (f *File) current(is func(class string) bool) []Object {
	var list []Object
	for _, o := range f.objects {
		if o.Current && is(o.Key.Class) {
			list = append(list, o)
		}
	}
	return list
}

// Lookup finds an object by its path; "dir/tree" is the highest cycle,
// "dir/tree;3" the third. A leading slash is allowed.
func (f *File) Lookup(path string) (Object, error) {
	want := strings.TrimPrefix(path, "/")
	if o, ok := f.find(want, -1); ok {
		return o, nil
	}
	if i := strings.LastIndexByte(want, ';'); i >= 0 {
		if cycle, err := strconv.Atoi(want[i+1:]); err == nil && cycle >= 0 {
			if o, ok := f.find(want[:i], cycle); ok {
				return o, nil
			}
		}
	}
	if len(f.objects) == 0 && len(f.problems) > 0 {
		return Object{}, f.problems[0]
	}
	return Object{}, shardify.Annotate(shardify.Misuse("no object of this name; there are %s", f.listing()), "open", f.name, path)
}

func (f *File) find(path string, cycle int) (Object, bool) {
	i := slices.IndexFunc(f.objects, func(o Object) bool {
		return o.Path == path && (cycle < 0 && o.Current || cycle == o.Key.Cycle)
	})
	if i < 0 {
		return Object{}, false
	}
	return f.objects[i], true
}

// listing names the trees of the file for an error.
func (f *File) listing() string {
	var names []string
	for _, o := range f.objects {
		if o.Current && (IsTree(o.Key.Class) || o.Key.Class == NTupleClass) {
			names = append(names, o.Path)
		}
	}
	switch n := len(names); {
	case n == 0:
		return "no trees"
	case n > 8:
		return strings.Join(names[:8], ", ") + " and " + strconv.Itoa(n-8) + " more"
	}
	return strings.Join(names, ", ")
}
