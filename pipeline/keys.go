package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
)

// Key is a setting of a conversion: a field of Settings, its key in recipes, and its flag.
type Key = KeyOf[Settings]

// KeyOf is a setting, a field of S, and its flag.
type KeyOf[S any] struct {
	Name  string
	Short string // of the flag
	Group string // heading in the help; no flag of its own without
	// Help describes the setting. A word in back quotes is what the value is called.
	Help string
	// Of is the setting as text.
	Of func(s *S) Value
}

// Value is a setting as text.
type Value interface {
	Set(text string) error // adds to a list
	String() string
	Type() string
}

// Headings of the settings.
const (
	GroupInput     = "Input"
	GroupOutput    = "Output"
	GroupSelection = "Selection"
	GroupColumns   = "Labels and columns"
	GroupOrder     = "Order and splits"
	GroupRunning   = "Running"
)

// Keys are all settings but the options of formats, in the order of the help.
var Keys = []Key{
	{"inputs", "", "", "files, folders and patterns of one format", func(s *Settings) Value { return (*value.Texts)(&s.Inputs) }},
	{"from", "", GroupInput, "input `FORMAT`; found out from the inputs if left out", func(s *Settings) Value { return (*value.Text)(&s.From) }},
	{"files-from", "", GroupInput, "read names of inputs from `FILE`, ended by zero bytes or line feeds; - is standard input", func(s *Settings) Value { return (*value.Text)(&s.FilesFrom) }},
	{"follow-symlinks", "", GroupInput, "take what symbolic links in input folders lead to, wherever that is; without it only what is in the same input folder, and others are refused", func(s *Settings) Value { return (*value.Bool)(&s.FollowSymlinks) }},

	{"output", "o", GroupOutput, "`FOLDER` for the shards", func(s *Settings) Value { return (*value.Text)(&s.Output) }},
	{"format", "", GroupOutput, "output `FORMAT`; mmap for numbers, wds for files if left out", func(s *Settings) Value { return (*value.Text)(&s.Format) }},
	{"shard-size", "", GroupOutput, "aim of a shard's size; 32MiB to 2GiB with the size of the set if left out", func(s *Settings) Value { return (*value.Size)(&s.ShardSize) }},
	{"shard-samples", "", GroupOutput, "exact samples of a shard, instead of a size", func(s *Settings) Value { return (*value.Count)(&s.ShardSamples) }},
	{"max-output", "", GroupOutput, "fail before writing if the output would be larger", func(s *Settings) Value { return (*value.Size)(&s.MaxOutput) }},
	{"fresh", "", GroupOutput, "remove an earlier conversion in the output folder first (only its own files)", func(s *Settings) Value { return (*value.Bool)(&s.Fresh) }},

	{"columns", "", GroupSelection, "only fields that match one of these `GLOB,...`; !GLOB leaves out those that match it", func(s *Settings) Value { return (*value.List)(&s.Columns) }},
	{"limit", "", GroupSelection, "only the first N samples", func(s *Settings) Value { return (*value.Count)(&s.Limit) }},
	{"range", "", GroupSelection, "only samples LO up to but without HI, counted over all inputs", func(s *Settings) Value { return &s.Range }},
	{"max-sample", "", GroupSelection, "refuse samples that take more decoded; " + shardify.FormatSize(convert.DefaultMaxSample) + " if left out", func(s *Settings) Value { return (*value.Size)(&s.MaxSample) }},
	{"on-error", "", GroupSelection, "what a damaged sample does: end the conversion, or be left out and listed", func(s *Settings) Value {
		return value.OneOf(&s.OnError, plan.OnErrorFail, plan.OnErrorSkip)
	}},

	opKey(transform.Set, func(s *Settings) Value { return (*value.Texts)(&s.Set) }),
	opKey(transform.Fraction, func(s *Settings) Value { return (*value.Texts)(&s.Fraction) }),
	opKey(transform.Where, func(s *Settings) Value { return (*value.Texts)(&s.Where) }),
	opKey(transform.Augment, func(s *Settings) Value { return (*value.Texts)(&s.Augment) }),
	{"check-images", "", GroupColumns, "decode images without changing them: a damaged one is an error, or left out with --on-error skip; as --augment check in front", func(s *Settings) Value { return (*value.Bool)(&s.CheckImages) }},
	opKey(transform.Copies, func(s *Settings) Value { return (*copies)(&s.Copies) }),
	opKey(transform.Define, func(s *Settings) Value { return (*value.Texts)(&s.Define) }),
	opKey(transform.NaN, func(s *Settings) Value { return (*value.Texts)(&s.NaN) }),
	opKey(transform.Encode, func(s *Settings) Value { return (*value.Texts)(&s.Encode) }),
	opKey(transform.Sort, func(s *Settings) Value { return (*value.Texts)(&s.Sort) }),
	opKey(transform.Stack, func(s *Settings) Value { return (*value.Texts)(&s.Stack) }),
	opKey(transform.Pad, func(s *Settings) Value { return (*value.Texts)(&s.Pad) }),
	opKey(transform.Rename, func(s *Settings) Value { return (*value.Texts)(&s.Rename) }),
	opKey(transform.Cast, func(s *Settings) Value { return (*value.Texts)(&s.Cast) }),
	opKey(transform.Pack, func(s *Settings) Value { return (*value.Texts)(&s.Pack) }),

	{"shuffle", "", GroupOrder, "order of the samples: as the inputs have it, mixed within each shard, or mixed over all inputs (needs scratch space)", func(s *Settings) Value {
		return value.OneOf(&s.Shuffle, plan.ShuffleNone, plan.ShuffleBlock, plan.ShuffleGlobal)
	}},
	{"seed", "", GroupOrder, "what is random follows from this `NUMBER`", func(s *Settings) Value { return (*value.Seed)(&s.Seed) }},
	{"split", "", GroupOrder, "make several data sets, as in train=0.8,val=0.1,test=0.1 or train=rest,val=10000: `NAME=SHARE,...`", func(s *Settings) Value { return (*value.Text)(&s.Split) }},
	{"split-from", "", GroupOrder, "keep splits that exist: dirs (the INPUT folders if there are several, else the folders in INPUT), objects (/train and /test in one file), or `NAME=GLOB,...` of inputs", func(s *Settings) Value { return (*value.Text)(&s.SplitFrom) }},
	{"identity", "", GroupOrder, "fields that say who a sample is, for the split; its file and place in it if left out: `FIELD,...`", func(s *Settings) Value { return (*value.List)(&s.Identity) }},
	{"stratify", "", GroupOrder, "share the samples of each value of `FIELD` in the same proportions", func(s *Settings) Value { return (*value.Text)(&s.Stratify) }},
	{"group-by", "", GroupOrder, "keep samples with the same value of `FIELD` (a run, a patient) in one split", func(s *Settings) Value { return (*value.Text)(&s.GroupBy) }},
	{"scratch", "", GroupOrder, "`FOLDER` for scratch files: shards in the making (not with plan), and what --shuffle writes; that must be seen by all tasks. Inside the output folder if left out", func(s *Settings) Value { return (*value.Text)(&s.Scratch) }},
	{"provenance", "", GroupOrder, "add where each sample came from: the field " + plan.OriginField + ", and the list " + plan.InputsName, func(s *Settings) Value { return (*value.Bool)(&s.Provenance) }},

	{"jobs", "j", GroupRunning, "shards made at the same time; the cores of the machine or allocation if left out", func(s *Settings) Value { return (*value.Jobs)(&s.Jobs) }},
	{"memory", "", GroupRunning, "memory to stay under; a quarter of what is there if left out", func(s *Settings) Value { return (*value.Memory)(&s.Memory) }},
	{"sync", "", GroupRunning, "make files durable one by one, all at the end, or never (none: for scratch, a power cut may lose data)", func(s *Settings) Value {
		return value.OneOf(&s.Sync, string(local.SyncShard), string(local.SyncEnd), string(local.SyncNone))
	}},
	{"ignore-times", "", GroupRunning, "take inputs that were modified since the plan was made for unchanged, if their sizes are the same", func(s *Settings) Value { return (*value.Bool)(&s.IgnoreTimes) }},
}

// opKey is the key of an operation.
func opKey(name string, of func(s *Settings) Value) Key {
	return Key{Name: name, Group: GroupColumns, Help: transform.Lookup(name).Usage(), Of: of}
}

// Lookup finds a key; nil if there is none of the name.
func Lookup(name string) *Key {
	if i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name }); i >= 0 {
		return &Keys[i]
	}
	return nil
}

// check refuses a value that Set would.
func (k *KeyOf[S]) check(s *S) error {
	if v, ok := k.Of(s).(interface{ Check() error }); ok {
		return v.Check()
	}
	return nil
}

// copies is a number of copies.
type copies int

const mostCopies = 1 << 16

// Set reads a number from 1.
func (c *copies) Set(text string) error {
	n, err := strconv.Atoi(text)
	*c = copies(n)
	if err != nil || n == 0 || c.Check() != nil {
		return fmt.Errorf("%s: want a number from 1 to %d", text, mostCopies)
	}
	return nil
}

// Check refuses what no copies are; 0 is the default.
func (c *copies) Check() error {
	if *c < 0 || *c > mostCopies {
		return errors.New(c.String() + ": want a number from 1 to " + strconv.Itoa(mostCopies))
	}
	return nil
}

// String is empty for the default.
func (c *copies) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}

// Type is shown in help.
func (c *copies) Type() string { return "N" }
