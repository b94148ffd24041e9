package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/convert/flow"
)

// trainSplit is the split that random changes are for, unless a spec says otherwise.
const trainSplit = "train"

// augmentation is the one place where --augment meets package augment: the transform
// that a spec asks for, and the splits that it applies to (nil is all of them).
func augmentation(c *compiler, spec string, _ ruleRuns) (flow.Stage, error) {
	s, err := augment.Parse(spec)
	if err != nil {
		return flow.Stage{}, err
	}
	splits := c.env.Splits
	for _, name := range s.Splits {
		if !slices.Contains(splits, name) {
			have := "there are no splits"
			if len(splits) > 0 {
				have = "there are " + strings.Join(splits, ", ")
			}
			return flow.Stage{}, fmt.Errorf("--augment '%s': no split %q: %s", spec, name, have)
		}
	}
	t, err := s.New(augment.Env{Table: c.env.Table})
	out := flow.Stage{Transform: t, Splits: s.Splits}
	if s.Splits == nil && s.Op.Random && slices.Contains(splits, trainSplit) {
		out.Splits = []string{trainSplit}
	}
	return out, err
}
