// Package benchcmd is the command bench, which shardify and shardify-gpu share:
// flags, one call, and the printing.
package benchcmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/trainer"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type flags struct {
	columns                       []string
	cast                          map[string]string
	batch, epochs, steps, seconds value.Count
	shuffleWindow, workers, depth value.Count
	ranks                         value.Count
	window, tokens                string
	stepMS                        float64
	seed                          uint64
	memory, deviceMemory          value.Memory
	shuffle, tier, check          *value.Enum
	device, stage, trace, html    string
	synthetic, cold, noBound      bool
	compare                       bool
}

// handOver runs another program with the same arguments; it returns only when that
// is not possible. nil: this program opens every device by itself.
type handOver func(device string) error

const defaultBatch = 256

// New returns the command. name is how the user calls it: "shardify bench". The
// flags --json and --quiet, which set fields of o, are the caller's.
func New(o *cli.IO, name string, handOver handOver) *cobra.Command {
	f := &flags{
		shuffle: enum(string(gpuload.None), string(gpuload.Block), string(gpuload.Global)),
		tier:    enum(string(gpuload.TierAuto), string(gpuload.TierDevice), string(gpuload.TierPinned), string(gpuload.TierStaged), string(gpuload.TierStream)),
		check:   enum(string(gpuload.VerifyWhole), string(gpuload.VerifyOpen), string(gpuload.VerifyNone)),
	}
	c := &cobra.Command{
		Use:   "bench FOLDER...",
		Short: "measure how fast a data set feeds a trainer, and what limits it",
		Long: `Plays a trainer: takes batches from the loader, computes (sleeps) for --step-ms on each, and prints samples and bytes a second, the
accelerator's utilisation, how long steps waited, what the loader did meanwhile, what it cost, and what limits the rate. For comparison it
prints the rate of the same trainer with batches that cost nothing to make.

Utilisation is as DLIO (MLPerf Storage) defines it: the share of the time in which the accelerator computed. The first batch, and what comes
before it, are reported separately. Several folders are read as one set.

It stops after --epochs, --steps or --seconds, whichever comes first; after ten seconds if none is given.`,
		Example: name + ` digits-shards --batch 128 --step-ms 5 --shuffle block
` + name + ` digits-shards --steps 500 --html report.html --trace trace.json
` + name + ` digits-shards --device cuda:0 --tier pinned
` + name + ` --compare before.json after.json --html compared.html`,
		Args: cobra.ArbitraryArgs,
	}
	f.add(c.Flags())
	cli.ShortHelp(c, "columns", "batch", "shuffle", "html", "compare", "step-ms", "epochs", "steps", "seconds", "ranks", "device", "tier", "memory", "workers")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return shardify.Hint(shardify.Usage("want the folder of a data set"), "see: "+name+" --help")
		}
		if f.compare {
			return compare(o, args, f.html)
		}
		if f.device != host && handOver != nil {
			return handOver(f.device)
		}
		return f.run(c.Context(), o, args)
	}
	cli.AddCache(o, c)
	cli.AddEffects(c, f.effects(c.Flags()))
	return c
}

// effects are those of all flags. --compare measures nothing, so that all but --html have none.
func (f *flags) effects(fs *pflag.FlagSet) cli.Effects {
	e := cli.Effects{
		"seed": cli.If(func() bool {
			return f.shuffle.String() == string(gpuload.None) && !strings.Contains(f.tokens, "offset=random")
		},
			"nothing is random: it is for --shuffle block, --shuffle global and --tokens with offset=random"),
		"shuffle-window": cli.If(func() bool { return f.shuffle.String() != string(gpuload.Block) }, "it is for --shuffle block"),
		"no-bound":       cli.If(func() bool { return f.device == host && f.stepMS == 0 }, "without --step-ms there is no run that measures the bound"),
		"device-memory":  cli.If(func() bool { return f.device == host }, "the batches stay on the host (--device host)"),
		"stage":          cli.If(func() bool { return f.tier.String() != string(gpuload.TierStaged) }, "it is for --tier staged"),
	}
	fs.VisitAll(func(flag *pflag.Flag) {
		say := e[flag.Name]
		if flag.Name == "compare" || flag.Name == "html" {
			e[flag.Name] = nil
			return
		}
		e[flag.Name] = func() string {
			switch {
			case f.compare:
				return "--compare measures nothing"
			case say != nil:
				return say()
			}
			return ""
		}
	})
	return e
}

// host is the device of batches that stay in memory.
const host = "host"

func enum(values ...string) *value.Enum { return value.OneOf(new(string), values...) }

func (f *flags) add(fs *pflag.FlagSet) {
	fs.SortFlags = false
	cli.Grouped(fs, "Input", func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.columns, "columns", nil, "only fields that match one of these `GLOB,...`")
		fs.StringToStringVar(&f.cast, "cast", nil, "convert columns on the way, as `COLUMN=DTYPE,...`")
		fs.VarP(&f.batch, "batch", "b", "samples of a batch; 256 if left out, or all that there are")
		fs.Var(f.shuffle, "shuffle", "order of the samples")
		fs.StringVar(&f.window, "window", "", "samples are windows of rows: `NAME` of a view, AXIS=IN+OUT[,step=,lead=,stride=] or IN+OUT")
		fs.StringVar(&f.tokens, "tokens", "", "samples are stretches of the tokens of all documents: `FIELD=LENGTH[,offset=random|N][,labels=shift]`")
		fs.Var(&f.shuffleWindow, "shuffle-window", "samples from which a batch of a block shuffle is drawn; those of 256 MiB if left out")
		fs.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that decides the order")
	})
	cli.Grouped(fs, "Output", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.trace, "trace", "", "write the timeline to `FILE`, for ui.perfetto.dev or chrome://tracing")
		fs.StringVar(&f.html, "html", "", "write a page with the figures, charts and timeline to `FILE`")
		fs.BoolVar(&f.compare, "compare", false, "compare earlier runs instead of measuring; the files have the output of --json, of one run or many")
	})
	cli.Grouped(fs, "Running", func(fs *pflag.FlagSet) {
		fs.Float64Var(&f.stepMS, "step-ms", 0, "`MS` that the accelerator computes on a batch; 0 measures the loader alone")
		fs.Var(&f.epochs, "epochs", "stop after so many epochs")
		fs.Var(&f.steps, "steps", "stop after so many steps")
		fs.Var(&f.seconds, "seconds", "stop after so many seconds")
		fs.Var(&f.ranks, "ranks", "trainers side by side in this process, as on one node; 1 if left out")
		fs.BoolVar(&f.synthetic, "synthetic", false, "make batches once and hand them out again and again")
		fs.BoolVar(&f.noBound, "no-bound", false, "leave out the short synthetic run that measures the upper bound")
		fs.BoolVar(&f.cold, "cold", false, "ask the system to forget the cached shards first")
	})
	cli.Grouped(fs, "Running", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.device, "device", host, "where batches go, `host|cuda:N`; on a GPU, shardify-gpu is run")
		fs.Var(f.tier, "tier", "where samples of an epoch come from")
		fs.Var(&f.memory, "memory", "memory that samples may take; half of what is there if left out")
		fs.Var(&f.deviceMemory, "device-memory", "memory of the GPU that samples may take; 512 MiB if left out")
		fs.StringVar(&f.stage, "stage", "", "`FOLDER` of the tier staged; /dev/shm if left out")
		fs.Var(&f.workers, "workers", "goroutines that read and gather for a rank; the cores, at most 16, if left out")
		fs.Var(&f.depth, "depth", "batches made ahead; 3 if left out")
		fs.Var(f.check, "verify", "when checksums are compared")
	})
}

// options is what the flags ask for.
func (f *flags) options(set *gpuload.Dataset) (trainer.Options, error) {
	const longest = 3600e3
	if f.stepMS < 0 || f.stepMS != f.stepMS || f.stepMS > longest {
		return trainer.Options{}, shardify.Usage("--step-ms %v: want 0 to an hour", f.stepMS)
	}
	if f.seconds > 1e9 {
		return trainer.Options{}, shardify.Usage("--seconds %d: want at most 1000000000", f.seconds)
	}
	batch := int(f.batch)
	if batch == 0 {
		batch = int(max(min(defaultBatch, set.Len()/max(int64(f.ranks), 1)), 1))
	}
	casts, err := f.casts()
	if err != nil {
		return trainer.Options{}, err
	}
	depth := int(f.depth)
	if depth == 0 {
		depth = 3
	}
	o := trainer.Options{
		Load: gpuload.Config{
			Columns: value.Trimmed(f.columns), Cast: casts, Batch: batch, Shuffle: gpuload.Shuffle(f.shuffle.String()), Window: f.window, Tokens: f.tokens, ShuffleWindow: int64(f.shuffleWindow), Seed: f.seed,
			Tier: gpuload.Tier(f.tier.String()), Memory: int64(f.memory), DeviceMemory: int64(f.deviceMemory), Stage: f.stage, Depth: depth,
			Workers: int(f.workers), Verify: gpuload.Verify(f.check.String()), Synthetic: f.synthetic, Device: f.device,
		},
		Step: time.Duration(f.stepMS * float64(time.Millisecond)), Epochs: int(f.epochs), Steps: int64(f.steps), Time: time.Duration(f.seconds) * time.Second,
		Ranks: int(f.ranks), Bound: trainer.BoundTime, Detail: f.html != "",
	}
	if f.noBound || f.device == host && f.stepMS == 0 { // which would be the time of doing nothing
		o.Bound = 0
	}
	return o, nil
}

func (f *flags) casts() (map[string]gpuload.Cast, error) {
	out := map[string]gpuload.Cast{}
	for name, to := range f.cast {
		d, err := shardify.ParseDType(to)
		if err != nil {
			return nil, shardify.Usage("--cast %s=%s: %v", name, to, err)
		}
		out[name] = gpuload.Cast{DType: d}
	}
	return out, nil
}

func (f *flags) run(ctx context.Context, out *cli.IO, dirs []string) error {
	set, err := gpuload.Open(ctx, dirs...)
	if err != nil {
		return openHint(err, dirs)
	}
	defer set.Close()
	o, err := f.options(set)
	if err != nil {
		return err
	}
	files, err := f.create(&o)
	if err != nil {
		return err
	}
	defer files.abort()
	if f.cold {
		cold(ctx, out, dirs)
	}
	o.Progress = &trainer.Progress{}
	steps := int64(-1) // of all ranks, unless something else ends the run
	if o.Steps > 0 {
		steps = o.Steps * int64(max(o.Ranks, 1))
	}
	stop := out.NewBar().Training(steps, func() (steps, bytes int64) { return o.Progress.Steps.Load(), o.Progress.Bytes.Load() })
	r, err := trainer.Run(ctx, set, o)
	stop()
	if err != nil {
		return runHint(err, dirs)
	}
	if err := files.finish(r, strings.Join(dirs, ", ")); err != nil {
		return err
	}
	show(out, dirs, f, r)
	return nil
}

func openHint(err error, dirs []string) error {
	if errors.Is(err, shardify.ErrCorrupt) {
		return shardify.Hint(err, "what is damaged: shardify verify "+printable.Quote(dirs[0]))
	}
	return err
}

func runHint(err error, dirs []string) error {
	switch {
	case errors.Is(err, shardify.ErrCorrupt):
		return shardify.Hint(err, "what is damaged: shardify verify "+printable.Quote(dirs[0]))
	case errors.Is(err, trainer.ErrShort):
		return shardify.Hint(err, "a smaller --batch, or fewer --ranks")
	case errors.Is(err, gpuload.ErrNoDriver), errors.Is(err, gpuload.ErrNoDevice):
		return shardify.Hint(err, "nvidia-smi lists the GPUs; shardify-gpu probe lists what this program finds", "on the host: --device host")
	}
	return err
}
