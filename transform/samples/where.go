package samples

import (
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/condition"
	"github.com/shardify/shardify/transform/op"
)

// Where is the samples where a condition holds.
var Where = op.Kind{Name: "where", Value: "CONDITION", Example: "nJet >= 2 && max(Jet_pt) > 30", Help: "only samples where it holds",
	New: op.Of(newWhere), Fields: op.FieldsOf(newWhere)}

// whereFilter keeps the samples for which a condition holds and is not missing.
type whereFilter struct {
	*condition.Condition
	keep sync.Pool // of *[]byte
}

func newWhere(e *op.Env, text string) (*whereFilter, error) {
	c, err := condition.New(e, "where", text)
	return &whereFilter{Condition: c}, err
}

// Schema binds the condition.
func (w *whereFilter) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, w.Bind(in) }

// Cost is a copy of what is kept.
func (w *whereFilter) Cost([]shardify.Field) shardify.Cost {
	return shardify.Cost{Growth: 1, Sample: 24}
}

// Apply selects.
func (w *whereFilter) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	keep := op.Marks(&w.keep, b.Samples)
	defer w.keep.Put(keep)
	if err := w.Keep(b, *keep); err != nil {
		return nil, err
	}
	return op.Select(b, *keep, mem)
}
