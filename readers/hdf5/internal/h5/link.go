package h5

// linkKind says what a link leads to.
type linkKind uint8

// Kinds of links.
const (
	HardLink     linkKind = 0
	SoftLink     linkKind = 1
	ExternalLink linkKind = 64
	// Kinds above ExternalLink are user-defined: listed, never followed.
)

// Link is one entry of a group.
type Link struct {
	Name   string
	Kind   linkKind
	Addr   int64  // HardLink: the object's header, which is its identity
	File   string // ExternalLink: the other file, as stored
	Target string // SoftLink, ExternalLink: a path; relative ones start at the group
	Err    error  // this entry is damaged; the others are not
}

// found is the end of a path.
type found struct {
	Path string // absolute, without . and soft links
	Addr int64  // object header; Undefined when the path leaves the file
	// The path leaves the file at an external link: Target is a path in File,
	// what was left of the path after the link appended.
	External     bool
	File, Target string
}

// maxHops bounds the soft links followed for one path.
const maxHops = 40
