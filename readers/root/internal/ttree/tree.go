package ttree

import (
	"sync"

	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// Tree is the metadata of a tree.
type Tree struct {
	Path    string // in the file
	Class   string // TTree, TNtuple or TNtupleD
	Name    string
	Title   string
	Version int
	// Entries is the tree's own count; branches have theirs.
	Entries            int64
	TotBytes, ZipBytes int64
	Branches           []*Branch // of the top level, in file order
	All                []*Branch // with sub-branches, parents first, in file order
	Clusters           clusterRanges
	Aliases            []alias
	Friends            []friend
	// Problem is damage that may hide branches; nil if the list is whole.
	Problem error

	byDotted map[string]*Branch
	byOther  map[string]*Branch // by path and name
	others   sync.Once          // makes byOther
}

// alias is a name for an expression.
type alias struct{ Name, Expr string }

// friend is a tree to be read beside this one.
type friend struct {
	Alias string
	File  string // empty: the same file
	Tree  string
}

// branch is a branch and the table of its baskets.
type Branch struct {
	Tree  *Tree
	Index int    // in Tree.All
	Class string // TBranch, TBranchElement, TBranchObject ...
	Name  string
	Title string
	// Path is the names from the top level on, joined by slashes. Dotted is a
	// unique name in ROOT's way: "evt.Beg", "Muon.pt"; a name that was there
	// before gets a "#2".
	Path, Dotted string
	Parent       *Branch
	Children     []*Branch
	Leaves       []*Leaf
	Version      int // of TBranch

	Compress       int // 100*algorithm + level; a hint
	EntryOffsetLen int // a hint
	SplitLevel     int
	IOBits         uint8
	// First and End bound the entries: [First, End). Below First the branch did
	// not exist.
	First, End         int64
	TotBytes, ZipBytes int64
	// FileName is the file with the baskets, relative to this one; empty: this one.
	// Branches with another file have an Err.
	FileName string
	Baskets  Baskets

	// The rest is of TBranchElement; TBranchObject has ClassName.
	ClassName    string // class whose member this is, or the class of the object
	ParentName   string
	ClonesName   string // class in the TClonesArray
	CheckSum     uint32
	ClassVersion int
	ID           int // number of the member in the class's streamer info; -1 object, -2 group
	Type         int // fType: 0 leaf, 1 base, 2 object, 3 clones, 31 in clones, 4 collection, 41 in collection
	StreamerType int // code of the member, as in streamer infos; -1 unknown
	Counter      *Branch
	Counter2     *Branch

	placed bool // is in Tree.All

	// Err is why this branch cannot be read; nil if it can.
	Err error
}

// IsElement reports whether the fields of TBranchElement are set.
func (b *Branch) IsElement() bool { return b.Class == "TBranchElement" }

// Entries is the number of entries.
func (b *Branch) Entries() int64 { return b.End - b.First }

// Leaf is one value, or array of values, in the entries of a branch.
type Leaf struct {
	Class      string // TLeafI ...
	Name       string
	Title      string // with dimensions: "a[n][3]"
	Len        int    // product of the constant dimensions; at least 1
	LenType    int    // bytes of a value in memory
	IsUnsigned bool
	Virtual    bool // of a TLeafObject: entries begin with the name of their class
	IsRange    bool
	// Count is the leaf with the number of values; nil if that is constant.
	Count  *Leaf
	Branch *Branch // nil if no branch lists the leaf
	// ID and Type are of TLeafElement.
	ID, Type int
	// Min and Max seen by the writer, where the class has integer ones: a hint.
	Min, Max int64
}

// Baskets is the table of a branch's baskets. Those without entries are left out.
type Baskets struct {
	Seek  []int64 // byte of the record in the file; 0 if embedded
	Bytes []int32 // of the record; 0 if embedded
	// First has one more item than there are baskets: basket i holds the entries
	// [First[i], First[i+1]).
	First []int64
	// Embedded is nil, or has an item per basket, nil for those with a record.
	Embedded []*embedded
}

// Len is the number of baskets.
func (b *Baskets) Len() int { return len(b.Seek) }

// IsEmbedded reports whether basket i is in the tree's record.
func (b *Baskets) IsEmbedded(i int) bool { return b.Embedded != nil && b.Embedded[i] != nil }

// Read reads the metadata of a tree.
func Read(f *rfile.File, o rfile.Object) (*Tree, error) { return read(f, o) }

// branch returns the branch with a dotted name, a path or, if only one has it, a name; or
// nil.
func (t *Tree) branch(name string) *Branch {
	if b := t.byDotted[name]; b != nil {
		return b
	}
	t.others.Do(t.otherNames)
	return t.byOther[name]
}
