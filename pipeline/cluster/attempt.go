package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// AttemptsDir is where attempts leave their records, below the data set's folder.
const AttemptsDir = storage.Private + "/attempts"

// Attempt is one run of a command on a data set: its process, its task, its progress and its end. Its
// record is a file of AttemptBytes: a line of JSON and spaces. It is overwritten in place,
// so that the end of an attempt that fails on a full disk still finds its room.
type Attempt struct {
	Version int    `json:"attempt"`
	Command string `json:"command"`         // convert, work, merge
	Stage   string `json:"stage,omitempty"` // of a global shuffle, if one alone: scatter, gather
	Task    int    `json:"task"`
	Tasks   int    `json:"tasks"`
	// Stride: the attempt does the tasks Task, Task+Stride, ... below Tasks; 0 is Task alone.
	Stride int    `json:"stride,omitempty"`
	Plan   string `json:"plan,omitempty"` // its digest

	Owner
	Program     string   `json:"program,omitempty"` // version
	Args        []string `json:"args,omitempty"`    // the command line, if it is short
	Dir         string   `json:"dir,omitempty"`     // in which folder it was typed
	Jobs        int      `json:"jobs"`
	Memory      int64    `json:"memory"`                 // bytes to stay under
	MemoryLimit int64    `json:"memory_limit,omitempty"` // bytes that the machine or the allocation gives
	LimitFrom   string   `json:"memory_limit_from,omitempty"`

	Start    time.Time  `json:"start"`
	Deadline *time.Time `json:"deadline,omitempty"` // when the batch system ends it
	Updated  time.Time  `json:"updated"`            // the last sign of life
	Work     Work       `json:"work"`
	Rate     float64    `json:"rate,omitempty"` // bytes of the inputs a second, of late; in the second stage of a global shuffle samples
	Peak     int64      `json:"peak_memory"`    // bytes resident at most, so far

	End *time.Time `json:"end,omitempty"` // nil as long as it runs
	Ending

	// Name is the record's file below AttemptsDir.
	Name string `json:"-"`
	// Unreadable says why there is nothing but the name; "" if there is all.
	Unreadable string `json:"-"`
}

// Ending is how an attempt ended by itself.
type Ending struct {
	Outcome string   `json:"outcome,omitempty"`
	Code    int      `json:"code"` // exit code
	Error   string   `json:"error,omitempty"`
	Hints   []string `json:"hints,omitempty"` // what the error said to do
}

// Work is how far an attempt is.
type Work struct {
	Samples  int64 `json:"samples"`            // read, those done before included
	Bytes    int64 `json:"bytes"`              // decoded, those done before included
	Resumed  int64 `json:"resumed,omitempty"`  // of Bytes, those done before
	Gathered int64 `json:"gathered,omitempty"` // samples in the second stage of a global shuffle
	Shards   int64 `json:"shards"`
	Skipped  int64 `json:"skipped,omitempty"`
}

// Outcomes of an attempt that has ended by itself.
const (
	OutcomeDone    = "done"
	OutcomeStopped = "stopped" // on request: the same command goes on
	OutcomeFailed  = "failed"
	OutcomeWaiting = "waiting" // for other tasks
)

const (
	attemptVersion = 1
	// AttemptBytes is the size of every record: a block of most file systems.
	AttemptBytes = 4096
	mostError    = 1500
	mostHint     = 300
	mostArgs     = 1000
)

// encode makes a record. Texts that do not fit are cut or left out.
func (a *Attempt) encode() []byte {
	c := *a
	c.Hints = slices.Clone(c.Hints)
	for i, h := range c.Hints {
		c.Hints[i] = cut(h, mostHint)
	}
	most := mostError
	for try := 0; ; try++ {
		switch try {
		case 0:
		case 1:
			c.Args, c.Dir = nil, ""
		case 2:
			c.Hints = nil
		default:
			most /= 2
			c.Job, c.Program, c.LimitFrom = cut(c.Job, most), cut(c.Program, most), cut(c.LimitFrom, most)
			c.Host, c.Element, c.Plan = cut(c.Host, most), cut(c.Element, most), cut(c.Plan, most)
			c.Command, c.Stage, c.Outcome = cut(c.Command, most), cut(c.Stage, most), cut(c.Outcome, most)
			c.Boot, c.Space, c.Engine = cut(c.Boot, most), cut(c.Space, most), cut(c.Engine, most)
		}
		c.Error = cut(c.Error, most)
		b, err := json.Marshal(&c)
		if err != nil {
			panic("cluster: attempt: " + err.Error()) // our own types
		}
		if len(b) < AttemptBytes {
			return append(append(b, bytes.Repeat([]byte{' '}, AttemptBytes-1-len(b))...), '\n')
		}
	}
}

// cut shortens a text to n bytes.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " ..."
}

// DecodeAttempt parses a record.
func DecodeAttempt(b []byte) (*Attempt, error) {
	if len(b) > AttemptBytes {
		return nil, shardify.Corrupt(-1, "a record of %d bytes", len(b))
	}
	var a Attempt
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	switch {
	case a.Version != attemptVersion:
		return nil, shardify.Unsupported("record of version %d; this program reads version %d", a.Version, attemptVersion)
	case a.Tasks < 1 || a.Task < 0 || a.Task >= a.Tasks || a.Stride < 0:
		return nil, shardify.Corrupt(-1, "task %d of %d in steps of %d", a.Task, a.Tasks, a.Stride)
	}
	return &a, nil
}

// group is what attempts have in common that try the same again.
func (a *Attempt) group() string {
	g := a.Command
	if a.Stage != "" {
		g += "-" + a.Stage
	}
	if a.Stride > 0 {
		return fmt.Sprintf("%s-%dby%dof%d", g, a.Task, a.Stride, a.Tasks)
	}
	return fmt.Sprintf("%s-%dof%d", g, a.Task, a.Tasks)
}

// Covers reports whether the attempt does task t of n.
func (a *Attempt) Covers(t, n int) bool {
	if n != a.Tasks || t < a.Task {
		return false
	}
	return t == a.Task || a.Stride > 0 && (t-a.Task)%a.Stride == 0
}

// perFolder keeps folders small where tasks are many.
const perFolder = 1000

// fileName is the name of the record: names sort by start within their group.
func (a *Attempt) fileName(random uint32) string {
	return fmt.Sprintf("%04d/%s.%016x-%08x.json", a.Task/perFolder, a.group(), a.Start.UnixNano(), random)
}

// splitName gives the group and the order within it.
func splitName(name string) (group, order string, ok bool) {
	_, base, _ := strings.Cut(name, "/")
	group, order, ok = strings.Cut(base, ".")
	return group, order, ok && strings.HasSuffix(order, ".json")
}
