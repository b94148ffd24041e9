package shardify

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/shardify/shardify/storage"
)

// Source is the whole list of inputs of one format, narrowed to the wanted
// fields. Schema and Spans come from metadata alone. All methods may be called
// concurrently.
type Source interface {
	Schema() []Field
	// Spans yields every sample once, in order, in spans of about target
	// decoded bytes cut at the format's natural borders. Spans of one run are
	// contiguous in the sequence.
	Spans(ctx context.Context, target int64) iter.Seq2[Span, error]
	// Reader returns a new reader for one run; run 0 reads any span of run 0.
	// A reader is used by one goroutine at a time, several readers at once.
	Reader(run uint32) (Reader, error)
	io.Closer
}

// Reader reads spans. Readers of a run > 0 are asked for its spans in order
// (spans may be left out). The batch's buffers belong to mem; on error nothing
// is returned. A short read is an error, never a short batch.
type Reader interface {
	Read(ctx context.Context, s Span, mem *Arena) (*Batch, error)
	io.Closer
}

// Reopener is a Source of files that may be read again after an error that a network
// file system gives for a moment: Reopen has new readers open them anew.
type Reopener interface{ Reopen() }

// Leftover names a field or file that a source does not deliver, and why.
type Leftover struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Count  int64  `json:"count,omitempty"` // files left out for this reason; 0 means one field
	// Unreadable: the field has values, of a type or in a form that is not read. Else it
	// is no column of the samples.
	Unreadable bool `json:"unreadable,omitempty"`
}

// Skip is samples [Lo, Hi) of an input that are left out because they are damaged; all of
// an input whose samples cannot be counted if Lo is Hi.
type Skip struct {
	Input  string `json:"input"`
	Object string `json:"object,omitempty"`
	Lo     int64  `json:"lo"`
	Hi     int64  `json:"hi"`
	Reason string `json:"reason"`
}

// Skipper is a Source that left out damaged inputs when it was opened, as
// OpenArgs.SkipDamaged wants it. One that is opened with a State need not know them.
type Skipper interface{ Skipped() []Skip }

// Reporter is a Source that left something out: fields it cannot read, files
// that are no samples.
type Reporter interface{ Leftovers() []Leftover }

// Stater is a Source whose survey of the inputs is worth keeping in the plan,
// so that each task need not repeat it. State is handed back in OpenArgs.State.
type Stater interface{ State() ([]byte, error) }

// Keyer is a Source that says whether its samples have names of their own; without
// it they do not. (Batches may carry Keys all the same, as the names that rows had
// in a tar: a sink that must write names keeps them.) CheckKeys applies a sink's rule to every key and reports all that
// break it in one error with count, examples and cure.
type Keyer interface {
	Keyed() bool
	CheckKeys(memberMax int, check func(key []byte) error) error
}

// Columnar is a Keyer whose fields are columns of arrays and tables, though its samples may
// have names: texts and bytes are values there, not files.
type Columnar interface{ Columnar() bool }

// HasFiles tells whether the samples of a source are files with names, such as an image
// and its text.
func HasFiles(s Source) bool {
	k, ok := s.(Keyer)
	if !ok || !k.Keyed() {
		return false
	}
	c, ok := s.(Columnar)
	return !ok || !c.Columnar()
}

// Describer is a Source that knows more about its inputs than the schema says:
// how they are stored, which axis is the sample axis and why. One fact a line,
// for people.
type Describer interface{ Describe() []string }

// Noter is a Source that did something to make its inputs fit together, such as
// widening a type: what people should know before they convert. One fact a line.
type Noter interface{ Notes() []string }

// Piecer is a Source that knows from its survey which part of its inputs is the largest
// of those that are decoded whole: what, and its decoded bytes; 0 if it does not know.
type Piecer interface {
	LargestPiece() (what string, bytes int64)
}

// Previewer is a Source that can show some values of a field without decoding what is stored
// around them: at most as many as wanted, from places spread over the inputs, the same ones
// every time. A value may be cut short, and there may be none.
type Previewer interface {
	Preview(ctx context.Context, field string, values int, yield func(value []byte))
}

// ObjectNamer names Proof.Object for errors.
type ObjectNamer interface {
	ObjectName(input, object uint32) string
}

// Owner is a Source whose spans number samples over many inputs (in a folder of files
// each file is one). Owner names the input that sample i of a span's input is known by:
// what labels by input, splits and random choices go by. There the sample is number 0.
type Owner interface {
	Owner(input uint32, sample int64) uint32
}

// Doubt is the error of inputs that can be read in several ways, of which nobody but the
// user knows the right one.
type Doubt struct {
	Option string   `json:"option"` // that decides
	Values []string `json:"values"` // of the option, one for each way
	Text   string   `json:"text"`
}

func (d *Doubt) Error() string { return d.Text }

// Unwrap is ErrSchema.
func (d *Doubt) Unwrap() error { return ErrSchema }

// OpenArgs is what every format's Open gets.
type OpenArgs struct {
	Table *Table
	// Columns are the wanted fields as globs (path.Match); empty means all. "!GLOB"
	// excludes fields: from all, if there are only exclusions.
	Columns []string
	Options Options
	// SkipDamaged: inputs that are damaged are left out and listed, see Skipper. Else
	// they are an error.
	SkipDamaged bool
	// State is the result of State at plan time; nil means Open surveys. With a
	// State, Open touches no input: readers check what they open against it.
	State []byte
	// Splits asks for the splits that files hold, see Splitter. Formats that know of none
	// ignore it.
	Splits bool
	// First is the number of the first sample, where State is that of a PartSurvey and
	// Table one part of the inputs.
	First int64
	// Jobs bounds the goroutines of the survey; 0 means GOMAXPROCS.
	Jobs int
}

// SourceFormat is a line of the readers' table.
type SourceFormat struct {
	Name string
	// Help is one line for the list of formats.
	Help string
	// Sniff tells from the first bytes (up to 512) and the base name whether
	// this format reads the file.
	Sniff func(head []byte, name string) bool
	// Sets: the inputs are data sets of the output format of this name, one manifest each.
	Sets    bool
	Options []Option
	Open    func(ctx context.Context, a OpenArgs) (Source, error)
	// Again is the options to set beside o for further inputs of a set, so that they are read
	// as the first ones: what auto found out then and might not find out now. nil: there are
	// none.
	Again func(o Options, schema []Field, keyed bool) Options
	// Parts is how a list of inputs too long for one table is planned; nil if the
	// format needs all inputs at once.
	Parts *Parts
	// Outline tells what one file holds, a line each, whether or not it can be
	// converted; nil for formats whose schema says it all.
	Outline func(ctx context.Context, fs storage.FS, file string) ([]string, error)
}

// Parts is how a format takes a list of inputs in parts: tables of consecutive
// inputs, each with a Source of its own. Samples are numbered over all parts.
type Parts struct {
	// Can tells whether these arguments (without a table) allow parts.
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
	// Next takes the next name, a slash path below the one root there is, and tells
	// whether a part may begin with it. The error may be ErrNotInParts.
	Next(name []byte) (begins bool, err error)
	// Begin says that a part begins with the name that Next took last.
	Begin()
}

// PartSurvey looks at all parts, in order.
type PartSurvey interface {
	// Add looks at the next part. src is good for Spans (numbered from 0) and CheckKeys
	// if Finish says the same layout in the end. Where that is certain not to be, it is
	// nil. It is used until the next Add.
	Add(ctx context.Context, t *Table) (src Source, layout string, err error)
	// Finish returns the State that the source of each part is opened with.
	Finish() (state []byte, layout string, err error)
}

// Sink writes one shard, from one goroutine. The shard does not exist for
// others until Commit.
type Sink interface {
	// Write takes samples in order. It must not keep b or its buffers.
	Write(b *Batch) error
	// Commit publishes the shard with all files that belong to it. After an
	// error nothing is published under the shard's name.
	Commit(ctx context.Context) (Shard, error)
	// Abort removes what was written; after Commit it does nothing.
	Abort() error
}

// Shard is the record of a published shard.
type Shard struct {
	Name    string `json:"name"` // slash path below the data set's folder
	Samples int64  `json:"samples"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"` // "xxh3:" + 32 hex digits; what it covers is the format's choice
	// Files are further files that belong to this shard (an offset index).
	Files []File `json:"files,omitempty"`
}

// File is a published file that is no shard.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// ShardSpec is what a plan fixes about one shard.
type ShardSpec struct {
	Name   string // slash path, extension included
	Schema []Field
	// Samples planned. Exact is true when a shard with another count is an
	// error; false when samples may be dropped or skipped on the way.
	Samples int64
	Exact   bool
	// Keyed: batches carry Keys.
	Keyed   bool
	Options Options
}

// SinkFormat is a line of the writers' table.
type SinkFormat struct {
	Name string
	Help string
	Ext  string // of shards, with the dot
	// ExtOf is Ext where an option decides it; nil if none does.
	ExtOf   func(o Options) string
	Options []Option
	// Streams: the sinks take columns that come as Stream.
	Streams bool
	// Frame is how the sinks would have the values of samples laid out; nil, or a
	// nil result, if they do not care. Such sinks are Framers.
	Frame func(schema []Field, o Options) *Frame
	// Check refuses a schema that the format cannot carry, at plan time, and
	// says what would help.
	Check func(schema []Field, keyed bool, o Options) error
	// SampleBytes is the output bytes of one sample given its decoded bytes:
	// fixed is added per sample, factor multiplies the payload.
	SampleBytes func(schema []Field, keyed bool) (fixed int64, factor float64)
	// ScratchBytes is SampleBytes for the most that a sink has in scratch files beside
	// the shard that it completes; nil if it needs none.
	ScratchBytes func(schema []Field, keyed, exact bool) (fixed int64, factor float64)
	// KeyRule is what the format asks of sample names: a check, and the length of
	// the longest member name, which follows the key and a dot. nil takes any UTF-8
	// key.
	KeyRule func(schema []Field, o Options) (memberMax int, check func(key []byte) error)
	// Members names what a reader finds for each field in a shard, for the
	// manifest; nil if fields stand under their own names.
	Members func(schema []Field, o Options) (map[string]string, error)
	New     func(store storage.Store, spec ShardSpec) (Sink, error)
	// Finish writes what foreign loaders want for the whole set; nil if nothing.
	Finish func(ctx context.Context, store storage.Store, set FinishedSet) ([]File, error)
	// FinishSplits writes what foreign loaders want at the root of a set of splits; nil
	// if nothing.
	FinishSplits func(ctx context.Context, store storage.Store, splits []FinishedSplit) ([]File, error)
	// Owns tells the files that Sink.Commit, Finish and FinishSplits publish beside the
	// shards, by their names below the folder of a set: --fresh may remove them, and a check
	// of an unfinished set expects them. nil if there are only shards.
	Owns func(name string) bool
	// Move says how the bytes of shards change that move into another set, and why; rewrite
	// is nil if they stay. A nil Move: shards hold neither attributes of fields nor names of rows
	// (writertest finds out). Files beside a shard stay as they are.
	Move func(m Move) (rewrite Rewrite, why string)
	// Verify prepares the check of a set's shards, or says why there cannot be such a set.
	// members are those of its manifest, nil where Members is.
	Verify func(schema []Field, keyed bool, members map[string]string) (Verifier, error)
	// Rebuild makes the file of this name, which belongs to a shard, from the shard, of size
	// bytes; a nil result: it does not follow from the shard alone. A nil Rebuild: none does.
	Rebuild func(name string, shard Shard, r io.ReaderAt, size int64) ([]byte, error)
	// Lint checks files of the kind that any program may have made; nil if there are none.
	Lint *Linter
	// Hint says how to use a finished set that lies in a folder, in a line that can be pasted
	// if it is a command. quote writes a word for a shell.
	Hint func(folder string, quote func(string) string) string
}

// Move is what becomes other for shards that move into a set behind the shards of others.
type Move struct {
	From, To []Field // the schema of their set, and of the other one
	Keyed    bool
	// Inputs is added to the numbers of inputs: those in the names of rows, and those that
	// each element of the field Origin begins with ("" if there is no such field).
	Inputs int64
	Origin string
}

// Rewrite writes the shard in, of which the record is from, as it is after a Move. It checks
// every byte that it reads, and returns size and digest of what it wrote.
type Rewrite func(ctx context.Context, in io.ReaderAt, from Shard, out storage.Pending) (bytes int64, digest string, err error)

// FinishedSet is what a SinkFormat's Finish may know.
type FinishedSet struct {
	Schema  []Field
	Keyed   bool
	Shards  []Shard
	Options Options
}

// FinishedSplit is one split as FinishSplits sees it: names of shards begin with that of
// the split.
type FinishedSplit struct {
	Name   string
	Shards []Shard
}

// Splitter is a Source whose files may hold splits of their own, such as /train and
// /test. Splits says where they are, in the order of the samples; nil if there are none.
// It is asked after a survey alone, which OpenArgs.Splits must have asked for.
type Splitter interface{ Splits() []SplitRange }

// SplitRange is the samples of an input, from the end of the range before up to End, that
// belong to a split.
type SplitRange struct {
	Input uint32
	End   int64
	Name  string
}
