package plan

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan/splits"
)

// Shaped reports whether samples are touched between reader and sinks.
func (p *Plan) Shaped() bool {
	return len(p.Steps.Ops) > 0 || p.Splits.Rule != nil || p.Order.Shuffle != "" || p.Asked.Provenance
}

// Scatters reports whether there may be scratch files.
func (p *Plan) Scatters() bool { return p.Order.Shuffle != "" || p.Asked.Grouping != nil }

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
// Local.Tables.
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

// Plan fixes which input samples go to which shard in which order. Its groups say what each
// of their fields is for; on disk the fields of all groups are one object, see head.go.
type Plan struct {
	Version int               `json:"version"`
	Recipe  map[string]string `json:"recipe"` // settings that no field below says
	OnError string            `json:"on_error"`
	Seed    uint64            `json:"seed,omitempty"` // of operations, splits and shuffles
	// Base is the digest of the plan without what surveys have found.
	Base string `json:"base,omitempty"`

	In     Inputs  `json:"-"`
	Out    Output  `json:"-"`
	Sample Sample  `json:"-"`
	Steps  Steps   `json:"-"`
	Asked  Asked   `json:"-"`
	Splits Splits  `json:"-"`
	Order  Order   `json:"-"`
	Pack   Packing `json:"-"`
	Local  Local   `json:"-"`

	stored stored
}

// Output is the format of the shards.
type Output struct {
	Format  string         `json:"output"`
	Ext     string         `json:"ext"`
	Options format.Options `json:"output_options,omitempty"`
	// Refused says why Request.Output was not taken; nil if it was.
	Refused error `json:"-"`
}

// Steps is what happens to the samples on the way; nothing in most plans.
type Steps struct {
	Ops      []Op      `json:"ops,omitempty"`
	Helpers  []string  `json:"helpers,omitempty"` // fields that were opened for operations alone
	Findings []Finding `json:"findings,omitempty"`
}

// Asked is what else the settings make of the inputs.
type Asked struct {
	// Static is the fields that are the same for all samples, in a file that is published before
	// the plan.
	Static     *Static    `json:"static,omitempty"`
	Grouping   *Grouping  `json:"grouping,omitempty"`
	Windowing  *Windowing `json:"windowing,omitempty"`
	Provenance bool       `json:"provenance,omitempty"`
}

// Splits is how samples are shared, and what surveys have found of it.
type Splits struct {
	Rule *splits.Rule  `json:"split,omitempty"` // nil: one data set
	Cuts []splits.Cuts `json:"cuts,omitempty"`
	// Unsplit is how many samples are in none of the parts of Rule.
	Unsplit int64 `json:"unsplit,omitempty"`
}

// Names are the splits in the order of their numbers; nil without.
func (s *Splits) Names() []string {
	if s.Rule == nil {
		return nil
	}
	var out []string
	for _, p := range s.Rule.Parts {
		out = append(out, p.Name)
	}
	return out
}

// sets is how many data sets there are.
func (s *Splits) sets() int {
	if s.Rule == nil {
		return 1
	}
	return len(s.Rule.Parts)
}

// Local is what holds on this machine. It is no part of the digest.
type Local struct {
	// Scratch is the folder of fragments; "" is a private one of the data set.
	Scratch string `json:"scratch,omitempty"`
	// Tables are the paths of the tables that operations join, in their order. What is in
	// them is part of the digest.
	Tables []string `json:"tables,omitempty"`
	// MaxSample is how many bytes a sample may take, 0 for DefaultMaxSample. It decides whether
	// there are bytes, not which.
	MaxSample int64 `json:"max_sample,omitempty"`
	// LeftOut is what the listing of the inputs left out: files of other formats may come and go.
	LeftOut []format.Leftover `json:"left_out,omitempty"`
}

// stored is a plan on disk, and where its blocks are.
type stored struct {
	open   func() (blob, error) // the file that the blocks are in
	drop   func() error         // frees blocks that are published by now; may be nil
	digest string
	sealed []byte // the content, from Seal to Publish
}

// Digest identifies the plan: equal content gives equal data sets.
func (p *Plan) Digest() string { return p.stored.digest }

// Outputs is the number of shards, of each split if there are several.
func (p *Plan) Outputs() int {
	if p.Order.Shuffle == ShuffleGlobal {
		return p.Order.Gathers
	}
	return len(p.Pack.Shards)
}

// Expected is about how many samples a shard will have.
func (p *Plan) Expected(shard int) int64 {
	if p.Order.Shuffle == ShuffleGlobal {
		return p.Pack.Samples / int64(max(p.Order.Gathers, 1))
	}
	return p.Pack.Shards[shard].Samples
}

// Finding is the result of a survey.
type Finding struct {
	Stage  int    `json:"stage"` // the place of the transform that asked
	What   string `json:"what"`
	Result string `json:"result"`
}

// Brief is what people read of the result.
func (f *Finding) Brief() string {
	s, _, _ := strings.Cut(f.Result, shardify.SurveyDetail)
	return s
}
