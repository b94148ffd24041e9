package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
)

// Level is how dear a check is.
type Level string

// The levels, from cheap to dear. Lint stands apart: it is for foreign files.
const (
	LevelManifest  Level = "manifest"  // digest, version and sums of shardify.json
	LevelFiles     Level = "files"     // names and sizes
	LevelIndex     Level = "index"     // offset indexes and the files for foreign loaders
	LevelStructure Level = "structure" // headers, shapes, offsets, fillers
	LevelChecksum  Level = "checksum"  // the data
	LevelValues    Level = "values"    // the data against the source
	LevelLint      Level = "lint"
)

var levels = []Level{LevelManifest, LevelFiles, LevelIndex, LevelStructure, LevelChecksum, LevelValues, LevelLint}

// Kinds of problems that a caller may want to tell apart.
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
	// Repaired: it was like this, and is no more.
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

// State is what kind of folder was checked.
type State string

// The states.
const (
	StateComplete   State = "complete"   // has a manifest
	StateUnfinished State = "unfinished" // has a plan or receipts, and no manifest
	StateForeign    State = "foreign"    // files made by others
)

// Counts say what was looked at.
type Counts struct {
	Sets       int64 `json:"sets"` // data sets: 1, or more with splits
	Shards     int64 `json:"shards"`
	ShardsRead int64 `json:"shards_read"` // their checksums were computed
	Files      int64 `json:"files"`       // other published files
	Samples    int64 `json:"samples"`
	Parts      int64 `json:"parts"`      // tensors or members whose structure was checked
	Bytes      int64 `json:"bytes"`      // of all shards
	BytesRead  int64 `json:"bytes_read"` // went through a checksum
	Compared   int64 `json:"compared"`   // samples whose values were compared with the source
	Values     int64 `json:"values"`     // fields of samples compared
}

// Report is the outcome of a check.
type Report struct {
	State    State
	Format   string
	Counts   Counts
	Problems []Problem // sorted by file and offset; at most Options.Keep of them
	Total    int64     // all problems, kept or not; notes are not counted
	Repaired int64     // of Total
	Notes    int64
	Done     []string // what a repair did, a line each
	Unmade   int64    // planned shards that are not there yet
	Orphans  int64    // shards of ours in folders without a manifest
	// Uncompared is why values were not compared with the source, though it was asked for.
	// It is no problem of the data set.
	Uncompared string
	// Next is the command that helps, "" if there is nothing to do.
	Next string
}

// OK: nothing is wrong, or what was wrong is repaired.
func (r *Report) OK() bool { return r.Total == r.Repaired }

// Has reports a problem of this kind that is not repaired.
func (r *Report) Has(kind string) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == kind && !p.Repaired })
}

// collector gathers problems from many goroutines.
type collector struct {
	mu      sync.Mutex
	report  *Report
	keep    int
	perFile map[string]int   // problems and notes kept
	totals  map[string]int64 // problems, kept or not
	again   bool             // a manifest was made anew: check by it
	remedies
	flips atomic.Int64 // bytes that searches for flipped bits may still digest
}

// keepFile is how many problems of one file are kept: a torn tar may have one in
// every header.
const keepFile = 100

func newCollector(keep int) *collector {
	if keep <= 0 {
		keep = 10_000
	}
	c := &collector{report: &Report{}, keep: keep, perFile: map[string]int{}, totals: map[string]int64{}, remedies: newRemedies()}
	c.flips.Store(flipWork)
	return c
}

func (c *collector) add(p Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Note {
		c.report.Notes++
	} else {
		c.report.Total++
		c.totals[p.File]++
	}
	if len(c.report.Problems) >= c.keep || c.perFile[p.File] >= keepFile {
		return
	}
	c.perFile[p.File]++
	c.report.Problems = append(c.report.Problems, p)
}

// repaired marks the problems of a file.
func (c *collector) repaired(file, done string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Repaired += c.totals[file]
	c.report.Done = append(c.report.Done, done)
	delete(c.rebuild, file)
	for i := range c.report.Problems {
		if p := &c.report.Problems[i]; p.File == file && !p.Note {
			p.Repaired = true
		}
	}
}

// carry takes over what an earlier pass has repaired.
func (c *collector) carry(first *collector) {
	for _, p := range first.report.Problems {
		if p.Repaired {
			c.report.Problems = append(c.report.Problems, p)
		}
	}
	c.report.Total += first.report.Repaired
	c.report.Repaired += first.report.Repaired
	c.report.Done = append(slices.Clone(first.report.Done), c.report.Done...)
}

func (c *collector) count(f func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.report.Counts)
}

// addError adds the problem that an error of a parser tells of.
func (c *collector) addError(level Level, file string, err error) {
	c.add(problemOf(level, file, err))
}

func problemOf(level Level, file string, err error) Problem {
	p := Problem{Level: level, Kind: KindFormat, File: file, Sample: -1, Offset: -1}
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

// damage tells what the bytes are to blame for from what the storage is.
func damage(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

// finish sorts what was gathered.
func (c *collector) finish() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.report.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)),
			cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Sample, b.Sample), cmp.Compare(a.What, b.What))
	})
	return c.report
}
