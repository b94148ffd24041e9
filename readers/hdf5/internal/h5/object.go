package h5

// Kind says what an object is.
type Kind uint8

const (
	KindUnknown Kind = iota
	KindGroup
	KindDataset
	KindType // a committed datatype
)

func (k Kind) String() string {
	switch k {
	case KindGroup:
		return "group"
	case KindDataset:
		return "dataset"
	case KindType:
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
	Kind Kind
	msgs []message // views into cached blocks
}

// Object reads the header at an address found in a Link, a Found or a reference.
func (f *File) Object(addr int64, path string) (*Object, error) { return f.object(addr, path) }

// Children returns the links of a group, sorted by the bytes of their names.
// Damage in one part of the group's index gives the links of the other parts and
// an error as well; the caller decides whether the listing will do. The slice may
// be shared with other calls: do not change it.
func (o *Object) Children() ([]Link, error) { return o.children() }

// Child finds one link of a group; ok is false if the group has no such link. It lists the
// group; up to 131,072 links of the last four groups are kept, so a loop over names is
// cheap up to there, and better served by Children beyond.
func (o *Object) Child(name string) (link Link, ok bool, err error) { return o.child(name) }

// Comment returns the object's comment, "" without one.
func (o *Object) Comment() string { return o.comment() }

// Type returns the type of a committed datatype.
func (o *Object) Type() (*Type, error) { return o.namedType() }

// Attributes returns all attributes sorted by the bytes of their names. One that
// is damaged carries its own Err; an error beside the list means that some could
// not even be named.
func (o *Object) Attributes() ([]Attribute, error) { return o.attributes() }

// Attribute finds one attribute; ok is false if the object has no such attribute.
func (o *Object) Attribute(name string) (a Attribute, ok bool, err error) { return o.attribute(name) }

// Attribute is one attribute, its value as stored.
type Attribute struct {
	Name  string
	UTF8  bool // the name's character set
	Type  *Type
	Space Space
	Data  []byte // Space.Elements() x Type.Size bytes; variable-length parts through a Heap
	Err   error
}
