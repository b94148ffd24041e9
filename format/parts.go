package format

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
)

// Parts is how a format takes a list of inputs in parts: tables of consecutive
// inputs, each with a Source of its own. Samples are numbered over all parts.
type Parts struct {
	// Can reports whether these arguments (without a table) allow parts.
	Can func(a OpenArgs) bool
	// Cutter finds where a part may end. The names come in the order of a walk or,
	// if sorted, in what should be that of their bytes.
	Cutter func(a OpenArgs, sorted bool) Cutter
	Survey func(a OpenArgs) (PartSurvey, error)
}

// ErrNotInParts: the order of the inputs does not allow parts. They are planned in one
// table then.
var ErrNotInParts = errors.New("the inputs of a sample do not follow each other")

// Cutter sees to it that no sample has inputs in two parts.
type Cutter interface {
	// Next takes the next name, a slash path below the only root, and reports whether a
	// part may begin with it. The error may be ErrNotInParts.
	Next(name []byte) (begins bool, err error)
	// Begin says that a part begins with the name that Next took last.
	Begin()
}

// PartSurvey looks at all parts, in order.
type PartSurvey interface {
	// Add looks at the next part. src is good for Spans (numbered from 0) and CheckKeys
	// if Finish says the same layout in the end. Where that is certain not to be, it is
	// nil. It is used until the next Add.
	Add(ctx context.Context, t *Table) (src shardify.Source, layout string, err error)
	// Note takes in what is to be said of part i as src has it, which is from Add or, later,
	// opened with the State.
	Note(i int, src shardify.Source)
	// Notes is what is to be said of all parts together, after Finish.
	Noter
	// Finish returns the State that the source of each part is opened with.
	Finish() (state []byte, layout string, err error)
}
