package look

import (
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/chunks"
	"github.com/shardify/shardify/readers/internal/lists"
)

// Blob is what readers of a file must know from the survey: which data sets and
// leaves its fields are. It says nothing of sizes or places, so that the files of
// a set share one.
type Blob struct {
	Mode   tree.Mode `json:"mode"`
	Parent string    `json:"parent,omitempty"`   // the group that holds sample groups or data sets
	Stem   string    `json:"stem,omitempty"`     // what their names begin with
	Number bool      `json:"numbered,omitempty"` // and then a number
	Why    string    `json:"why"`                // this mode
	// Of groups whose rows are samples: the data set in each that has as many rows.
	Each string `json:"each,omitempty"`
	// Of data sets that are samples: other names in their group Parent, and the data set
	// that lists the names in order.
	Not     []string     `json:"not,omitempty"`
	Order   string       `json:"order,omitempty"`
	Decoded []string     `json:"decoded,omitempty"` // fields that attributes change, in words
	Objects []BlobObject `json:"objects"`
	Chunk   *chunks.Size `json:"chunk,omitempty"` // that makes a sample
}

// shapeLeaf comes in a blob after a leaf of numbers whose shape varies, for the field that
// holds the shape. Texts and lists have none.
const shapeLeaf = -1

// BlobObject is a data set whose leaves are fields, one after the other.
type BlobObject struct {
	Path   string      `json:"path"`   // in a group that is a sample: below it
	Leaves []int       `json:"leaves"` // by their number in the type, or shapeLeaf
	Ragged bool        `json:"ragged,omitempty"`
	Sparse bool        `json:"sparse,omitempty"` // data or indices of a sparse matrix
	Lists  string      `json:"lists,omitempty"`  // where the lists of flat values begin
	By     *lists.Rule `json:"by,omitempty"`     // of --lists, which says so
	Wide   bool        `json:"wide,omitempty"`   // leaves are columns of its rows
	Item   bool        `json:"item,omitempty"`   // Path is a group whose data sets are samples
	Bytes  bool        `json:"bytes,omitempty"`  // the whole of a data set is one value of bytes
	Once   bool        `json:"once,omitempty"`   // one value for all samples of the file, or of their group

	How *array.Order `json:"how,omitempty"` // in which order its axes are read
	column.Decode
}
