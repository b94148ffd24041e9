package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settingsFlags are the flags that convert and plan share.
type settingsFlags struct {
	s       cli.Settings
	recipe  string
	formats *cli.FormatFlags
	ops     opsFlags

	shardSize, maxOutput, maxSample cli.SizeValue
	memory                          cli.MemoryValue
	shardSamples, limit, jobs       cli.CountValue
	onError, sync, shuffle          cli.EnumValue
	split                           cli.SplitFlags
}

// group puts the flags that add adds under a heading.
func group(fs *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	part := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(part)
	part.VisitAll(func(f *pflag.Flag) {
		fs.AddFlag(f)
		fs.SetAnnotation(f.Name, cli.Group, []string{heading})
	})
}

func addSettings(c *cobra.Command) *settingsFlags {
	f := &settingsFlags{
		onError: cli.EnumValue{Values: []string{convert.OnErrorFail, convert.OnErrorSkip}, Value: convert.OnErrorFail},
		shuffle: cli.EnumValue{Values: []string{convert.ShuffleNone, convert.ShuffleBlock, convert.ShuffleGlobal}, Value: convert.ShuffleNone},
	}
	fs := c.Flags()
	fs.SortFlags = false
	group(fs, "Input", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.s.From, "from", "", "input `FORMAT`; found out from the inputs if left out")
		fs.StringVar(&f.s.FilesFrom, "files-from", "", "read names of inputs from `FILE`, ended by zero bytes or line feeds; - is standard input")
		addFollow(fs, &f.s.Follow)
		fs.StringVar(&f.recipe, "recipe", "", "read flags from `FILE`.yaml: keys are flag names, and inputs and output; the command line wins")
	})
	group(fs, "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&f.s.Output, "output", "o", "", "`FOLDER` for the shards")
		fs.StringVar(&f.s.Format, "format", "", "output `FORMAT`; mmap for numbers, wds for files if left out")
		fs.Var(&f.shardSize, "shard-size", "aim of a shard's size; 32MiB to 2GiB with the size of the set if left out")
		fs.Var(&f.shardSamples, "shard-samples", "exact samples of a shard, instead of a size")
		fs.Var(&f.maxOutput, "max-output", "fail before writing if the output would be larger")
		fs.BoolVar(&f.s.Fresh, "fresh", false, "remove an earlier conversion in the output folder first (only its own files)")
	})
	group(fs, "Selection", func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.s.Columns, "columns", nil, "only fields that match one of these `GLOB,...`; !GLOB leaves out those that match it")
		fs.Var(&f.limit, "limit", "only the first N samples")
		fs.Var(&f.s.Range, "range", "only samples LO up to but without HI, counted over all inputs")
		addMaxSample(fs, &f.maxSample)
		fs.Var(&f.onError, "on-error", "what a damaged sample does: end the conversion, or be left out and listed")
	})
	group(fs, "Labels and columns", func(fs *pflag.FlagSet) { f.ops = addOps(fs) })
	group(fs, "Order and splits", func(fs *pflag.FlagSet) {
		fs.Var(&f.shuffle, "shuffle", "order of the samples: as the inputs have it, mixed within each shard, or mixed over all inputs (needs scratch space)")
		fs.Uint64Var(&f.s.Seed, "seed", 0, "what is random follows from this `NUMBER`")
		fs.StringVar(&f.split.Split, "split", "", "make several data sets, as in train=0.8,val=0.1,test=0.1 or train=rest,val=10000: `NAME=SHARE,...`")
		fs.StringVar(&f.split.From, "split-from", "", "keep splits that exist: dirs (the INPUT folders if there are several, else the folders in INPUT), objects (/train and /test in one file), or `NAME=GLOB,...` of inputs")
		fs.StringSliceVar(&f.split.Identity, "identity", nil, "fields that say who a sample is, for the split; its file and place in it if left out: `FIELD,...`")
		fs.StringVar(&f.split.Stratify, "stratify", "", "share the samples of each value of `FIELD` in the same proportions")
		fs.StringVar(&f.split.GroupBy, "group-by", "", "keep samples with the same value of `FIELD` (a run, a patient) in one split")
		fs.StringVar(&f.s.Scratch, "scratch", "", "`FOLDER` for scratch files: shards in the making (not with plan), and what --shuffle writes; that must be seen by all tasks. Inside the output folder if left out")
		fs.BoolVar(&f.s.Provenance, "provenance", false, "add where each sample came from: the field "+convert.OriginField+", and the list "+convert.InputsName)
	})
	group(fs, "Running", func(fs *pflag.FlagSet) { addRunning(fs, &f.jobs, &f.memory, &f.sync) })
	f.formats = cli.AddFormatFlags(fs, readers.Formats, writers.Formats)
	return f
}

func addFollow(fs *pflag.FlagSet, follow *bool) {
	fs.BoolVar(follow, "follow-symlinks", false, "take what symbolic links in input folders lead to, wherever that is; without it only what is in the same input folder, and others are refused")
}

func addMaxSample(fs *pflag.FlagSet, most *cli.SizeValue) {
	fs.Var(most, "max-sample", "refuse samples that take more decoded; "+shardify.FormatSize(convert.DefaultMaxSample)+" if left out")
}

func addRunning(fs *pflag.FlagSet, jobs *cli.CountValue, memory *cli.MemoryValue, sync *cli.EnumValue) {
	*sync = cli.EnumValue{Values: []string{string(local.SyncShard), string(local.SyncEnd), string(local.SyncNone)}, Value: string(local.SyncShard)}
	fs.VarP(jobs, "jobs", "j", "shards made at the same time; the cores of the machine or allocation if left out")
	fs.Var(memory, "memory", "memory to stay under; a quarter of what is there if left out")
	fs.Var(sync, "sync", "make files durable one by one, all at the end, or never (none: for scratch, a power cut may lose data)")
}

// settings completes the flags by the recipe and returns them.
func (f *settingsFlags) settings(p *program, c *cobra.Command, args []string) (cli.Settings, error) {
	inputs := args
	if f.recipe != "" {
		r, err := cli.LoadRecipe(f.recipe)
		if err != nil {
			return f.s, err
		}
		if err := r.Apply(f.recipe, c.Flags()); err != nil {
			return f.s, err
		}
		if len(inputs) == 0 && f.s.FilesFrom == "" {
			inputs = r.Inputs
		}
	}
	s := f.s
	s.Inputs, s.Stdin = inputs, p.stdin
	s.Columns, f.split.Identity = cli.Trimmed(s.Columns), cli.Trimmed(f.split.Identity)
	s.Shape = f.ops.given()
	s.Options, s.Owners = f.formats.Given(), f.formats.Owners()
	s.ShardSize, s.ShardSamples, s.Limit = int64(f.shardSize), int64(f.shardSamples), int64(f.limit)
	s.OnError, s.Sync = f.onError.Value, local.Sync(f.sync.Value)
	s.Jobs, s.Memory, s.MaxOutput = int(f.jobs), int64(f.memory), int64(f.maxOutput)
	s.Shuffle, s.MaxSample = f.shuffle.Value, int64(f.maxSample)
	var err error
	if s.Split, err = f.split.Parse(); err != nil {
		return s, err
	}
	return s, check(s)
}

// check refuses what needs no data to be wrong.
func check(s cli.Settings) error {
	switch {
	case len(s.Inputs) == 0 && s.FilesFrom == "" && s.From != "synth":
		return cli.Hint(cli.Usage("no input"), "for example: shardify convert photos/ -o photos-shards")
	case s.Output == "":
		return cli.Hint(cli.Usage("no output folder"), "say where the shards go: -o FOLDER")
	case s.ShardSize > 0 && s.ShardSamples > 0:
		return cli.Usage("--shard-size and --shard-samples exclude each other")
	}
	return nil
}
