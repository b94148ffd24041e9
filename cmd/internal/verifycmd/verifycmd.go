// Package verifycmd is the command verify, which is a program of its own and a
// command of shardify: flags, one call, and the printing.
package verifycmd

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/verify"
	"github.com/spf13/cobra"
)

type flags struct {
	publicKey string
	id        string
	read      string
	seed      uint64
	against   inputs
	repair    bool
	jobs      value.Count
	show      int
	scratch   string
}

// New returns the command. name is how the user calls it: "verify" or "shardify
// verify". The flags --json and --quiet, which set fields of o, are the caller's.
func New(o *cli.IO, name string) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "verify FOLDER [--against [INPUT...]]",
		Short: "check every byte of a data set",
		Long: `Checks, the cheapest first: the manifest, names and sizes of all files, offset indexes, the structure of every shard, and the
checksums of all shards or of the part that --read names. Every problem is listed with file, place, and both sides; a damaged shard does
not stop the others. An unfinished conversion is checked as far as it is done; the exit code is then 3.

With --against, the inputs are read again and every value is compared. INPUT... says where they are now, if they have moved. A conversion
that shuffled, split, selected or changed samples is repeated in a scratch folder. What cannot be compared is listed, and the exit code is 3.

Files that follow from the shards (offset indexes, files for other loaders, the manifest) are rebuilt with --repair, also when they are missing. Shards are never
touched: the last line says how to convert the damaged ones again.

Tars and safetensors files made by others, or folders of them, are checked for what makes some loader misread them.`,
		Example: name + ` photos-shards
` + name + ` photos-shards --read 5%
` + name + ` photos-shards --against photos/
` + name + ` photos-shards --repair
` + name + ` downloaded/*.tar`,
		Args: cobra.ArbitraryArgs,
	}
	fs := c.Flags()
	fs.StringVar(&f.read, "read", "all", "whose data to read: all, none, a `PART` such as 1/8 (parts 1/8 to 8/8 are all), or 5% at random")
	fs.Uint64Var(&f.seed, "seed", 0, "choose the shards of a percentage by this `NUMBER`; at random if left out")
	fs.Var(&f.against, "against", "compare the values with the inputs")
	fs.Lookup("against").NoOptDefVal = recorded
	fs.StringVar(&f.scratch, "scratch", "", "`FOLDER` in which --against converts again what was shuffled, split or changed; that of the system ($TMPDIR) if left out")
	fs.BoolVar(&f.repair, "repair", false, "rebuild damaged indexes, files for other loaders and the manifest")
	fs.StringVar(&f.publicKey, "public-key", "", "check that minisign's shardify.json.minisig in the folder signs the manifest with this `KEY` (RW...)")
	fs.StringVar(&f.id, "id", "", "check that the set, or the set of which it is a split, has this `ID`, which shardify id prints")
	fs.Var(&f.jobs, "jobs", "shards checked at once; the number of processors if left out")
	fs.IntVar(&f.show, "show", 100, "print at most `N` problems; 0 means all")
	cli.Complete(c, map[string][]string{"read": {"all", "none", "1/8", "5%"}})
	c.RunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("seed") {
			f.seed = uint64(rand.Uint32())
		}
		return f.run(c.Context(), o, name, args)
	}
	cli.AddCache(o, c)
	cli.AddEffects(c, cli.Effects{
		"seed":    cli.If(func() bool { return !strings.HasSuffix(f.read, "%") }, "nothing is random: it is for --read with a percentage"),
		"scratch": cli.If(func() bool { return !f.against.set }, "it is for --against"),
		"read":    nil, "against": nil, "repair": nil, "public-key": nil, "id": nil, "jobs": nil, "show": nil, "cache": nil, "cache-size": nil,
	})
	return c
}

// recorded means the inputs at the paths in the plan.
const recorded = "\x00recorded"

// inputs is the flag --against, which may have a value or not.
type inputs struct {
	set  bool
	list []string
}

func (v *inputs) Set(s string) error {
	v.set = true
	if s != recorded {
		v.list = append(v.list, s)
	}
	return nil
}

// Repeats: several inputs are a list.
func (v *inputs) Repeats() {}

func (v *inputs) String() string { return strings.Join(v.list, " ") }

// Type is shown in help.
func (v *inputs) Type() string { return "[INPUT...]" }

func (f *flags) run(ctx context.Context, o *cli.IO, name string, args []string) error {
	part, err := verify.ParsePart(f.read)
	if err != nil {
		return shardify.Usage("--read: %v", err)
	}
	opt := verify.Options{
		Command: name, Read: part, Seed: f.seed, Against: f.against.set, Inputs: f.against.list,
		Scratch: f.scratch, Repair: f.repair, PublicKey: f.publicKey, ID: f.id, Jobs: int(f.jobs), Keep: f.show,
	}
	if f.show <= 0 {
		opt.Keep = 1 << 30
	}
	bar := o.NewBar()
	h := pipeline.Hooks{Every: bar.Every()}
	if !o.Quiet {
		h.Progress = bar.Checking
	}
	r, err := pipeline.Verify(ctx, args, opt, h)
	bar.Clear()
	if err != nil {
		return err
	}
	return show(o, args, f, r)
}
