// Package problem has the words in which checks of data sets report: those of package
// verify, and those that each output format brings for its own shards.
package problem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
)

// Level says how expensive a check is.
type Level string

// The levels, from cheap to expensive. Lint is separate: it is for foreign files.
const (
	LevelManifest  Level = "manifest"  // digest, version and sums of shardify.json
	LevelFiles     Level = "files"     // names and sizes
	LevelIndex     Level = "index"     // offset indexes and the files for foreign loaders
	LevelStructure Level = "structure" // headers, shapes, offsets, fillers
	LevelChecksum  Level = "checksum"  // the data
	LevelValues    Level = "values"    // the data against the source
	LevelLint      Level = "lint"
)

// Levels is all of them, in this order.
var Levels = []Level{LevelManifest, LevelFiles, LevelIndex, LevelStructure, LevelChecksum, LevelValues, LevelLint}

// Kinds of problems that a caller may want to distinguish.
const (
	KindMissing        = "missing"
	KindExtra          = "extra"
	KindSize           = "size"
	KindDigest         = "digest"
	KindFormat         = "format"     // bytes against the rules of their format
	KindMismatch       = "mismatch"   // two places say different things
	KindSwapped        = "swapped"    // the content of another shard of this set
	KindUnreadable     = "unreadable" // an I/O error
	KindValue          = "value"
	KindUnfinished     = "unfinished"
	KindUnacknowledged = "unacknowledged" // a shard without a receipt; a note
	KindLoader         = "loader"         // lint: some loader misreads it
)

// Side is one side of a comparison and where it was found.
type Side struct {
	From  string `json:"from"`
	Value string `json:"value"`
}

// Says is a side of a comparison.
func Says(from, value string) *Side { return &Side{from, value} }

// Problem is one thing that is not as it should be. Sample and Offset are -1
// when unknown.
type Problem struct {
	Level Level  `json:"level"`
	Kind  string `json:"kind"`
	// Note: worth knowing, but nothing is wrong with the data.
	Note   bool   `json:"note,omitempty"`
	File   string `json:"file"`             // slash path below the folder
	Object string `json:"object,omitempty"` // inside the file: a tensor, a member, a key
	Field  string `json:"field,omitempty"`
	Sample int64  `json:"sample"` // in the data set; for single files, in the file
	Offset int64  `json:"offset"` // bytes from the start of the file
	What   string `json:"what"`
	Want   *Side  `json:"want,omitempty"`
	Got    *Side  `json:"got,omitempty"`
	// Breaks names the programs that misread a foreign file.
	Breaks string `json:"breaks,omitempty"`
	// Fix is what helps, as a command where there is one.
	Fix string `json:"fix,omitempty"`
	// Repaired: the problem existed, and was repaired.
	Repaired bool `json:"repaired,omitempty"`
}

// String is the problem in one line.
func (p *Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	for _, s := range []string{p.Object, p.Field} {
		if s != "" && s != p.File {
			b.WriteString(" " + s)
		}
	}
	if p.Sample >= 0 {
		fmt.Fprintf(&b, " sample %d", p.Sample)
	}
	if p.Offset >= 0 {
		fmt.Fprintf(&b, " at byte %d", p.Offset)
	}
	b.WriteString(": " + p.What)
	switch {
	case p.Want != nil && p.Got != nil:
		fmt.Fprintf(&b, ": %s says %s, %s has %s", p.Want.From, p.Want.Value, p.Got.From, p.Got.Value)
	case p.Want != nil:
		fmt.Fprintf(&b, ": %s says %s", p.Want.From, p.Want.Value)
	case p.Got != nil:
		fmt.Fprintf(&b, ": %s has %s", p.Got.From, p.Got.Value)
	}
	if p.Breaks != "" {
		b.WriteString(" [" + p.Breaks + "]")
	}
	return b.String()
}

// New is a problem without a place inside its file.
func New(level Level, kind, file, what string) Problem {
	return Problem{Level: level, Kind: kind, File: file, Sample: -1, Offset: -1, What: what}
}

// Of is the problem that an error of a parser describes.
func Of(level Level, file string, err error) Problem {
	p := New(level, KindFormat, file, "")
	var e *shardify.Error
	if errors.As(err, &e) {
		p.Object, p.Field, p.Sample, p.Offset = e.Object, e.Field, e.Sample, e.Offset
		p.What = shardify.Plain(e.Err)
	} else {
		p.What = shardify.Plain(err)
	}
	p.What = strings.TrimSuffix(p.What, ": "+shardify.ErrCorrupt.Error())
	if !damage(err) {
		p.Kind = KindUnreadable
	}
	return p
}

// damage reports whether an error blames the bytes rather than the storage.
func damage(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}
