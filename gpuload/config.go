package gpuload

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
)

// Shuffle is how the samples of an epoch are mixed, Last what happens to those at its end
// that fill no batch on every rank: Short is the default if they come in the order of the
// set, Drop with a shuffle, Weights or Balance.
type (
	Shuffle = order.Shuffle
	Last    = order.Last
	// Oversize is what happens to a sample that alone is more than a Limit.
	Oversize = order.Oversize
)

// Limit bounds the elements of a batch in all: of lists or texts (bytes), or the sum of a scalar
// field of whole numbers; or a sum of products of such, as "3*atoms + edges".
type Limit struct {
	Field string `json:"field"`
	Most  int64  `json:"most"`
}

// The kinds of Shuffle, and the policies of Last.
const (
	None   = order.None
	Block  = order.Block
	Global = order.Global

	Drop  = order.Drop
	Pad   = order.Pad
	Short = order.Short

	Refuse = order.Refuse
	Alone  = order.Alone
	Skip   = order.Skip
)

// Tier is where the samples of an epoch come from.
type Tier string

// The tiers.
const (
	// TierAuto is TierDevice when the columns fit into DeviceMemory, or into Memory and a part
	// into DeviceMemory without a Block shuffle; TierPinned when they fit into Memory, else
	// TierStream.
	TierAuto Tier = "auto"
	// TierDevice keeps the wanted columns of the whole set in the memory of the GPU,
	// those of variable length in host memory. It wants DeviceMemory: of a set that does not
	// fit it keeps as many samples as do, and has all in pinned memory.
	TierDevice Tier = "device"
	// TierPinned reads the wanted columns of the whole set once, into host memory that
	// the device may copy from.
	TierPinned Tier = "pinned"
	// TierStaged copies the shards to Stage, once for all ranks of a node, checks
	// them, and then gathers from there (mmap shards in tmpfs) or reads them as
	// TierStream does.
	TierStaged Tier = "staged"
	// TierStream reads ahead: windows of blocks, or each batch's samples.
	TierStream Tier = "stream"
)

// Config says what a Loader delivers. The zero value of a field is its default.
type Config struct {
	// Numbers has the GPU write the samples' numbers down, too (Batch.Numbers). It wants a tier
	// from which the GPU gathers: pinned or device, or a Block shuffle.
	Numbers bool
	// Columns are globs (path.Match) of the wanted fields; empty means all.
	Columns []string
	// Keys delivers the samples' own names as column "__key__", where the set has
	// them.
	Keys bool

	Batch   int     // samples per rank and step; with Budget at most so many, by default order.MaxPacked
	Shuffle Shuffle // None
	// Window makes samples of several rows: the name of a view that the set has ("NAME", or
	// "NAME,out=2" for fewer rows behind the anchor), or IN+OUT rows around an anchor, "3+1" by
	// number or "time=2+1,step=6h,lead=1d,stride=1d" by the values of a field. A field comes as
	// NAME [IN, ...] and NAME.next [OUT, ...]; Columns, of these names, choose. IDs are the
	// anchors' row numbers, as are Indices.
	Window string
	// Tokens makes samples of one length of the stream of tokens that the lists of a field are, one
	// after the other: "text=2048,offset=random,labels=shift". Sample i of a shard begins at token
	// i*2048 + offset: offset is a number below the length, 0 if left out, or random, another one for
	// each sample in each epoch. No sample goes from one shard to the next; IDs are the numbers of
	// first tokens, without a random offset. labels=shift delivers "labels", too: the tokens that
	// follow each. It wants mmap shards or pairs of Megatron-LM, and no Window.
	Tokens string
	// Budget makes batches of as many samples as have no more in all than each Limit says, and so
	// batches of different numbers of samples. It wants Last Drop or Short. Positions of a State are
	// batches then. docs/design/loader.md defines which samples come together.
	Budget []Limit
	// Padded: what a Limit counts is the samples of a batch times the longest of them.
	Padded bool
	// BudgetWindow is within how many samples of the order those of about the same length, by the
	// first Limit, come together; 1, the default, keeps the order.
	BudgetWindow int64
	Oversize     Oversize // what happens to a sample over a Limit; by default Refuse
	// ShuffleWindow is from how many samples a global batch of a Block shuffle is drawn.
	// It is part of the order. By default it is samples of 256 MiB.
	ShuffleWindow int64
	// Streams is in how many parts a Block shuffle runs through the set side by
	// side; world sizes that divide it read every block on one rank only. It is part
	// of the order. By default it is 192, or 1 for a set with fewer samples.
	Streams int
	Seed    uint64
	Epoch   int  // to begin with
	Last    Last // by default Short in order, else Drop

	lastByDefault bool

	// Rank of World ranks (default 1) receives this Loader's batches.
	Rank, World int

	// Indices are the samples to draw from, by number; nil means all.
	Indices []int64
	// Once: no sample is twice in Indices, which are the order of an epoch. It wants Shuffle None.
	// PerEpoch: each epoch has such Indices, these Epoch; SetOrder gives those of others.
	Once, PerEpoch bool
	// Mix weighs the inputs of Open: shares of the samples of every stretch of an
	// epoch, whatever the inputs' sizes.
	Mix []float64
	// Weights draws samples with replacement, each with a chance in proportion to
	// its weight.
	Weights []float64
	// Balance names a scalar integer field; its values are drawn equally often.
	Balance string
	// Samples is the length of an epoch with Mix, Weights or Balance; by default
	// that of the set.
	Samples int64

	// Cast converts columns, by name, to another type on their way into the batch.
	Cast map[string]Cast

	Tier Tier
	// Memory is the bytes that samples may take in host memory, slots not included.
	// The default depends on the machine; ranks of one node divide it by LocalRanks.
	Memory     int64
	LocalRanks int
	// DeviceMemory is the bytes that samples may take in the memory of this rank's
	// GPU, slots not included. By default 768 MiB, for windows of a Block shuffle alone;
	// less than 0 means no memory.
	DeviceMemory int64
	// Stage is the folder of TierStaged (default /dev/shm). Loaders of one set share
	// the copy there; the last one that is closed removes it, except for KeepStage.
	Stage     string
	KeepStage bool
	// Cache is a folder in which all Loaders of this node keep what they read from other
	// machines (storages.UseCache; default $SHARDIFY_CACHE, else none), CacheSize the bytes
	// that it may take.
	Cache     string
	CacheSize int64
	// Depth is how many batches are made ahead of the consumer (default 3). There is
	// one slot more, for the batch that the consumer holds. How many are made at the same
	// time is up to Workers.
	Depth int
	// Group is the bytes up to which several steps come as one Batch (default: one step),
	// on the host and where all columns are of fixed size, or with a Budget lists of numbers:
	// for consumers that part small batches at less cost than that of a call of Next.
	Group int64
	// Patience is how long Next waits while the consumer holds every slot before it
	// returns ErrHeld (default 30 s); less than 0 is for ever.
	Patience time.Duration
	// Workers is the goroutines that read and gather (default: cores, at most 16). Each
	// makes a batch of its own, while there are slots; where a GPU makes all of a batch, one
	// does for all.
	Workers int
	Verify  Verify
	// Synthetic fills every slot once and delivers it again and again: the rate that
	// no reading can exceed. IDs are then those of the first filling.
	Synthetic bool
	// Device is "host", "cuda:N" in builds with the tag cuda, or "auto" (the default):
	// the first GPU if there is one, else the host.
	Device string
	// Trace receives the timeline as Chrome trace events when the Loader is closed.
	Trace io.Writer
}

const (
	defaultStreams = 192 // the least common multiple of 1-4, 6, 8, 12, 16, 24, 48, 64, 96
	defaultDepth   = 3
	maxDepth       = 1 << 16
	maxAsked       = 1 << 12 // of Workers
	defaultStage   = "/dev/shm"
	patience       = 30 * time.Second
	windowBytes    = 256 << 20
	blockBytes     = 512 << 10
)

func oneOf[T ~string](name string, v *T, values ...T) error {
	if *v == "" {
		*v = values[0]
	}
	var list []string
	for _, w := range values {
		if *v == w {
			return nil
		}
		list = append(list, string(w))
	}
	return fmt.Errorf("%s %q: want one of %s", name, string(*v), strings.Join(list, ", "))
}

// check fills in what does not depend on the set.
func (c *Config) check() error {
	if c.Last == "" {
		c.Last, c.lastByDefault = Drop, true
		if c.inOrder() {
			c.Last = Short
		}
	}
	for _, err := range []error{
		oneOf("shuffle", &c.Shuffle, None, Block, Global),
		oneOf("last", &c.Last, Drop, Pad, Short),
		oneOf("tier", &c.Tier, TierAuto, TierDevice, TierPinned, TierStaged, TierStream),
		oneOf("verify", &c.Verify, load.VerifyWhole, load.VerifyOpen, load.VerifyNone),
	} {
		if err != nil {
			return err
		}
	}
	if c.World == 0 {
		c.World = 1
	}
	if c.LocalRanks == 0 {
		c.LocalRanks = 1
	}
	if c.Depth == 0 {
		c.Depth = defaultDepth
	}
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.Stage == "" {
		c.Stage = defaultStage
	}
	return cmp.Or(c.checkBudget(), c.checkNumbers())
}

// checkBudget fills in what Budget says of batches.
func (c *Config) checkBudget() error {
	if len(c.Budget) == 0 {
		if c.Padded || c.BudgetWindow != 0 || c.Oversize != "" {
			return shardify.Misuse("padded, budget window and oversize say how a budget is used: give one")
		}
		return nil
	}
	if c.Batch == 0 {
		c.Batch = order.MaxPacked
	}
	if c.BudgetWindow == 0 {
		c.BudgetWindow = 1
	}
	switch {
	case c.Window != "" || c.Tokens != "":
		return shardify.Misuse("budget with window or tokens: those samples are of one length; give a batch size")
	case c.Last == Pad:
		return shardify.Misuse("budget with last=pad: batches have different numbers of samples; want drop or short")
	case c.Synthetic:
		return shardify.Misuse("budget and synthetic: give one")
	}
	return oneOf("oversize", &c.Oversize, Refuse, Alone, Skip)
}

// inOrder reports that an epoch goes through the samples once, one after the other.
func (c *Config) inOrder() bool {
	return (c.Shuffle == "" || c.Shuffle == None) && c.Weights == nil && c.Balance == ""
}

// lastIsDefault reports that Last was not given.
func (c *Config) lastIsDefault() bool { return c.lastByDefault }

func (c *Config) checkNumbers() error {
	switch {
	case c.Batch < 1 || c.Batch > math.MaxInt32:
		return fmt.Errorf("batch %d: want 1 to 2^31-1 samples", c.Batch)
	case c.Depth > maxDepth:
		return fmt.Errorf("depth %d: want at most %d batches ahead", c.Depth, maxDepth)
	case c.Workers > maxAsked:
		return fmt.Errorf("workers %d: want at most %d threads", c.Workers, maxAsked)
	case c.World < 1 || c.World > order.MaxStreams || c.Rank < 0 || c.Rank >= c.World:
		return fmt.Errorf("rank %d of %d: want a rank from 0 to world size - 1", c.Rank, c.World)
	case c.Epoch < 0 || c.Epoch >= order.MaxEpoch:
		return fmt.Errorf("epoch %d: want 0 to 2^31-1", c.Epoch)
	case c.Depth < 1 || c.Workers < 0 || c.Memory < 0 || c.LocalRanks < 1 || c.Group < 0:
		return fmt.Errorf("depth %d, workers %d, memory %s, local ranks %d, group %d: none may be negative", c.Depth, c.Workers, shardify.FormatSize(c.Memory), c.LocalRanks, c.Group)
	}
	return nil
}
