package sets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// TestWhatDoesNotFitIsNamed: an extension says what differs, and that it is an extension.
func TestWhatDoesNotFitIsNamed(t *testing.T) {
	parts := map[string]index.Split{"train": {}}
	for _, c := range []struct {
		set  index.Manifest
		plan plan.Plan
		want string
	}{
		{index.Manifest{Format: "mmap"}, plan.Plan{Out: plan.Output{Format: "wds"}}, "the set has mmap shards, the plan makes wds"},
		{index.Manifest{Format: "wds", Keyed: true}, plan.Plan{Out: plan.Output{Format: "wds"}}, "those of the inputs have none"},
		{index.Manifest{Format: "wds"}, plan.Plan{Out: plan.Output{Format: "wds"}, Sample: plan.Sample{Keyed: true}}, "those of the set have none"},
		{index.Manifest{Format: "wds", Splits: parts}, plan.Plan{Out: plan.Output{Format: "wds"}}, "the set has splits, the plan has none"},
		{index.Manifest{Format: "wds"}, plan.Plan{Out: plan.Output{Format: "wds"}, Splits: plan.Splits{Rule: &splits.Rule{}}}, "the plan has splits, the set has none"},
	} {
		e := Extension{Base: &Set{Manifest: &c.set}, dir: "out"}
		err := e.Fits(context.Background(), &c.plan, nil)
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "extend") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
