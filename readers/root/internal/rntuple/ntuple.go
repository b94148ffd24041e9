package rntuple

import (
	"io"

	"github.com/shardify/shardify"
)

// Ntuple is an RNTuple's metadata, all of it verified. It is not changed after
// Open, and its methods may be called concurrently.
type Ntuple struct {
	Name, Description string
	Writer            string    // "ROOT v6.36.00"
	Version           [4]uint16 // epoch, major, minor, patch
	Entries           int64
	Clusters          []clusterRange
	Fields            []Field // by id
	Top               []int   // ids of the top-level fields, in order
	Columns           []Column
	// Flats are the columns that can be read, in the order of the fields. Their
	// names are unique and valid.
	Flats []flatColumn
	// Unreadable names the rest.
	Unreadable []unreadable

	r       io.ReaderAt
	size    int64
	maxKey  uint64
	slots   []slot
	bySlot  map[place]int
	aliases map[int][]int // field -> physical columns
	foreign map[int]string
}

// fieldRole is the structure of a field.
type fieldRole uint16

// The roles of the format.
const (
	rolePlain fieldRole = iota
	roleCollection
	roleRecord
	roleVariant
	roleStreamer
)

var roles = [...]string{"plain", "collection", "record", "variant", "streamer"}

// String returns the role's name.
func (r fieldRole) String() string {
	if int(r) < len(roles) {
		return roles[r]
	}
	return "unknown"
}

// Field is a node of the type tree.
type Field struct {
	ID, Parent  int // Parent is ID at the top
	Name        string
	TypeName    string // "std::vector<float>"; empty for untyped collections and records
	TypeAlias   string // "Double32_t"
	Description string
	Role        fieldRole
	// ArraySize is the length of a fixed array, whose element is the only child
	// (or the field's own column, for a bitset); 0 for all other fields.
	ArraySize uint64
	// Source is the field that a projected field shows under another name; -1
	// for all others.
	Source   int
	Children []int
	Columns  []int // physical, all representations; empty for projected fields

	version, flags uint32
}

// Column is a physical column.
type Column struct {
	ID, Field int
	Type      colType
	Bits      int
	// Representation counts the alternative forms of one column; in each cluster
	// all but one are suppressed.
	Representation int
	// First is the first element that is stored, of a column that was added after
	// entries had been written; the ones before are zero.
	First    int64
	Deferred bool
	Min, Max float64 // of quantised reals
	place    int     // among the columns of the same field and representation
}

// clusterRange is a range of entries.
type clusterRange struct {
	FirstEntry, Entries int64

	chunks []chunk // by column id; may be shorter than the schema
	pages  []page
}

// chunk is one column in one cluster.
type chunk struct {
	lo, hi     int   // in the cluster's pages
	elements   int64 // stored
	suppressed bool
}

// page is a piece of a chunk.
type page struct {
	offset, size int64 // without the checksum; offset -1: in a place we cannot read
	first        int64 // among the chunk's stored elements
	n            int32
	summed       bool // XXH3-64 follows
}

// flatColumn is a column as shardify knows it. Field is complete: name, type, shape,
// levels, counter, media, nullable.
//
// The name joins the names of the fields with dots. Hidden are the item fields of
// collections, arrays, optionals, atomics and enums ("_0"), and base classes (":_0"),
// except where names would collide. Members of pairs and tuples, and alternatives of
// variants, keep theirs ("_0", "_1").
//
// A level of variable length is a collection, or anything below one whose presence
// varies: an optional and each alternative of a variant are lists of at most one
// item there. Outside of collections they make the field nullable: each alternative
// of a variant is a nullable field, of which at most one is present. A fixed array of
// lists is a level whose lists have the same length.
type flatColumn struct {
	shardify.Field
	FieldID   int    // the leaf
	TypeName  string // of the leaf
	Projected bool   // shows a column that a field of another name holds
	// Deep: there is one level more, the second. Lists: these are the lengths of its lists,
	// for the Deep flat of the same field.
	Deep, Lists bool

	path []step
	leaf leaf
}

// unreadable is a field that has no flat column, and why.
type unreadable struct{ Name, Reason string }

func (c *clusterRange) chunk(column int) chunk {
	if column >= len(c.chunks) {
		return chunk{}
	}
	return c.chunks[column]
}

// disk is the page's bytes in the file.
func (p *page) disk() int64 {
	if p.summed {
		return p.size + sumSize
	}
	return p.size
}

// Stored is the bytes that a column takes in the file.
func (n *Ntuple) Stored(column int) int64 {
	var sum int64
	for i := range n.Clusters {
		c := &n.Clusters[i]
		ch := c.chunk(column)
		for _, p := range c.pages[ch.lo:ch.hi] {
			sum += p.disk()
		}
	}
	return sum
}
