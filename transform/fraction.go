package transform

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// sampleFraction keeps a part of the samples of some inputs. The choice depends on the identities
// of the samples and on the seed, so that a smaller fraction is a part of a larger one, and further
// inputs change nothing.
type sampleFraction struct {
	text  string
	table *format.Table
	in    ruleRuns
	below []uint64 // by rule: samples whose hash is below stay
	all   []bool   // by rule: all stay
	bufs  sync.Pool
}

// newFraction parses lines [GLOB=]FRACTION. Inputs that no line takes stay whole. found
// is as in NewSet.
func newFraction(text string, table *format.Table, found ruleRuns) (*sampleFraction, error) {
	f := &sampleFraction{text: text, table: table}
	globs, err := f.parse()
	if err != nil {
		return nil, said("fraction", text, err)
	}
	if found == nil {
		if found, err = resolveGlobs(table, globs, false); err != nil {
			return nil, said("fraction", text, err)
		}
	}
	f.in = found
	return f, f.in.check(len(f.below))
}

func (f *sampleFraction) parse() (globs []string, err error) {
	for line := range strings.SplitSeq(f.text, "\n") {
		glob, num, _ := cutLast(line, "=")
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
		if r := f.in.rule(b.First.Input); r < 0 || f.all[r] {
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
		r := f.in.rule(id.Input)
		keep[i] = 1
		if r >= 0 && !f.all[r] && shardify.SampleSeed(seed, who, id.Copy)>>11 >= f.below[r] {
			keep[i] = 0
		}
	}
	return selected(b, keep, mem)
}
