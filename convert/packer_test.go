package convert

import (
	"fmt"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// largePacker takes 10 MB a shard.
type largePacker struct{}

func (largePacker) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }
func (largePacker) Memory() int64                                        { return 10 << 20 }
func (largePacker) New(storage.Store, *shardify.Pool, func(*shardify.Batch, *shardify.Arena) error) flow.Packing {
	return nil
}

// TestPackersStayUnderTheMemory: no more of them are at work at once than there is memory for.
func TestPackersStayUnderTheMemory(t *testing.T) {
	f := mixed()
	for _, c := range []struct {
		memory     int64
		jobs, want int
	}{{64 << 20, 16, 3}, {64 << 20, 2, 2}, {1 << 30, 16, 16}, {1 << 20, 4, 1}} {
		t.Run(fmt.Sprint(c.memory, c.jobs), func(t *testing.T) {
			j := fakeJob(fakePlan(t, f, func(*Request) {}), f, nil)
			j.Plan.Steps.Ops = []plan.Op{{Name: "sequences"}}
			j.Pool, j.Jobs = shardify.NewPool(c.memory), c.jobs
			j.Compile = func([]plan.Op, flow.Env) (*flow.Pipeline, error) {
				return &flow.Pipeline{Packer: largePacker{}}, nil
			}
			if err := j.bind(); err != nil {
				t.Fatal(err)
			}
			if j.jobs() != c.want {
				t.Errorf("%d jobs, want %d", j.jobs(), c.want)
			}
			if all := j.Pool.Limit() + int64(j.jobs())*(10<<20); all > c.memory && c.want > 1 {
				t.Errorf("%d bytes of %d", all, c.memory)
			}
		})
	}
}
