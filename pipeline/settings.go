package pipeline

import (
	"cmp"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/transform"
)

// Settings say what a conversion does. They are the recipe: Keys has for each field its key,
// which is also the flag of the command, and its description. Zero values are the defaults.
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
	Hooks Hooks

	split    *plan.Split
	grouping *plan.Grouping // nil without
	samples  string         // path of the table of SamplesFrom
	shape    transform.Settings
	beside   sideFiles
	compile  flow.Compile // transform.Compile if nil
	local    string       // folder for shards in the making; "" is the output folder
	alone    bool         // this process does all of the plan
	recorded bool         // they are those of a finished set
}

// Check refuses settings that are wrong whatever the inputs are.
func (s *Settings) Check() error {
	switch {
	case len(s.Inputs) == 0 && s.FilesFrom == "" && s.From != "synth":
		return shardify.Hint(shardify.Usage("no input"), "for example: shardify convert photos/ -o photos-shards")
	case s.Output == "":
		return shardify.Hint(shardify.Usage("no output folder"), "say where the shards go: -o FOLDER")
	}
	for i := range Keys {
		if err := Keys[i].check(s); err != nil {
			return shardify.Usage("--%s %v", Keys[i].Name, err)
		}
	}
	if err := s.together(); err != nil {
		return err
	}
	split, err := s.parseSplit()
	if err != nil {
		return err
	}
	return s.checkWindow(split)
}

// complete fills in defaults, and parses what is text.
func (s *Settings) complete() (err error) {
	if err := s.together(); err != nil {
		return err
	}
	s.OnError = cmp.Or(s.OnError, plan.OnErrorFail)
	s.Shuffle = cmp.Or(s.Shuffle, plan.ShuffleNone)
	s.Sync = cmp.Or(s.Sync, string(local.SyncShard))
	s.Columns, s.Identity, s.Static = value.Trimmed(s.Columns), value.Trimmed(s.Identity), value.Trimmed(s.Static)
	s.Inputs = slices.Clone(s.Inputs)
	for i, in := range s.Inputs {
		s.Inputs[i] = storages.Plain(in)
	}
	s.Output = storages.Plain(s.Output)
	s.shape = s.operations()
	if s.split, err = s.parseSplit(); err == nil {
		s.grouping, err = s.parseGrouping()
	}
	return err
}
