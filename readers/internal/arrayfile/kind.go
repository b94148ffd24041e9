package arrayfile

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Kind is a kind of files that are a header and arrays.
type Kind struct {
	Name  string // of the format: "mrc"
	Title string // the same in errors: "MRC"
	Key   string // changes when what Look says of a file does: "mrc 1"
	Own   []format.Option
	// Look reads the header of a file. It is called for the plan, and again for each open file.
	Look func(f *File, o format.Options) (*Header, error)
	// Groups finds files that are samples together; nil without it, or from it: each file by itself. each
	// calls see with all files that can be opened, several at once; Look is called for the others, too.
	Groups func(ctx context.Context, a *format.OpenArgs, each func(see func(i uint32, f *File)) error) ([]Group, error)
}

// Options are those of the format: its own and those of all kinds.
func (k *Kind) Options() []format.Option {
	return slices.Concat(k.Own, []format.Option{survey.Option, optKey}, labels.Options)
}

// Header is what the header of a file says.
type Header struct {
	// Sections is how many samples are in a file whose sections are samples; 0 where the file is one.
	Sections int64
	Arrays   []Array
	Whole    bool     // nothing follows the values of the last array
	Lines    []string // describe the file
	Remark   string   // is reported once for all files that share it
	// Further are the names of fields that are read where they are asked for, as those of Asked are, and Make makes one of
	// them: headers have many that few files are read for. nil: the file has no more.
	Further func() []string
	Make    func(name string) (Array, bool)
}

// Array is a field, and where its values are.
type Array struct {
	// Field is that of a sample, as it is delivered. A jagged one has Rows elements in the file,
	// which is the sample.
	shardify.Field
	Rows int64
	// Asked: the field is read only where --columns names it. A wildcard does for names that begin with that of the first
	// array and a dot.
	Asked bool
	// Value is the value of all samples of the file. With it nothing below is used.
	Value []byte

	// Samples are in order from the byte At on, in the file or in another one beside it. Each value
	// takes Width bytes, 0 for those of its type.
	At    int64
	In    *File
	Width int
	// Swap is the width of what has its first byte last: 0 or 1 for nothing.
	Swap int
	// Turn: the first index is the fastest. Inner is how many axes at the end are together in an
	// item, such as the colours of a pixel.
	Turn  bool
	Inner int
	// Kernel converts stored values, which are little-endian by then; nil for those that are
	// delivered as they are. It goes from the first to the last one: where they become longer, src may be
	// the end of dst.
	Kernel func(dst, src []byte)
	// Read decodes samples [lo, hi) of values that are not simply in the file.
	Read func(ctx context.Context, lo, hi int64, dst []byte) error

	given string // the name in the file
}

// sampleBytes is what a sample takes in the file.
func (a *Array) sampleBytes() int64 { return a.values() * int64(a.width()) }

// values is how many values a sample has.
func (a *Array) values() int64 {
	n := int64(a.Elem())
	if a.Levels > 0 {
		n *= a.Rows
	}
	return n
}

func (a *Array) width() int {
	if a.Width > 0 {
		return a.Width
	}
	return a.DType.Size()
}
