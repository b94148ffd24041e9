// Package settings is what a user may say of a conversion. Settings has a field for each, and Keys says of each field its name,
// which is flag, key of recipes and keyword in Python, its help, when it may be given, and where a set records it. Flags, recipes,
// records of sets and their way back follow from that table.
package settings

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
)

// Settings say what a conversion does. They are the recipe: Keys has for each field its key, which
// is also the flag of the command, and its description. Zero values are the defaults.
type Settings struct {
	Inputs         []string // files, folders, patterns
	From           string   // input format
	FilesFrom      string   // a file with names of inputs, "-" is Stdin
	FollowSymlinks bool

	Output       string // folder
	Format       string // output format
	ShardSize    int64
	ShardSamples int64
	MaxOutput    int64
	Fresh        bool

	GroupRows        string // [NAME=]KEY,...
	GroupRowsPerFile bool
	GroupIndex       string // [NAME=]FIRST,LAST
	SamplesFrom      string // TABLE[ on=COLUMN,...][ take=COLUMN,...]
	NullKeys         string
	UnusedRows       string
	GroupOrder       string
	Once             []string

	Columns   []string
	Static    []string // fields that are the same for all samples
	Limit     int64
	Range     Range
	MaxSample int64
	OnError   string

	Parse          []string
	Join           []string
	Set            []string
	Fraction       []string
	Where          []string
	DropDuplicates []string
	Augment        []string
	CheckImages    bool
	Copies         int
	Patch          []string
	Define         []string
	NaN            []string
	Encode         []string
	Tokenize       []string
	Pick           []string
	Sort           []string
	Stack          []string
	Pad            []string
	Rename         []string
	Cast           []string
	Pack           []string
	Sequences      []string

	Window     []string // [AXIS=]IN+OUT[,...]
	Shuffle    string
	Seed       uint64
	Split      string
	SplitFrom  string
	Identity   []string
	Stratify   string
	GroupBy    string
	Scratch    string
	Provenance bool

	Jobs        int
	Memory      int64 // bytes
	Sync        string
	IgnoreTimes bool

	// Options are those of the formats, by name.
	Options map[string]string

	// What follows is no part of a recipe.

	Stdin io.Reader
	// Dry: nothing is written, not even what is removed again.
	Dry bool
	// Whole: a long list of inputs is planned at once, and not in parts.
	Whole bool
	// Recorded: they are those of a finished set, which may have no effect on other inputs.
	Recorded bool
	// Splits are those of the set that is extended: the further inputs may lack samples of some.
	Splits []string
}

// Keys are all settings but the options of formats, in the order of the help.
var Keys = []Key{
	{setting{"inputs", "", "", "files, folders and patterns of one format", func(s *Settings) Value { return (*value.Texts)(&s.Inputs) }}, NotKept, always},
	{setting{"from", "", GroupInput, "`FORMAT`: input format; detected if left out", func(s *Settings) Value { return (*value.Text)(&s.From) }}, AsFormat, always},
	{setting{"files-from", "", GroupInput, "`FILE`: read names of inputs from it, ended by zero bytes or line feeds; - is standard input", func(s *Settings) Value { return (*value.Text)(&s.FilesFrom) }}, NotKept, always},
	{setting{"follow-symlinks", "", GroupInput, "follow symbolic links in input folders to any place; without it those that leave the folder are refused", func(s *Settings) Value { return (*value.Bool)(&s.FollowSymlinks) }}, NotKept, bound},

	{setting{"group-rows", "", GroupInput, "`[NAME=]KEY,...`: rows with equal keys are one sample, with lists of the other fields; NAME counts them, rows if left out", func(s *Settings) Value { return (*value.Text)(&s.GroupRows) }}, InRecipe, matched.moves().not("group-index", "").alone(", and rows of its samples may be in further inputs: convert all of them together")},
	{setting{"group-rows-per-file", "", GroupInput, "keys of --group-rows start again in each file", func(s *Settings) Value { return (*value.Bool)(&s.GroupRowsPerFile) }}, InRecipe, with("group-rows").not("samples-from", "samples without rows would have no file")},
	{setting{"group-order", "", GroupInput, "rows of a key that are not next to each other are collected in scratch files, if there are any, or refused", func(s *Settings) Value {
		return value.OneOf(&s.GroupOrder, plan.OrderAuto, plan.OrderAdjacent)
	}}, NotKept, with("group-rows", "group-index")},
	{setting{"samples-from", "", GroupInput, "`TABLE[ on=COLUMN,...][ take=COLUMN,...]`: its rows are the samples of --group-rows, in its order, with its other columns; a sample may have no rows", func(s *Settings) Value { return (*value.Text)(&s.SamplesFrom) }}, NotKept, with("group-rows", "group-index").moves()},
	{setting{"group-index", "", GroupInput, "`[NAME=]FIRST,LAST`: columns of --samples-from say which rows are a sample, instead of --group-rows; also FIRST,end=END, FIRST,count=COUNT, or FIRST alone", func(s *Settings) Value { return (*value.Text)(&s.GroupIndex) }}, InRecipe, with("samples-from").alone(", and rows of its samples may be in further inputs: convert all of them together")},
	{setting{"null-keys", "", GroupInput, "rows without a key are an error, or left out and counted", func(s *Settings) Value { return value.OneOf(&s.NullKeys, "fail", "drop") }}, NotKept, with("group-rows", "group-index")},
	{setting{"unused-rows", "", GroupInput, "rows of no sample of --samples-from are an error, or left out and counted", func(s *Settings) Value { return value.OneOf(&s.UnusedRows, "fail", "drop") }}, NotKept, with("samples-from")},
	{setting{"once", "", GroupInput, "`FIELD,...`: fields with one value for all rows of a sample, which is checked; no lists are made of them", func(s *Settings) Value { return (*value.List)(&s.Once) }}, InRecipe, with("group-rows").not("samples-from", "samples without rows would have no value")},

	{setting{"output", "o", GroupOutput, "`FOLDER`: where the shards go", func(s *Settings) Value { return (*value.Text)(&s.Output) }}, NotKept, always},
	{setting{"format", "", GroupOutput, "`FORMAT`: output format; mmap for numbers, wds for files if left out", func(s *Settings) Value { return (*value.Text)(&s.Format) }}, AsFormat, always},
	{setting{"shard-size", "", GroupOutput, "size of a shard, about; 32MiB to 2GiB if left out", func(s *Settings) Value { return (*value.Size)(&s.ShardSize) }}, InRecipe, always.not("shard-samples", "")},
	{setting{"shard-samples", "", GroupOutput, "samples of a shard, instead of a size", func(s *Settings) Value { return (*value.Count)(&s.ShardSamples) }}, InRecipe, always},
	{setting{"max-output", "", GroupOutput, "fail before writing if the output would be larger", func(s *Settings) Value { return (*value.Size)(&s.MaxOutput) }}, NotKept, bound},
	{setting{"fresh", "", GroupOutput, "remove an earlier conversion in the output folder first", func(s *Settings) Value { return (*value.Bool)(&s.Fresh) }}, NotKept, bound},

	{setting{"columns", "", GroupSelection, "`GLOB,...`: only fields that match; !GLOB leaves out those that match", func(s *Settings) Value { return (*value.List)(&s.Columns) }}, InPlan, matched.fields()},
	{setting{"static", "", GroupSelection, "`FIELD,...`: fields of HDF5, NetCDF-4, Zarr or npz files that are the same for all samples, such as a land-sea mask or columns of genes: stored once in the set", func(s *Settings) Value { return (*value.List)(&s.Static) }}, InRecipe, matched},
	{setting{"limit", "", GroupSelection, "only the first N samples", func(s *Settings) Value { return (*value.Count)(&s.Limit) }}, InRecipe, bound.alone(", which says nothing about further inputs: convert them and use merge-sets")},
	{setting{"range", "", GroupSelection, "only samples LO up to but without HI, counted over all inputs", func(s *Settings) Value { return &s.Range }}, InRecipe, bound.alone(", which says nothing about further inputs: convert them and use merge-sets")},
	{setting{"max-sample", "", GroupSelection, "refuse samples that take more decoded; " + shardify.FormatSize(convert.DefaultMaxSample) + " if left out", func(s *Settings) Value { return (*value.Size)(&s.MaxSample) }}, NotKept, bound},
	{setting{"on-error", "", GroupSelection, "at a damaged sample: end, or leave it out and list it", func(s *Settings) Value {
		return value.OneOf(&s.OnError, plan.OnErrorFail, plan.OnErrorSkip)
	}}, InPlan, onError},

	opKey(transform.Parse, matched, func(s *Settings) Value { return (*value.Texts)(&s.Parse) }),
	opKey(transform.Join, matched.drops(" ... missing=drop"), func(s *Settings) Value { return (*value.Texts)(&s.Join) }),
	opKey(transform.Set, matched, func(s *Settings) Value { return (*value.Texts)(&s.Set) }),
	opKey(transform.Fraction, matched.moves(), func(s *Settings) Value { return (*value.Texts)(&s.Fraction) }),
	opKey(transform.Where, matched.moves(), func(s *Settings) Value { return (*value.Texts)(&s.Where) }),
	opKey(transform.DropDuplicates, matched.moves(), func(s *Settings) Value { return (*value.Texts)(&s.DropDuplicates) }),
	opKey(transform.Augment, matched.moves(), func(s *Settings) Value { return (*value.Texts)(&s.Augment) }),
	{setting{"check-images", "", GroupColumns, "decode images without changing them: a damaged one is an error, or left out with --on-error skip; as --augment check in front", func(s *Settings) Value { return (*value.Bool)(&s.CheckImages) }}, AsCheck, matched},
	opKey(transform.Copies, always.off("1"), func(s *Settings) Value { return (*Copies)(&s.Copies) }),
	opKey(transform.Patch, matched, func(s *Settings) Value { return (*value.Texts)(&s.Patch) }),
	opKey(transform.Define, matched, func(s *Settings) Value { return (*value.Texts)(&s.Define) }),
	opKey(transform.NaN, matched.drops(" drop"), func(s *Settings) Value { return (*value.Texts)(&s.NaN) }),
	opKey(transform.Encode, matched.fields(), func(s *Settings) Value { return (*value.Texts)(&s.Encode) }),
	opKey(transform.Tokenize, matched.drops(" ... empty=drop"), func(s *Settings) Value { return (*value.Texts)(&s.Tokenize) }),
	opKey(transform.Pick, matched, func(s *Settings) Value { return (*value.Texts)(&s.Pick) }),
	opKey(transform.Sort, matched, func(s *Settings) Value { return (*value.Texts)(&s.Sort) }),
	opKey(transform.Stack, matched, func(s *Settings) Value { return (*value.Texts)(&s.Stack) }),
	opKey(transform.Pad, matched, func(s *Settings) Value { return (*value.Texts)(&s.Pad) }),
	opKey(transform.Rename, matched, func(s *Settings) Value { return (*value.Texts)(&s.Rename) }),
	opKey(transform.Cast, matched, func(s *Settings) Value { return (*value.Texts)(&s.Cast) }),
	opKey(transform.Pack, matched, func(s *Settings) Value { return (*value.Texts)(&s.Pack) }),
	opKey(transform.Sequences, matched, func(s *Settings) Value { return (*value.Texts)(&s.Sequences) }),

	{setting{"window", "", GroupOrder, "`[AXIS=]IN+OUT[,step=,lead=,stride=,name=]`: samples are windows of rows in order, chosen by the values of a field; mmap shards store rows once, others a copy for each window", func(s *Settings) Value { return (*value.Texts)(&s.Window) }}, InRecipe, matched.not("copies", "the copies of a row are at the same place")},
	{setting{"shuffle", "", GroupOrder, "samples as they come, mixed in each shard, or over all", func(s *Settings) Value {
		return value.OneOf(&s.Shuffle, plan.ShuffleNone, plan.ShuffleBlock, plan.ShuffleGlobal)
	}}, InPlan, always},
	{setting{"seed", "", GroupOrder, "`NUMBER`: seed of everything random", func(s *Settings) Value { return (*value.Seed)(&s.Seed) }}, InPlan, Rules{Useless: uselessSeed}},
	{setting{"split", "", GroupOrder, "`NAME=SHARE,...`: several sets: a=0.8,b=0.2 or a=rest,b=10000 or 'a=x < 3; b=rest'", func(s *Settings) Value { return (*value.Text)(&s.Split) }}, InPlan, always.not("split-from", "")},
	{setting{"split-from", "", GroupOrder, "`dirs|objects|none|column=FIELD|NAME=GLOB,...|NAME=@FILE,...`: keep splits that exist: dirs are the INPUT folders if there are several, else the folders in INPUT; objects are /train and /test in one file; FIELD has their names; globs are of inputs, files have the names of samples, one a line; none: folders named train, val, test and alike are not taken for splits", func(s *Settings) Value { return (*value.Text)(&s.SplitFrom) }}, InPlan, matched.off(splits.None)},
	{setting{"identity", "", GroupOrder, "`FIELD,...`: fields that identify a sample for the split; its file and its place in the file if left out", func(s *Settings) Value { return (*value.List)(&s.Identity) }}, InPlan, with("split", "split-from").fields()},
	{setting{"stratify", "", GroupOrder, "`FIELD`: each split gets the same share of the samples of each of its values", func(s *Settings) Value { return (*value.Text)(&s.Stratify) }}, InPlan, with("split", "split-from").not("group-by", "a group may have several values").fields()},
	{setting{"group-by", "", GroupOrder, "`FIELD`: samples with the same value (a run, a patient) are in one split", func(s *Settings) Value { return (*value.Text)(&s.GroupBy) }}, InPlan, with("split", "split-from").not("identity", "the group is what decides").fields()},
	{setting{"scratch", "", GroupOrder, "`FOLDER`: where scratch files go: unfinished shards (not with plan), and those of --shuffle, which all tasks must see; inside the output folder if left out", func(s *Settings) Value { return (*value.Text)(&s.Scratch) }}, NotKept, bound},
	{setting{"provenance", "", GroupOrder, "add where each sample came from: the field " + plan.OriginField + ", and the list " + index.InputsName, func(s *Settings) Value { return (*value.Bool)(&s.Provenance) }}, InPlan, always},

	{setting{"jobs", "j", GroupRunning, "shards made at the same time; the number of cores if left out", func(s *Settings) Value { return (*value.Jobs)(&s.Jobs) }}, NotKept, bound},
	{setting{"memory", "", GroupRunning, "memory to stay under; a quarter of what is there if left out", func(s *Settings) Value { return (*value.Memory)(&s.Memory) }}, NotKept, bound},
	{setting{"sync", "", GroupRunning, "make files durable one by one, all at the end, or never (none: for scratch, a power cut may lose data)", func(s *Settings) Value {
		return value.OneOf(&s.Sync, string(local.SyncShard), string(local.SyncEnd), string(local.SyncNone))
	}}, NotKept, bound},
	{setting{"ignore-times", "", GroupRunning, "inputs of the same size are unchanged, whatever their times of modification", func(s *Settings) Value { return (*value.Bool)(&s.IgnoreTimes) }}, NotKept, bound},
}
