package survey

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// Format is what the package must know of a format.
type Format struct {
	Name string // in errors: "HDF5"
	// Look surveys one file, with metadata and coordinates alone. It reports the fields that want
	// has, and no others; what has no form that is read goes to Facts.Left, what is
	// damaged to Facts.Damaged. An error means that the file is bad: all bad files are
	// gathered in one error. Look is called from several goroutines. rows.OpenFile opens
	// path with the checks it deserves.
	Look func(ctx context.Context, path string, want *columns.Wanted) (*Facts, error)
	// Oversize is how many targets a unit between two borders may be long before it
	// is cut inside; 0 means 4.
	Oversize int
	// Ragged: fields that are fixed in every file but differ in shape become Ragged
	// fields with a companion for the shape (a file, or a group, is one sample).
	Ragged bool
	// Key is all that the facts depend on beside the files: the format's options as
	// text, the version of its blobs. A state made with another key is refused.
	Key string
	// Beside are fields that the format may add to those of the files. They may be the only ones.
	Beside []string
	// Channels are fields that are made of those of the files; nil without.
	Channels *grid.Channels
}

// Facts is what a format's survey says about one file. It belongs to the package
// after Look has returned it.
type Facts struct {
	Samples int64
	// Size of the file in bytes: set.Handles refuses a file that has another one later.
	Size int64
	// Fields that the file can deliver, by names unique in the file. Their order in
	// the first file is the order of the schema; their index is what set.Input.Field
	// gives back. (The schema has the field's name, too: a reader may go by it.)
	// The companion of a Ragged field comes with it, asked for or not.
	Fields []Field
	// Coords are the coordinates of their dimensions, where there are several files.
	Coords  []Coord
	Borders set.Borders
	// Left names fields that were wanted and are left out, and why: they have no form
	// that is read (Leftover.Unreadable), or are not columns of the samples. Where other
	// files deliver such a field, it is an error. Damage is not a reason to be here.
	Left []format.Leftover
	// Damaged is what was wanted and contradicts its format. It ends the survey, unless
	// damaged inputs are to be skipped.
	Damaged []Damage
	// Skipped are records that the file's readers leave out since they are damaged: they are
	// listed, Input is not set.
	Skipped []format.Skip
	// Void names wanted fields that the file has without a type, as it holds nothing but
	// missing values of them. Where other files have values, they are missing in this one;
	// where none has, they are left out.
	Void []string
	// Blob is handed back in Input. Equal blobs are kept once, so that it should hold
	// what is true of many files (the path of the tree, choices made), and leave to
	// the reader what it finds at once when it opens the file.
	Blob []byte
	// Lines describe the file; those of the first one are kept. Further are more of them, which take time; it may be nil.
	Lines   []string
	Further func() []string
	// Remark is reported once for all files that share it, with their number and their samples.
	Remark string
	// Piece is the largest part of the file that is decoded whole, and PieceBytes what it
	// takes decoded; empty where that is little.
	Piece      string
	PieceBytes int64
	// Part names the split that the samples belong to, where one file holds several, and
	// More are the facts about the others, in the order of their samples. They are compared
	// as different files are. Only what is said here about fields, borders and Blob counts
	// of More.
	Part string
	More []*Facts
	// Within: the file is a part of the sample of another one, and has no samples of its own. The rest
	// is not looked at.
	Within bool
	// Foreign, if set, says why the file is not of the format at all: it is left out and
	// counted. The rest is not looked at.
	Foreign string
}

// Damage is a part of a file that contradicts its format.
type Damage struct {
	Object string // field, branch or group
	// Lo, Hi are the samples that cannot be read for it: the format's readers refuse
	// them, and no others. Where they are equal, it is all of the file's.
	Lo, Hi int64
	Err    error // says at which byte
}

// Field is a field of one file.
type Field struct {
	shardify.Field
	// Bytes is the size of the field's data in the whole file, decoded, an estimate.
	// Only jagged fields need it: elements, and the inner offsets of two levels.
	Bytes int64
	// LengthClass is equal for fields whose lists are equally long in every sample of the file, as
	// far as its survey knows, though they have counters of their own; "" for other fields.
	// Fields of one class in all files get one counter. Readers must compare the lengths.
	LengthClass string
}
