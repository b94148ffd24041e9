package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// Shaped reports whether samples are touched between reader and sinks.
func (p *Plan) Shaped() bool {
	return len(p.Ops) > 0 || p.Split != nil || p.Shuffle != "" || p.Provenance
}

// Scatters reports whether there may be scratch files.
func (p *Plan) Scatters() bool { return p.Shuffle != "" || p.Grouping != nil }

// Op is one operation as it was asked for: {"where", "nJet >= 2"}. The plan records
// the operations in their order; they are part of its digest.
type Op struct {
	Name string `json:"op"`
	Text string `json:"text,omitempty"`
}

// Grouping is how rows become samples: those with the same keys are one.
type Grouping struct {
	Name    string   `json:"name"` // of the lists' counter
	Keys    []string `json:"keys"`
	Once    []string `json:"once,omitempty"`     // fields with one value for all rows of a sample
	PerFile bool     `json:"per_file,omitempty"` // keys count within a file
	Order   string   `json:"order"`
	// DropNulls: rows without a key are left out.
	DropNulls bool  `json:"drop_nulls,omitempty"`
	From      *From `json:"from,omitempty"`
}

// Windowing is how rows become samples that are windows of them, where shards have no rows to
// point at. Operations and helpers of such a plan are those of the rows.
type Windowing struct {
	Window string `json:"window"`
}

// OfRows are the operations of a Windowing that are done to rows: patches are cut of windows.
func OfRows(list []Op) []Op {
	return slices.DeleteFunc(slices.Clone(list), func(o Op) bool { return o.Name == format.PatchOp })
}

// OfWindows are those that are done to windows.
func OfWindows(list []Op) []Op {
	return slices.DeleteFunc(slices.Clone(list), func(o Op) bool { return o.Name != format.PatchOp })
}

// Static is what manifests say of static fields, and the record of their file.
type Static struct {
	index.Static
	File shardify.File `json:"file"`
}

// From is a table whose rows are the samples, in its order. Its path is the last of
// Plan.Tables.
type From struct {
	Table  string `json:"table"` // its name
	Digest string `json:"digest"`
	// Columns are those of the keys; without keys those that say which rows a sample has: the
	// first row and one more, or the first rows alone.
	Columns    []string `json:"columns"`
	Ends       string   `json:"ends,omitempty"` // what the second column is
	Take       []string `json:"take,omitempty"` // columns that become fields
	DropUnused bool     `json:"drop_unused,omitempty"`
}

// Choices of From.Ends.
const (
	EndsLast  = "last"  // the last row
	EndsEnd   = "end"   // the row after it
	EndsCount = "count" // how many rows
)

// Choices of Grouping.Order: what becomes of rows with one key that are not consecutive.
const (
	OrderAuto     = "auto"     // they are gathered, if there are any
	OrderAdjacent = "adjacent" // they are an error
)

// PlanVersion is the version of plan files and of the packing rules: another
// version may cut other shards from the same input.
const Version = 3

// SpanBytes is the decoded size that spans aim at. It is part of the plan's
// rules and never derived from memory or jobs. 1 MiB passes from reader to writer
// within the second-level cache: 4 MiB cost a tenth more on 100,000 small files.
const SpanBytes = 1 << 20

// Choices of OnError.
const (
	OnErrorFail = "fail"
	OnErrorSkip = "skip"
)

// Plan fixes which input samples go to which shard in which order.
type Plan struct {
	Version       int               `json:"version"`
	Input         string            `json:"input"`
	Columns       []string          `json:"columns,omitempty"`
	InputOptions  format.Options    `json:"input_options,omitempty"`
	Output        string            `json:"output"`
	Ext           string            `json:"ext"`
	OutputOptions format.Options    `json:"output_options,omitempty"`
	Recipe        map[string]string `json:"recipe"`
	OnError       string            `json:"on_error"`
	Schema        []shardify.Field  `json:"schema"`
	Keyed         bool              `json:"keyed,omitempty"`
	LeftOut       []format.Leftover `json:"left_out,omitempty"`
	// Coords are the coordinates of the fields' dimensions.
	Coords map[string]format.Coord `json:"coords,omitempty"`
	// Static is the fields that are the same for all samples, in a file that is published before
	// the plan.
	Static *Static `json:"static,omitempty"`
	// Skipped are damaged inputs that the survey left out, as OnErrorSkip wants.
	Skipped []index.Skip `json:"skipped,omitempty"`
	// Unread counts the samples of the inputs that are outside of --limit and --range.
	Unread       []shardify.Count `json:"unread,omitempty"`
	Samples      int64            `json:"samples"`
	DecodedBytes int64            `json:"decoded_bytes"`
	OutputBytes  int64            `json:"output_bytes"` // estimate

	// What happens to the samples on the way; nothing in most plans.
	Seed    uint64           `json:"seed,omitempty"`
	Ops     []Op             `json:"ops,omitempty"`
	Source  []shardify.Field `json:"source,omitempty"` // schema of the source, where operations change it
	Helpers []string         `json:"helpers,omitempty"`
	// Documents is the schema of the samples that sequences are made of; nil: samples stay samples.
	Documents  []shardify.Field `json:"documents,omitempty"`
	Grouping   *Grouping        `json:"grouping,omitempty"`
	Windowing  *Windowing       `json:"windowing,omitempty"`
	Split      *Split           `json:"split,omitempty"`
	Shuffle    string           `json:"shuffle,omitempty"` // ShuffleBlock, ShuffleGlobal
	Provenance bool             `json:"provenance,omitempty"`
	Findings   []Finding        `json:"findings,omitempty"`
	Cuts       []Cuts           `json:"cuts,omitempty"`
	// Unsplit is how many samples are in none of the parts of Split.
	Unsplit int64 `json:"unsplit,omitempty"`
	// Base is the digest of the plan without what surveys have found.
	Base   string `json:"base,omitempty"`
	Copies int    `json:"copies,omitempty"` // of a sample at most
	// Shards and buckets of a global shuffle, see shuffle.go.
	Gathers  int           `json:"gathers,omitempty"`
	Buckets  int           `json:"buckets,omitempty"`
	PerShard int64         `json:"per_shard,omitempty"` // exact samples of a shard
	Listed   *index.Inputs `json:"listed,omitempty"`    // without names
	// FirstInput is the name of input 0 of a plan of several blocks, see InParts.
	FirstInput string `json:"first_input,omitempty"`

	// Outside is what the listing of the inputs left out. It is not part of the digest:
	// files of other formats may come and go.
	Outside []format.Leftover `json:"-"`
	// Tables are the paths of the tables that operations join, in their order. No part of the
	// digest: what is in them is.
	Tables []string `json:"-"`
	// ScratchPath is the folder of fragments; "" is a private one of the data set. No
	// part of the digest.
	ScratchPath string `json:"-"`
	// MaxSample is how many bytes a sample may take, 0 for DefaultMaxSample. No part of the
	// digest either: it decides whether there are bytes, not which.
	MaxSample int64 `json:"-"`

	// Refused says why Request.Output was not taken; nil if it was.
	Refused error `json:"-"`

	Table  *format.Table   `json:"-"`
	State  []byte          `json:"-"`
	Spans  []shardify.Span `json:"-"`
	Shards []Shard         `json:"-"`
	Units  []Unit          `json:"-"`

	blocks     []Block
	file       func() (blob, error) // the file that the blocks are in
	drop       func() error         // frees blocks that are published by now; may be nil
	shardBytes []int64              // decoded

	digest string
	sealed []byte // the content, from seal to Publish
}

// PlannedShard is the spans [Lo, Hi) of the plan.
type Shard struct {
	Lo, Hi  int // among the spans of its block
	Samples int64
}

// Unit is the shards [Lo, Hi) of the plan: what one worker does. It has several
// only when they come from one run, which is cheap only in order.
type Unit struct{ Lo, Hi int }

// validate checks the indexes of a decoded plan.
func (p *Plan) validate() error {
	if p.Table == nil {
		return errors.New("no input table")
	}
	if err := p.Table.Validate(); err != nil {
		return err
	}
	if err := shardify.ValidateSchema(p.Schema); err != nil {
		return err
	}
	if p.Split != nil {
		if err := p.Split.check(); err != nil {
			return err
		}
	}
	const most = 1 << 30
	if p.Gathers < 0 || p.Gathers > most || p.Buckets < 0 || p.Buckets > most || p.PerShard < 0 || p.Shuffle == ShuffleGlobal && p.Buckets == 0 {
		return fmt.Errorf("%d shards of %d buckets", p.Gathers, p.Buckets)
	}
	return p.validateBlocks()
}

// seeds of what is random about a plan as a whole; operations have their ordinals.
const (
	SeedSplit   = 1 << 40
	seedShuffle = 2 << 40
)

// The choices of Request.Shuffle. The same three words stand for the loader's.
const (
	ShuffleNone   = "none"
	ShuffleBlock  = "block"  // within each shard
	ShuffleGlobal = "global" // over all samples of all inputs
)

// growth is what a sample is expected to become: output = fixed bytes a sample more
// and factor times the bytes. The fixed part is exact; what varies in length is taken
// to grow as its elements do.
func (p *Plan) growth() (fixed, factor float64) {
	if p.Source == nil {
		return 0, 1
	}
	fixedIn, jaggedIn := weigh(p.Source)
	fixedOut, jaggedOut := weigh(p.Weighed())
	factor = 1
	if jaggedIn > 0 {
		factor = jaggedOut / jaggedIn
	} else if jaggedOut == 0 {
		factor = 0
	}
	n := float64(max(p.Copies, 1))
	return n * (fixedOut - float64(factor*fixedIn)), n * factor
}

// Weighed is the fields of samples in the end, or of the documents that sequences are made of.
func (p *Plan) Weighed() []shardify.Field {
	if p.Documents != nil {
		return p.Documents
	}
	return p.Schema
}

// weigh is the bytes of a sample's fixed fields, and of one element of each other.
func weigh(schema []shardify.Field) (fixed, jagged float64) {
	for i := range schema {
		if f := &schema[i]; f.Levels == 0 {
			fixed += float64(f.ElemBytes())
		} else {
			jagged += float64(f.ElemBytes())
		}
	}
	return fixed, jagged
}

// Outputs is the number of shards, of each split if there are several.
func (p *Plan) Outputs() int {
	if p.Shuffle == ShuffleGlobal {
		return p.Gathers
	}
	return len(p.Shards)
}

// Expected is about how many samples a shard will have.
func (p *Plan) Expected(shard int) int64 {
	if p.Shuffle == ShuffleGlobal {
		return p.Samples / int64(max(p.Gathers, 1))
	}
	return p.Shards[shard].Samples
}

// SourceSchema is the schema of the source.
func (p *Plan) SourceSchema() []shardify.Field {
	if p.Source != nil {
		return p.Source
	}
	return p.Schema
}

// Detail begins what of a survey's result is for the plan alone: manifests have what is before it.
const Detail = "\ndetail: "

// Finding is the result of a survey.
type Finding struct {
	Stage  int    `json:"stage"` // the place of the transform that asked
	What   string `json:"what"`
	Result string `json:"result"`
}

// Brief is what people read of the result.
func (f *Finding) Brief() string {
	s, _, _ := strings.Cut(f.Result, Detail)
	return s
}
