package tree

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/internal/grid"
)

// Object is a data set found in a file, with what the choice of samples needs.
type Object struct {
	Path      string // absolute
	As        string // of a split: path without the split's name, which its fields have
	Addr      int64
	Dims      []int64
	Unlimited []bool // by dimension
	Elem      int64
	Bytes     int64 // decoded
	Unit      int64 // rows that are decoded together; 1 if any can be read
	Chunk     int64 // decoded bytes of a chunk that has filters; else 0
	ChunkRows int64 // rows of a chunk, 0 without chunks
	Wanted    []Wanted
	Of        string       // the data set whose bounds it holds, and whose units it has
	Axes      []Axis       // nil where none is named
	Scale     bool         // a dimension scale: coordinates of others
	Void      bool         // a single value of opaque bytes
	Wide      bool         // a block of a pandas frame: leaves are of whole rows
	Hidden    bool         // a sample of which nothing is wanted but that it is there
	matlab    bool         // an array of MATLAB
	text      bool         // the same, of characters
	chars     bool         // characters, of which those along the last dimension may be texts
	How       *array.Order // in which order its axes are read; nil as stored
	stored    *Object      // itself, before they were turned
	part      string       // what it is a part of, if it is no column where rows are samples
	Picks     []grid.Pick  // what is taken of each dimension; nil without a selection

	// Of a folded tree: the sparse matrix that it is a part of, and why it is no column.
	Matrix *column.Matrix
	Lists  *column.Lists
	Note   string
}

// Wanted is a leaf of a data set that is to be read.
type Wanted struct {
	Index int // in the type's leaves
	Leaf  element.Leaf
	Exact bool // asked for by name
}

// Tree is what a scan found.
type Tree struct {
	All     *Tree // of all data sets, where these are some of them and samples are chunks
	File    *column.File
	Want    *columns.Wanted
	Kind    convention
	Objects []Object          // sorted by path
	Some    bool              // they are those that --columns wants
	Left    []format.Leftover // what is not delivered
	refs    []Reference       // external links

	Lists     map[string]*column.Lists // by data set of flat values
	listNotes map[string]string        // why offsets are no columns
	ListErr   error                    // they contradict themselves
	Frames    map[string]bool          // pandas' groups; true of fixed frames
	Dims      dimensions
	Sparse    map[string]*column.Matrix // by the path of its group
	Coords    grid.Memo[int64]          // by the address of the first scale

	categories map[string]string // of AnnData: where the names are that a data set's codes stand for
}

// Samples is what is known of the samples while a file is scanned: nothing before the choice is made.
type Samples struct {
	Mode   Mode
	Parent string            // of groups: the group that holds them
	Stem   string            // and what their names begin with, in as many parts
	Types  map[string]string // of data sets: those of a group have this type
}

// Why says why a data set is no column where rows are samples, "" if it may be one.
func (o *Object) Why() string { return cmp.Or(o.Note, o.part) }

// ItemType is what data sets that are samples have in common; "" for what cannot be one.
func (o *Object) ItemType() string {
	if len(o.Wanted) == 0 || o.Note != "" || o.Matrix != nil {
		return ""
	}
	if o.Void {
		return "opaque"
	}
	text := fmt.Sprint(len(o.Dims))
	for i := range o.Wanted {
		f, err := o.Wanted[i].Leaf.Field("x", nil)
		text += fmt.Sprint(" ", o.Wanted[i].Leaf.Name, f.DType, f.Levels, f.Shape, err != nil)
	}
	return text
}

// ItemName is the field's name of a group of data sets.
func ItemName(parent string) string { return cmp.Or(strings.TrimPrefix(parent, "/"), "data") }

// Only is the tree of the data sets that the globs want.
func (t *Tree) Only(globs []string) *Tree {
	sub := *t
	sub.Objects, sub.Some = nil, true
	want, err := columns.New(globs)
	if err != nil {
		return &sub
	}
	for _, o := range t.Objects {
		for _, w := range o.Wanted {
			if hit, _ := want.Match(o.ways(w.Leaf.Name)...); hit {
				sub.Objects = append(sub.Objects, o)
				break
			}
		}
	}
	return &sub
}

// Match has all fields of the tree be wanted, as those of a scan are.
func (t *Tree) Match(want *columns.Wanted) {
	for i := range t.Objects {
		for _, w := range t.Objects[i].Wanted {
			want.Match(t.Objects[i].ways(w.Leaf.Name)...)
		}
	}
}

// ways are those in which users may write a field of a data set.
func (o *Object) ways(leaf string) []string {
	out := naming.Ways(o.Path, leaf)
	if o.Wide {
		out = append(out, naming.Ways(naming.Group(o.Path), leaf)...)
	}
	return out
}
