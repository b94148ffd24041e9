package convert

import (
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/convert/shuffle"
	"github.com/shardify/shardify/plan"
)

// bind makes the plan's flow, once.
func (j *Job) bind() error {
	if j.Pool == nil {
		j.Pool = shardify.NewPool(defaultPool)
	}
	if j.flow != nil {
		return nil
	}
	var err error
	if j.flow, err = flow.Bind(j.Plan, j.Compile); err != nil {
		return err
	}
	if k := j.flow.Packer; k != nil { // what they keep is beside what is read, at most half
		each, half := k.Memory()*int64(len(j.flow.Splits)), j.Pool.Limit()/2
		j.Jobs = int(min(max(half/each, 1), int64(j.jobs())))
		j.Pool = shardify.NewPool(max(j.Pool.Limit()-each*int64(j.Jobs), half))
	}
	if j.Plan.Order.Shuffle != "" {
		// Half of the memory for what is read, half for what is kept to be put in order.
		keep := j.Pool.Limit() / 2
		j.Pool = shardify.NewPool(j.Pool.Limit() - keep)
		j.shuffle = &shuffle.Shuffle{
			Layout: layout(j.Plan, j.flow), Keyer: shuffle.NewKeyer(j.Plan.In.Table, plan.ShuffleSeed(j.Plan.Seed)), Scratch: j.scratch(), Pool: j.Pool,
			Keep: max(keep/int64(3*j.jobs()), 256<<10),
		}
	}
	return nil
}

// share is the memory that one unit may have beside the batches that are read.
func (j *Job) share() int64 { return max(j.Pool.Limit()/int64(2*j.jobs()), 1<<20) }

// operationMemory is what a span's grant allows for operations. A span that would take more is
// cut into parts that do not.
func (j *Job) operationMemory(s shardify.Span) int64 {
	return min(j.flow.Memory(int(s.Samples()), s.Bytes), j.share())
}

// layout describes how samples are stored in fragments.
func layout(p *plan.Plan, f *flow.Flow) shuffle.Layout {
	grouped := p.Asked.Grouping != nil // numbers of samples are keys
	l := shuffle.Layout{Schema: f.Schema, Keyed: p.Sample.Keyed, Copies: f.MostCopies() > 1, Wide: grouped, Inputs: grouped}
	for _, s := range p.Pack.Spans {
		l.Wide = l.Wide || s.Hi > math.MaxUint32
		l.Inputs = l.Inputs || s.Input > 0
	}
	return l
}
