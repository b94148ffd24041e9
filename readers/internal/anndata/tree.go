package anndata

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Tree is an open input as groups and arrays. Paths have no slash in front; "" is the root. Members
// of a compound type are arrays below the path of theirs.
type Tree interface {
	// Members are the names in a group, sorted; ok is false of what is no group.
	Members(group string) (names []string, ok bool)
	// Attr is an attribute: texts, or what JSON has.
	Attr(path, name string) (value any, ok bool)
	// Damage is why an attribute that was asked for could not be read.
	Damage() error
	// Array describes the array at a path, nil if the path is of no array.
	Array(path string) (*Array, error)
	// Missing says which chunks of an array are not there, though others are or there are several.
	Missing(ctx context.Context, path string) (string, error)
	// Reader makes a Reader for one goroutine.
	Reader() Reader
	Size() int64
	Close() error
}

// Array is an array of a tree.
type Array struct {
	Shape []int64
	DType shardify.DType // of numbers
	Text  bool
	Unit  int64 // rows that are decoded together, 1 if any can be read
}

// Reader reads rows of arrays. What it keeps between spans counts as the memory of the arena.
type Reader interface {
	Begin(ctx context.Context, mem *shardify.Arena) error
	End(ctx context.Context) error
	// Numbers fills dst with rows [lo, hi), in the array's type.
	Numbers(ctx context.Context, path string, lo, hi int64, dst []byte) error
	// Texts gives rows [lo, hi) and where each ends; both are valid until the next call.
	Texts(ctx context.Context, path string, lo, hi int64) (data []byte, ends []int64, err error)
	Close()
}

// Lister is a Tree whose X, of the encoding-type Listed, has its values in any order. Files that are no
// AnnData have such.
type Lister interface{ List() List }

// Listed is no encoding-type of AnnData.
const Listed = "list"

// List is a sparse matrix as its values.
type List struct {
	Rows, Columns, Values int64
	DType                 shardify.DType
	Each                  func(ctx context.Context, add Add) error // as many as there are Values
}

// Container is a format whose files may be AnnData.
type Container struct {
	Name string // in errors: "HDF5"
	Key  string // of all settings of the container
	// Open takes over an open file.
	Open func(ctx context.Context, path string, f storage.File) (Tree, error)
	// Objects are the globs of --object: of arrays and groups to read, or the one group that is
	// the AnnData.
	Objects []string
	// Filled: missing chunks are their fill value, whatever the array.
	Filled bool
	Media  string // of texts

	transpose bool // matrices by columns
	union     bool // categories of several inputs have one table
}

// Root is the group of a tree that is an AnnData: the one that --object names, or the whole.
func Root(t Tree, objects []string) (root string, ok bool) {
	if len(objects) == 1 && !strings.ContainsAny(objects[0], "*?[\\") {
		if root = strings.Trim(objects[0], "/"); is(t, root) || layoutOf(t, root) != none {
			return root, true
		}
	}
	return "", is(t, "") || layoutOf(t, "") != none
}

// wants reports whether --object wants an array or a group, or what is in it.
func (m *model) wants(p string) bool {
	if len(m.c.Objects) == 0 || m.root != "" {
		return true
	}
	parts := strings.Split(p, "/")
	for _, object := range m.c.Objects {
		globs := strings.Split(strings.Trim(object, "/"), "/")
		ok := true
		for i := range min(len(globs), len(parts)) {
			hit, _ := path.Match(globs[i], parts[i])
			ok = ok && (hit || globs[i] == parts[i] || globs[i] == "")
		}
		if ok && (len(globs) <= len(parts) || m.isFrame(p)) {
			m.used.MarkPart("object", object)
			return true
		}
	}
	return false
}

// isFrame reports whether a path is of a frame, whose columns are wanted one by one.
func (m *model) isFrame(p string) bool { return text(m.tree, m.at(p), "encoding-type") == "dataframe" }

// is reports whether a group is an AnnData, or one of several modalities or parts.
func is(t Tree, root string) bool {
	switch enc := text(t, root, "encoding-type"); enc {
	case encAnnData, encMuData, encCollection:
		return true
	case "":
	default:
		return false
	}
	old := func(name string) bool {
		p := join(root, name)
		a, err := t.Array(p + "/index")
		return text(t, p, "encoding-type") == "dataframe" || err == nil && a != nil && a.Text && len(a.Shape) == 1
	}
	return old("obs") && old("var")
}

const (
	encAnnData    = "anndata"
	encMuData     = "MuData"
	encCollection = "annbatch-preshuffled"
)

// text is an attribute of one text, or "".
func text(t Tree, path, name string) string {
	if list, ok := attr(t, path, name); ok && len(list) == 1 {
		return list[0]
	}
	return ""
}

// attr is an attribute as texts: one, or those of a list.
func attr(t Tree, path, name string) (texts []string, ok bool) {
	v, ok := t.Attr(path, name)
	if texts, known := v.([]string); known {
		return texts, ok
	}
	list, several := v.([]any)
	if !several {
		list = []any{v}
	}
	for _, x := range list {
		switch x := x.(type) {
		case string:
			texts = append(texts, x)
		case json.Number:
			texts = append(texts, x.String())
		case bool:
			texts = append(texts, strconv.FormatBool(x))
		default:
			return nil, false
		}
	}
	return texts, ok
}

// join joins paths.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}

// whole are the values of an attribute of whole numbers; nil of any other.
func whole(t Tree, path, name string) (out []int64) {
	list, _ := attr(t, path, name)
	for _, s := range list {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func has(t Tree, group, name string) bool {
	names, _ := t.Members(group)
	_, ok := slices.BinarySearch(names, name)
	return ok
}
