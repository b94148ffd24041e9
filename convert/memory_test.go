package convert_test

import (
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/plan"
)

// bloat takes a hundred times the memory of what it is given, and says so.
type bloat struct{}

func (bloat) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }
func (bloat) Cost([]shardify.Field) shardify.Cost                  { return shardify.Cost{Growth: 100} }
func (bloat) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	mem.Alloc(100 * int(b.Bytes()))
	return b, nil
}

// TestOperationsStayUnderTheMemory: batches are cut so that what operations take fits.
func TestOperationsStayUnderTheMemory(t *testing.T) {
	samples := int64(200_000)
	if long() {
		samples = 500_000
	} else if testing.Short() {
		samples = 20_000
	}
	for _, jobs := range []int{1, 3} {
		r := shuffleRun{samples: int(samples), memory: 16 << 20, schema: "i:i64", shuffle: plan.ShuffleNone, jobs: jobs, change: func(q *convert.Request) {
			q.ShardSize = 1 << 20
			q.Compile = func([]plan.Op, flow.Env) (*flow.Pipeline, error) {
				return &flow.Pipeline{After: []flow.Stage{{Transform: bloat{}}}}, nil
			}
		}}
		j := r.convert(t, filepath.Join(t.TempDir(), "out"))
		// Buffers are a quarter larger than what is asked for, at most.
		if peak, limit := j.Pool.Peak(), j.Pool.Limit(); peak > limit+limit/4 {
			t.Errorf("%d jobs took %d bytes of %d", jobs, peak, limit)
		}
	}
}
