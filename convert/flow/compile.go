package flow

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow/route"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// Env is what operations are compiled for.
type Env struct {
	// Table is the plan's input table; sources without files have inputs beyond it.
	Table *format.Table
	// Seed of the plan. Apply is given one that follows from it and from Stage.Op.
	Seed uint64
	// Schema of the source: what the first stage sees.
	Schema []shardify.Field
	// Helpers are the fields of Schema that are read for operations alone: Compile
	// ends After with a stage that drops those that are left, see DropFields.
	Helpers []string
	// Keyed: the samples have names of their own.
	Keyed bool
	// Splits are the names of the splits, in order; empty without.
	Splits []string
	// Conditions are those that decide the splits, in their order; "" for one that has the rest.
	// nil without any.
	Conditions []string
}

// Stage is one transform of a pipeline.
type Stage struct {
	shardify.Transform
	// Op is the ordinal of the operation in the plan; seeds follow from it.
	Op int
	// Text is the operation for people, as it was asked for; "" for what no option asked for.
	Text string
	// Splits names the splits that it applies to, which must have the same fields by
	// then; nil is all of them. In the end all splits must have the same fields.
	Splits []string
}

// Pipeline is what happens to samples between reader and sinks:
//
//	read -> Before (set, fraction, where, drop-duplicates) -> split -> copies ->
//	After (augment, define, encode, stack, sort, pad, rename, cast, pack, drop helpers) ->
//	Packer (sequences)
//
// Its transforms may be used from several goroutines at once.
type Pipeline struct {
	Before []Stage
	// Conditions has one for each of Env.Conditions; nil for one that has the rest.
	Conditions []route.Condition
	// Copies of each sample that After sees, distinguished by ID.Copy; 0 and 1 both mean one.
	Copies int
	// CopySplits names the splits whose samples are copied; nil is all of them.
	CopySplits []string
	After      []Stage
	// Packer makes other samples of those of each shard, in the end; nil: they stay what they are.
	Packer Packer
}

// Packer makes sequences of samples, each of parts of several. What is in a sequence follows
// from the samples of one shard of the plan and split, in their order: so it depends on the plan
// alone.
type Packer interface {
	Schema(in []shardify.Field) ([]shardify.Field, error)
	// New begins a shard. What is not kept in memory is in a scratch file of the store. emit is
	// given the sequences, in batches that are valid during the call.
	New(store storage.Store, pool *shardify.Pool, emit func(*shardify.Batch, *shardify.Arena) error) Packing
	// Memory is what a Packing takes at most.
	Memory() int64
}

// Packing is the sequences of one shard, made by one goroutine.
type Packing interface {
	Add(b *shardify.Batch) error
	End() error
	Counts() []shardify.Count
	Close() error
}

// Compile makes a pipeline of operations. The same operations and Env make the same
// pipeline: at plan time, and again in every task.
type Compile func(ops []plan.Op, env Env) (*Pipeline, error)
