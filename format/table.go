package format

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"path/filepath"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Table is the list of input files of a plan, in order. A million entries take
// their names plus about 32 bytes each.
type Table struct {
	// Roots are the INPUT arguments as given: a folder, a file, or "" for names
	// that stand for themselves. They may differ from machine to machine and are
	// no part of a plan's digest.
	Roots []string
	// FS is where the files are; nil means those of this machine.
	FS    storage.FS
	names []byte
	ends  []int64
	root  []uint32
	size  []int64
	mtime []int64
	// ByKey: samples are who their numbers say they are, whatever their input.
	ByKey bool
	// Inputs whose name an earlier one has, and how many earlier ones; see twin.
	once  sync.Once
	twins map[uint32]uint64
	seen  stamps
}

// Append adds a file: root indexes Roots, name is its slash path below the root
// ("" when the root is the file itself), mtime is in nanoseconds.
func (t *Table) Append(root int, name string, size, mtime int64) {
	t.names = append(t.names, name...)
	t.ends = append(t.ends, int64(len(t.names)))
	t.root = append(t.root, uint32(root))
	t.size = append(t.size, size)
	t.mtime = append(t.mtime, mtime)
}

// AppendIn adds the file base of the folder dir, a slash path below the root; ""
// is the root itself.
func (t *Table) AppendIn(root int, dir string, base []byte, size, mtime int64) {
	if dir != "" {
		t.names = append(append(t.names, dir...), '/')
	}
	t.names = append(t.names, base...)
	t.Append(root, "", size, mtime)
}

// Grow makes room for further files whose names have nameBytes in all, so that
// a large folder does not pay for growth step by step.
func (t *Table) Grow(files, nameBytes int) {
	t.names = slices.Grow(t.names, nameBytes)
	t.ends = slices.Grow(t.ends, files)
	t.root = slices.Grow(t.root, files)
	t.size = slices.Grow(t.size, files)
	t.mtime = slices.Grow(t.mtime, files)
}

// Reset empties the table and keeps its memory and its roots.
func (t *Table) Reset() {
	t.names, t.ends, t.root, t.size, t.mtime = t.names[:0], t.ends[:0], t.root[:0], t.size[:0], t.mtime[:0]
	t.once, t.twins = sync.Once{}, nil
	t.seen.list = nil
}

// MoveLast takes the last file off and appends it to another table.
func (t *Table) MoveLast(to *Table) {
	i := t.Len() - 1
	to.Append(t.Root(i), "", t.size[i], t.mtime[i])
	to.names = append(to.names, t.NameBytes(i)...)
	to.ends[len(to.ends)-1] = int64(len(to.names))
	t.names = t.names[:len(t.names)-len(t.NameBytes(i))]
	t.ends, t.root, t.size, t.mtime = t.ends[:i], t.root[:i], t.size[:i], t.mtime[:i]
}

// AppendTable appends the files of a table with the same roots.
func (t *Table) AppendTable(o *Table) {
	t.Grow(o.Len(), len(o.names))
	for _, e := range o.ends {
		t.ends = append(t.ends, e+int64(len(t.names)))
	}
	t.names = append(t.names, o.names...)
	t.root, t.size, t.mtime = append(t.root, o.root...), append(t.size, o.size...), append(t.mtime, o.mtime...)
}

// Len is the number of files.
func (t *Table) Len() int { return len(t.ends) }

// Name is the slash path of file i below its root; what identifies it in plans
// and manifests. For a root that is itself a file it is the base name.
func (t *Table) Name(i int) string {
	if n := t.NameBytes(i); len(n) > 0 {
		return string(n)
	}
	return filepath.Base(t.Roots[t.root[i]])
}

// Unique is the name of file i in manifests, where what follows must be of this file alone:
// with its number where files of other roots before it have the same name.
func (t *Table) Unique(i int) string {
	if n := t.twin(uint32(i)); n > 0 {
		return fmt.Sprintf("%s (file %d of this name)", t.Name(i), n+1)
	}
	return t.Name(i)
}

// Shown is what errors call file i: its name, or where there are several roots, in which
// names may be alike, its path as the user gave it.
func (t *Table) Shown(i int) string {
	if len(t.Roots) > 1 {
		return t.Path(i)
	}
	return t.Name(i)
}

// Locate has an error that calls a file by its name below the only root name its path, as
// the user gave it.
func (t *Table) Locate(err error) error {
	if s, ok := err.(*Skippable); ok {
		return &Skippable{Err: t.Locate(s.Err)}
	}
	e, ok := err.(*shardify.Error)
	if !ok || len(t.Roots) != 1 || e.File == "" {
		return err
	}
	for i := range t.Len() {
		if string(t.NameBytes(i)) == e.File {
			return t.LocateIn(err, i)
		}
	}
	return err
}

// LocateIn is Locate for an error about file i, if it is about any.
func (t *Table) LocateIn(err error, i int) error {
	if e, ok := err.(*shardify.Error); ok && len(t.Roots) == 1 && i < t.Len() && e.File != "" && e.File == string(t.NameBytes(i)) {
		return shardify.Amend(err, func(e *shardify.Error) { e.File = t.Path(i) })
	}
	return err
}

// NameBytes is the stored name of file i, not to be changed: empty when the root
// is the file itself.
func (t *Table) NameBytes(i int) []byte {
	lo := int64(0)
	if i > 0 {
		lo = t.ends[i-1]
	}
	return t.names[lo:t.ends[i]:t.ends[i]]
}

// Path is where to open file i.
func (t *Table) Path(i int) string {
	n := t.NameBytes(i)
	switch r := t.Roots[t.root[i]]; {
	case len(n) == 0:
		return r
	case r == "":
		return string(n)
	default:
		return storage.Join(r, string(n))
	}
}

// Root is the index of file i's root.
func (t *Table) Root(i int) int { return int(t.root[i]) }

// Size is the size in bytes of file i, or SizeUnknown.
func (t *Table) Size(i int) int64 { return t.size[i] }

// ModTime is the modification time of file i in nanoseconds since 1970.
func (t *Table) ModTime(i int) int64 { return t.mtime[i] }

// Bytes is the sum of the known sizes.
func (t *Table) Bytes() int64 {
	var n int64
	for _, s := range t.size {
		n += max(s, 0)
	}
	return n
}

// Validate checks indexes after decoding a table from a plan.
func (t *Table) Validate() error {
	n := len(t.ends)
	if len(t.root) != n || len(t.size) != n || len(t.mtime) != n {
		return fmt.Errorf("input table: lists of %d, %d, %d and %d entries: %w", n, len(t.root), len(t.size), len(t.mtime), shardify.ErrCorrupt)
	}
	prev := int64(0)
	for i, e := range t.ends {
		if e < prev || e > int64(len(t.names)) || int(t.root[i]) >= len(t.Roots) {
			return fmt.Errorf("input table: entry %d: %w", i, shardify.ErrCorrupt)
		}
		prev = e
	}
	return nil
}

// SizeUnknown is the Size of a file that was not looked at.
const SizeUnknown = -1

// CommonPrefix is the number of bytes that two names begin with alike.
func CommonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Paths are the paths of all inputs, in order.
func (t *Table) Paths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < t.Len() && yield(t.Path(i)); i++ {
		}
	}
}
