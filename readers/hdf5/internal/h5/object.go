package h5

import "github.com/shardify/shardify/readers/hdf5/internal/datatype"

// objectKind says what an object is.
type objectKind uint8

// Kinds of objects.
const (
	KindUnknown objectKind = iota
	KindGroup
	KindDataset
	kindType // a committed datatype
)

func (k objectKind) String() string {
	switch k {
	case KindGroup:
		return "group"
	case KindDataset:
		return "dataset"
	case kindType:
		return "datatype"
	}
	return "unknown object"
}

// Object is a header that has been read and verified, its messages not yet. It
// keeps the blocks it was read from alive: use it and let it go.
type Object struct {
	f    *File
	Addr int64  // identity: two paths with one Addr are one object
	Path string // as given to File.Object; for messages
	Kind objectKind
	msgs []message // views into cached blocks
}

// Attribute is one attribute, its value as stored.
type Attribute struct {
	Name  string
	UTF8  bool // the name's character set
	Type  *datatype.Type
	Space datatype.Space
	Data  []byte // Space.Elements() x Type.Size bytes; variable-length parts through a Heap
	Err   error
}
