package samples

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/op"
)

// Fraction is a part of the samples of some inputs.
var Fraction = op.Kind{Name: "fraction", Value: "GLOB=FRACTION", Example: "bg/*.root=0.5", Help: "a part of the samples of some inputs",
	ByInput: true, Texts: op.Joined("\n"), New: op.Of(newFraction), Random: func(string) bool { return true }}

// sampleFraction keeps a part of the samples of some inputs. The choice depends on the identities
// of the samples and on the seed, so that a smaller fraction is a part of a larger one, and further
// inputs change nothing.
type sampleFraction struct {
	text  string
	table *format.Table
	in    op.Runs
	below []uint64 // by rule: samples whose hash is below stay
	all   []bool   // by rule: all stay
	bufs  sync.Pool
}

// newFraction parses lines [GLOB=]FRACTION. Inputs that no line takes stay whole.
func newFraction(e *op.Env, text string) (*sampleFraction, error) {
	f := &sampleFraction{text: text, table: e.Table, in: e.Runs}
	globs, err := f.parse()
	if err != nil {
		return nil, op.FlagError("fraction", text, err)
	}
	if f.in == nil {
		if f.in, err = op.ByGlobs(e.Table, globs, false); err != nil {
			return nil, op.FlagError("fraction", text, err)
		}
	}
	return f, f.in.Check(len(f.below))
}

// Runs is the line of each input.
func (f *sampleFraction) Runs() op.Runs { return f.in }

func (f *sampleFraction) parse() (globs []string, err error) {
	for line := range strings.SplitSeq(f.text, "\n") {
		glob, num, _ := op.CutLast(line, "=")
		if num == "" {
			glob, num = "", line
		}
		p, err := strconv.ParseFloat(num, 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return nil, fmt.Errorf("%q: want GLOB=FRACTION from 0 to 1, as in --fraction 'bg/*.root=0.5'", line)
		}
		globs = append(globs, glob)
		f.below = append(f.below, uint64(math.Ldexp(p, 53)))
		f.all = append(f.all, p == 1)
	}
	return globs, nil
}

// Schema is that of the input.
func (f *sampleFraction) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }

// Cost is a copy of what is kept.
func (f *sampleFraction) Cost([]shardify.Field) shardify.Cost {
	return shardify.Cost{Growth: 1, Sample: 24}
}

// Apply selects.
func (f *sampleFraction) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if b.IDs == nil {
		if r := f.in.Rule(b.First.Input); r < 0 || f.all[r] {
			return b, nil
		}
	}
	ids, _ := f.bufs.Get().(*[]uint64)
	if ids == nil {
		ids = new([]uint64)
	}
	defer f.bufs.Put(ids)
	*ids = f.table.Identity((*ids)[:0], b)
	keep := mem.Alloc(b.Samples)
	for i, who := range *ids {
		id := b.ID(i)
		r := f.in.Rule(id.Input)
		keep[i] = 1
		if r >= 0 && !f.all[r] && shardify.SampleSeed(seed, who, id.Copy)>>11 >= f.below[r] {
			keep[i] = 0
		}
	}
	return op.Select(b, keep, mem)
}
