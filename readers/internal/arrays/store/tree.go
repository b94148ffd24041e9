package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/storage"
)

const (
	maxArrays = 1 << 20
	maxDepth  = 64

	// oldCategories is a group of AnnData before 0.8; other names like it are reserved.
	oldCategories = "__categories"
)

// Array is an array of a store.
type Array struct {
	Path string // below the root; "" is the root itself
	*node.Array
	Attributes map[string]any
	Notes      []string
	Format     int
	Digest     uint64 // of the metadata
	Err        error  // why it cannot be read
	Grows      bool   // along its first dimension
	Layout     string // in words, where it has no chunks
}

// Tree is the arrays of a store.
type Tree struct {
	Files  Files
	Arrays []Array                   // by path
	Groups map[string]map[string]any // attributes, by path
	Notes  []string
	Left   []format.Leftover // what is no array, and could be
	Listed bool              // its folders can be listed
	Whole  bool              // it has all chunks
	// Foreign are the files of an archive that belong to no array and no group.
	Foreign []string

	copies  map[string][]byte // consolidated metadata, by file
	copied  string            // the file that has them
	nodes   map[string]*meta  // the same, by node
	in      func(path string) bool
	through func(path string) bool
	known   *Known
}

// Choice says which arrays are wanted; nil takes all.
type Choice struct {
	In      func(path string) bool // an array; nil: any
	Through func(path string) bool // a group that may hold some; nil: any
	Literal []string               // the only paths there are, if they are no patterns
	Known   *Known
}

// Wants reports whether an array is wanted.
func (c *Choice) Wants(path string) bool { return c == nil || c.In == nil || c.In(path) }

// Scan finds the arrays of a store.
func Scan(ctx context.Context, f Files, c *Choice) (*Tree, error) {
	all := func(string) bool { return true }
	t := &Tree{Files: f, Groups: map[string]map[string]any{}, in: all, through: all}
	if c != nil && c.In != nil {
		t.in, t.through = c.In, c.Through
	}
	if c != nil {
		t.known = c.Known
	}
	if err := t.consolidated(ctx); err != nil {
		return nil, err
	}
	var err error
	switch {
	case t.farCopies(): // each file of metadata would be a request
		err = t.fromCopies()
	default:
		err = t.walk(ctx, "", 0, 0)
		if t.Listed = err == nil; errors.Is(err, errors.ErrUnsupported) && c != nil && len(c.Literal) > 0 {
			err = t.literal(ctx, c.Literal)
		} else if errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, shardify.ErrUnsupported) {
			err = fmt.Errorf("%w: the store's folders cannot be listed, and it has no consolidated metadata: name an array, as STORE:PATH", err)
		}
	}
	if err != nil {
		return nil, err
	}
	t.stale()
	slices.SortFunc(t.Arrays, func(a, b Array) int { return strings.Compare(a.Path, b.Path) })
	t.Notes = append(t.Notes, f.Notes()...)
	if a, ok := f.(*archive); ok {
		t.Left = append(t.Left, a.Strays()...)
		if t.Foreign, err = t.foreign(ctx, a); err == nil && len(t.Foreign) > 0 {
			err = a.CheckNames()
		}
	}
	return t, err
}

// Reopen is a tree of the arrays with these paths alone, by the rules of Scan.
func Reopen(ctx context.Context, f Files, paths []string) (*Tree, error) {
	t := &Tree{Files: f, Groups: map[string]map[string]any{}}
	if err := t.consolidated(ctx); err != nil {
		return nil, err
	}
	if err := t.literal(ctx, paths); err != nil {
		return nil, err
	}
	if len(t.Arrays) != len(paths) {
		return nil, fmt.Errorf("%w: an array has become a group", shardify.ErrChanged)
	}
	return t, nil
}

// farCopies reports whether the metadata are consolidated ones, since each file would be a request.
func (t *Tree) farCopies() bool { return t.Files.Far() && t.copies != nil }

// literal reads the metadata of these paths.
func (t *Tree) literal(ctx context.Context, paths []string) error {
	for _, p := range paths {
		if err := node.CheckName(p); err != nil {
			return err
		}
		m := &meta{}
		for _, name := range []string{v3Name, arrayName, attrsName} {
			b, err := t.file(ctx, join(p, name), t.farCopies())
			if err != nil {
				return err
			}
			if m.set(name, b); name == v3Name && b != nil {
				break
			}
		}
		if m.v3 == nil && m.array == nil { // consolidated alone
			for _, name := range []string{v3Name, arrayName, attrsName} {
				m.set(name, t.copies[join(p, name)])
			}
		}
		if m.v3 == nil && m.array == nil {
			return shardify.Corrupt(-1, "there is no array %q", p)
		}
		if _, err := t.add(p, m); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) file(ctx context.Context, name string, far bool) ([]byte, error) {
	if far {
		return t.copies[name], nil
	}
	return read(ctx, t.Files, name, node.MaxJSON)
}

// The files of metadata.
const (
	v3Name    = "zarr.json"
	arrayName = ".zarray"
	groupName = ".zgroup"
	attrsName = ".zattrs"
	allName   = ".zmetadata"
)

// meta is the metadata of one node.
type meta struct{ v3, array, group, attrs []byte }

func (m *meta) set(name string, b []byte) {
	switch name {
	case v3Name:
		m.v3 = b
	case arrayName:
		m.array = b
	case groupName:
		m.group = b
	case attrsName:
		m.attrs = b
	}
}

// consolidated reads the copies of metadata that the root has.
func (t *Tree) consolidated(ctx context.Context) error {
	root, err := read(ctx, t.Files, v3Name, node.MaxJSON)
	if err != nil {
		return err
	}
	if root != nil {
		var x struct {
			All *struct {
				Metadata map[string]json.RawMessage `json:"metadata"`
			} `json:"consolidated_metadata"`
		}
		if json.Unmarshal(root, &x) == nil && x.All != nil && len(x.All.Metadata) > 0 {
			t.copied, t.copies = v3Name, map[string][]byte{v3Name: root}
			for p, b := range x.All.Metadata {
				t.copies[join(p, v3Name)] = b
			}
		}
		return t.checkCopies()
	}
	b, err := read(ctx, t.Files, allName, node.MaxJSON)
	if err != nil || b == nil {
		return err
	}
	var x struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(b, &x); err != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("%s is not read: %v", allName, err))
		return nil
	}
	t.copied, t.copies = allName, map[string][]byte{}
	for p, b := range x.Metadata {
		t.copies[p] = b
	}
	return t.checkCopies()
}

// checkCopies drops the copies whose names lead out of the store.
func (t *Tree) checkCopies() error {
	var bad []string
	for name := range t.copies {
		if err := node.CheckName(name); err != nil || path.Clean(name) != name || strings.Count(name, "/") > maxDepth {
			bad = append(bad, name)
			delete(t.copies, name)
		}
	}
	slices.Sort(bad)
	for _, name := range bad {
		t.Left = append(t.Left, format.Leftover{Name: name, Reason: "its name leads out of the store"})
	}
	return nil
}

// paths are the nodes that the copies are of.
func (t *Tree) paths() map[string]*meta {
	if t.nodes != nil {
		return t.nodes
	}
	out := map[string]*meta{}
	t.nodes = out
	for name, b := range t.copies {
		p, base := path.Split(name)
		p = strings.TrimSuffix(p, "/")
		if out[p] == nil {
			out[p] = &meta{}
		}
		out[p].set(base, b)
	}
	return out
}

// fromCopies takes consolidated metadata for the store's.
func (t *Tree) fromCopies() error {
	all := t.paths()
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if _, err := t.add(p, all[p]); err != nil {
			return err
		}
	}
	return nil
}

// walk visits a folder and what is below it. above is the format of the group it is in.
func (t *Tree) walk(ctx context.Context, p string, depth, above int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if depth > maxDepth {
		t.left(p, fmt.Sprintf("groups more than %d deep", maxDepth))
		return nil
	}
	m := &meta{}
	if depth == 0 && t.Files.Far() { // who may read a folder may perhaps not list it
		done, err := t.root(ctx, m)
		if err != nil || done {
			return err
		}
	}
	entries, err := t.Files.List(ctx, p)
	if err != nil {
		return err
	}
	if broken, err := t.metaOf(ctx, p, entries, m); err != nil || broken {
		return err
	}
	if m.v3 != nil && m.v2() {
		t.Notes = append(t.Notes, fmt.Sprintf("%s has metadata of both formats: format 3 is read", shown(p)))
	}
	if c := t.paths()[p]; c != nil && !m.some() { // consolidated alone
		if m = c; p != "" || m.array != nil || m.v3 != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("%s has its metadata in %s alone", shown(p), t.copied))
		}
	}
	kind := above
	switch {
	case m.v3 != nil:
		kind = 3
	case m.v2():
		kind = 2
	case above == 3: // no node
		return nil
	}
	if m.some() {
		array, err := t.add(p, m)
		if err != nil || array {
			return err
		}
	}
	for _, e := range entries {
		at := join(p, e.Name)
		switch {
		case reserved(e.Name):
		case e.Type == storage.Link:
			t.left(at, "a link, which is not followed")
		case e.Type == storage.Folder && t.through(at):
			if err := t.walk(ctx, at, depth+1, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// reserved reports whether a name is not that of an array or a group.
func reserved(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "__") && name != oldCategories
}

// some reports whether there are metadata of any format.
func (m *meta) some() bool { return m.v3 != nil || m.v2() }

// v2 reports whether there are metadata of format 2.
func (m *meta) v2() bool { return m.array != nil || m.group != nil }

// metaOf reads the files of metadata that a folder has. It reports damage, for which the folder
// is an array that cannot be read.
func (t *Tree) metaOf(ctx context.Context, p string, entries []storage.Entry, m *meta) (broken bool, err error) {
	for _, e := range entries {
		switch e.Name {
		case v3Name, arrayName, groupName, attrsName:
			if e.Type == storage.Folder {
				continue
			}
			b, err := read(ctx, t.Files, join(p, e.Name), node.MaxJSON)
			if err != nil {
				if ctx.Err() != nil || !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, storage.ErrOutside) && !errors.Is(err, storage.ErrNotFile) {
					return false, err
				}
				t.Arrays = append(t.Arrays, Array{Path: p, Err: err})
				return true, nil
			}
			m.set(e.Name, b)
		}
	}
	return false, nil
}

// root reads the metadata of a root without a listing, and reports whether it is an array.
func (t *Tree) root(ctx context.Context, m *meta) (array bool, err error) {
	for _, name := range []string{v3Name, arrayName, attrsName} {
		b, err := read(ctx, t.Files, name, node.MaxJSON)
		if err != nil {
			return false, err
		}
		if m.set(name, b); name == v3Name && b != nil {
			break
		}
	}
	if m.v3 == nil && m.array == nil {
		return false, nil
	}
	return t.add("", m)
}

func (t *Tree) left(p, why string) {
	t.Left = append(t.Left, format.Leftover{Name: p, Reason: why})
}

func shown(p string) string {
	if p == "" {
		return "the root"
	}
	return p
}

// parse reads the metadata of a node; Array.Array is nil of a group.
func parse(m *meta) (Array, error) {
	a := Array{Format: 2, Digest: m.digest()}
	var n *node.Node
	var err error
	if m.v3 != nil {
		a.Format = 3
		n, err = node.Parse3(m.v3)
	} else {
		n, err = node.Parse2(m.array, m.group, m.attrs)
	}
	if n != nil {
		a.Array, a.Attributes, a.Notes = n.Array, n.Attributes, n.Notes
	}
	return a, err
}

// digest is that of an array.
func (m *meta) digest() uint64 {
	h := fnv.New64a()
	if m.v3 != nil {
		h.Write(compact(m.v3))
	} else {
		h.Write(compact(m.array))
		h.Write(compact(m.attrs))
	}
	return h.Sum64()
}

// compact is JSON without blanks: a consolidated copy is as good as the original.
func compact(p []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, p) != nil {
		return p
	}
	return b.Bytes()
}

// add reads the metadata of a node, and reports whether it is an array.
func (t *Tree) add(p string, m *meta) (array bool, err error) {
	if m.v3 == nil && m.array == nil && m.group == nil {
		return false, nil
	}
	a, err := t.known.parse(m)
	a.Path, a.Err = p, err
	switch {
	case err == nil && a.Array == nil:
		t.Groups[p] = a.Attributes
		return false, nil
	case p == "" && m.array == nil && err != nil:
		return true, err // what is below is not known
	case t.in != nil && !t.in(p):
		return true, nil
	case len(t.Arrays) >= maxArrays:
		return true, shardify.Unsupported("more than %d arrays", maxArrays)
	}
	t.Arrays = append(t.Arrays, a)
	return true, nil
}

// stale compares consolidated metadata with what the walk has found.
func (t *Tree) stale() {
	if t.copies == nil || t.Files.Far() {
		return
	}
	all := t.paths()
	var old, missing, gone []string
	found := map[string]bool{}
	for i := range t.Arrays {
		a := &t.Arrays[i]
		found[a.Path] = true
		c := all[a.Path]
		if c == nil || c.array == nil && c.v3 == nil {
			missing = append(missing, a.Path)
		} else if a.Err == nil && c.digest() != a.Digest {
			old = append(old, a.Path)
		}
	}
	for p, m := range all {
		if (m.array != nil || m.v3 != nil) && !found[p] && t.in(p) {
			if x, err := t.known.parse(m); err != nil || x.Array != nil {
				gone = append(gone, p)
			}
		}
	}
	slices.Sort(gone)
	for _, x := range []struct {
		list []string
		what string
	}{{old, "says other things of"}, {missing, "does not know"}, {gone, "has arrays that are not there:"}} {
		if len(x.list) > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is out of date, it %s %s; the arrays' own metadata count", t.copied, x.what, strings.Join(x.list[:min(len(x.list), 8)], ", ")))
		}
	}
}
