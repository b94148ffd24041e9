package format

import (
	"context"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Input is an input format.
type Input struct {
	Name string
	// Words are what other tools call the format.
	Words []string
	// Help is one line for the list of formats.
	Help string
	// Sniff reports, from the first bytes (up to 512) and the base name, whether this
	// format reads the file.
	Sniff func(head []byte, name string) bool
	// Reads reports, as Sniff does, which files are of this format where none of the inputs has a
	// name of its own: .json is also that of a part of a sample. It may be nil.
	Reads func(head []byte, name string) bool
	// Asked: the format is chosen only if the user names it; Sniff then says which files of
	// a folder it reads.
	Asked bool
	// Companion: files of the format are often beside samples of other kinds, as tables about them.
	// In a folder they decide nothing unless they are most of what is there.
	Companion bool
	// Roots are names of files, each of which makes the folder that holds it one input: the
	// first that is there stands for the folder in the table. nil: folders are no inputs.
	Roots []string
	// Mark is the name of a file that only folders of this format have, though it is no input; "" if
	// no file marks them.
	Mark string
	// StandIn is the name of the file that stands for one of this name and is read with it, "" if
	// none does; nil if all files stand for themselves.
	StandIn func(base string) string
	// Whole: it reads files of any kind, each as it is: the default for what no other format reads.
	Whole bool
	// Bytes: each file may be a sample, so that the format of files of any kind reads them, too, as bytes.
	Bytes bool
	// Invents: the source makes up its samples, and takes no inputs.
	Invents bool
	// Sets: the inputs are data sets of the output format of this name, one manifest each.
	Sets    bool
	Options []Option
	Open    func(ctx context.Context, a OpenArgs) (shardify.Source, error)
	// Again is the options to set beside o for further inputs of a set, so that they are read
	// as the first ones: what auto found out then and might not find out now. nil: there are
	// none.
	Again func(o Options, schema []shardify.Field, keyed bool) Options
	// Parts is how a list of inputs too long for one table is planned; nil if the
	// format needs all inputs at once.
	Parts *Parts
	// Tars reports whether tars among the inputs are folders: their members are inputs, called
	// photos.tar!/a/1.jpg. nil: they are not.
	Tars func(o Options) bool
	// Elsewhere are options that the format has not, and what does the same: a hint for each.
	Elsewhere map[string]string
	// Outline returns what one file holds, a line each, whether or not it can be converted;
	// nil for formats whose schema shows it all.
	Outline func(ctx context.Context, fs storage.FS, file string) ([]string, error)
}

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
	// Late: of a data set of ours the manifest alone is read, and a shard that is missing or
	// damaged is found by who reads it.
	Late bool
	// State is the result of State at plan time; nil means Open surveys. With a
	// State, Open touches no input: readers check what they open against it.
	State []byte
	// Page reads what a Pager had beside its State; nil if it had nothing.
	Page func(page int) ([]byte, error)
	// Splits asks for the splits that files hold, see Splitter. Formats that know of none
	// ignore it.
	Splits bool
	// Folders: the first folders of an input are splits, whatever their names, and so are
	// no classes.
	Folders bool
	// First is the number of the first sample, where State is that of a PartSurvey and
	// Table one part of the inputs.
	First int64
	// Scratch has room for what a survey finds that is large; nil is the system's temporary folder.
	Scratch storage.Store
	// Jobs bounds the goroutines of the survey; 0 means GOMAXPROCS.
	Jobs int
	// Rounds reports whether numbers of a field may be rounded to f64 where no type holds those of all
	// inputs; nil: they may not.
	Rounds func(field string) bool
	// Used records which options had an effect, where there is no State.
	Used *Used
}

// Output is an output format.
type Output struct {
	Name string
	// Words are what other tools call the format.
	Words []string
	Help  string
	Ext   string // of shards, with the dot
	// ExtOf is Ext where an option decides it; nil if none does.
	ExtOf   func(o Options) string
	Options []Option
	// Streams: the sinks take columns that come as Stream.
	Streams bool
	// Views: the number of a sample gives its place, so that windows of rows can be views of
	// the set.
	Views bool
	// Frame is how the sinks would have the values of samples laid out; nil, or a
	// nil result, if they do not care. Such sinks are Framers.
	Frame func(schema []shardify.Field, o Options) *shardify.Frame
	// Check refuses a schema that the format cannot carry, at plan time, and
	// says what would help.
	Check func(schema []shardify.Field, keyed bool, o Options) error
	// SampleBytes is the output bytes of one sample given its decoded bytes:
	// fixed is added per sample, factor multiplies the payload.
	SampleBytes func(schema []shardify.Field, keyed bool) (fixed int64, factor float64)
	// ScratchBytes is SampleBytes for the most that a sink has in scratch files beside
	// the shard that it completes; nil if it needs none.
	ScratchBytes func(schema []shardify.Field, keyed, exact bool) (fixed int64, factor float64)
	// KeyRule is what the format asks of sample names: a check, and the length of
	// the longest member name, which follows the key and a dot. nil takes any UTF-8
	// key.
	KeyRule func(schema []shardify.Field, o Options) (memberMax int, check func(key []byte) error)
	// Members names what a reader finds for each field in a shard, for the
	// manifest; nil if fields keep their own names.
	Members func(schema []shardify.Field, o Options) (map[string]string, error)
	New     func(store storage.Store, spec ShardSpec) (shardify.Sink, error)
	// Finish writes what foreign loaders want for the whole set; nil if nothing.
	Finish func(ctx context.Context, store storage.Store, set FinishedSet) ([]shardify.File, error)
	// FinishSplits writes what foreign loaders want at the root of a set of splits; nil
	// if nothing.
	FinishSplits func(ctx context.Context, store storage.Store, splits []FinishedSplit) ([]shardify.File, error)
	// Owns reports whether Sink.Commit, Finish or FinishSplits publishes a file of this name
	// beside the shards; it is relative to the folder of a set. --fresh may remove such
	// files, and a check of an unfinished set expects them. nil if there are only shards.
	Owns func(name string) bool
	// Move says how the bytes of shards change that move into another set, and why; rewrite
	// is nil if they stay. A nil Move: shards hold neither attributes of fields nor names of rows
	// (writertest finds out). Files beside a shard stay as they are.
	Move func(m Move) (rewrite Rewrite, why string)
	// Verify prepares the check of a set's shards, or says why there cannot be such a set.
	// members are those of its manifest, nil where Members is.
	Verify func(schema []shardify.Field, keyed bool, members map[string]string) (Verifier, error)
	// Rebuild makes the file of this name, which belongs to a shard, from the shard, of size
	// bytes; a nil result: it does not follow from the shard alone. A nil Rebuild: none does.
	Rebuild func(name string, shard shardify.Shard, r io.ReaderAt, size int64) ([]byte, error)
	// Lint checks files of the kind from any program; nil if only shardify writes the kind.
	Lint *Linter
	// Hint says how to use a finished set in a folder, in a line that can be pasted if it is
	// a command. quote writes a word for a shell.
	Hint func(folder string, quote func(string) string) string
}

// ShardSpec is what a plan fixes about one shard.
type ShardSpec struct {
	Name   string // slash path, extension included
	Schema []shardify.Field
	// Samples planned. Exact is true when a shard with another count is an
	// error; false when samples may be dropped or skipped on the way.
	Samples int64
	Exact   bool
	// Items are how many items the lists of a counter have in all, where that is planned and
	// another count is an error.
	Items map[string]int64
	// Keyed: batches carry Keys.
	Keyed   bool
	Options Options
}

// FinishedSet is what an Output's Finish may know.
type FinishedSet struct {
	Schema  []shardify.Field
	Keyed   bool
	Shards  []shardify.Shard
	Options Options
}

// FinishedSplit is one split as FinishSplits sees it: names of shards begin with that of
// the split.
type FinishedSplit struct {
	Name   string
	Shards []shardify.Shard
}

// Move is what becomes other for shards that move into a set behind the shards of others.
type Move struct {
	From, To []shardify.Field // the schema of their set, and of the other one
	Keyed    bool
	// Inputs is added to the numbers of inputs: those in the names of rows, and those that
	// each element of the field Origin begins with ("" if there is no such field).
	Inputs int64
	Origin string
}

// Rewrite writes the shard in, of which the record is from, as it is after a Move. It checks
// every byte that it reads, and returns size and digest of what it wrote.
type Rewrite func(ctx context.Context, in io.ReaderAt, from shardify.Shard, out storage.Pending) (bytes int64, digest string, err error)
