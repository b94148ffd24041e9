package verify

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify/verify/problem"
)

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
	Path     string // Options.Dir
	State    State
	Format   string
	Counts   Counts
	Problems []problem.Problem // sorted by file and offset; at most Options.Keep of them
	Total    int64             // all problems, kept or not; notes are not counted
	Repaired int64             // of Total
	Notes    int64
	Done     []string // what a repair did, a line each
	Unmade   int64    // planned shards that are not there yet
	Orphans  int64    // shards of ours in folders without a manifest
	// Uncompared is why values were not compared with the source, though it was asked for.
	// It is not a problem of the data set.
	Uncompared string
	// Signed is the signer of the manifest, "" if no signature was asked for.
	Signed string
	// ID is what Options.ID asked for, and the set has.
	ID string
	// Next is the command that helps, "" if there is nothing to do.
	Next string
}

// OK: nothing is wrong, or what was wrong is repaired.
func (r *Report) OK() bool { return r.Total == r.Repaired }

// collector gathers problems from many goroutines.
type collector struct {
	mu      sync.Mutex
	report  *Report
	keep    int
	perFile map[string]int   // problems and notes kept
	totals  map[string]int64 // problems, kept or not
	again   bool             // a manifest was rebuilt: check by it
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

func (c *collector) add(p problem.Problem) {
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

// addError adds the problem that an error of a parser describes.
func (c *collector) addError(level problem.Level, file string, err error) {
	c.add(problem.Of(level, file, err))
}

// finish sorts what was gathered.
func (c *collector) finish() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.report.Problems, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(slices.Index(problem.Levels, a.Level), slices.Index(problem.Levels, b.Level)),
			cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Sample, b.Sample), cmp.Compare(a.What, b.What))
	})
	return c.report
}
