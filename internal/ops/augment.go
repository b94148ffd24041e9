package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/convert"
)

// trainSplit is the split that random changes are for, unless a spec says otherwise.
const trainSplit = "train"

// augmentation is the one place where --augment meets package augment: the transform
// that a spec asks for, and the splits that it applies to (nil is all of them).
func augmentation(spec string, env convert.Env) (shardify.Transform, []string, error) {
	s, err := augment.Parse(spec)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range s.Splits {
		if !slices.Contains(env.Splits, name) {
			have := "there are no splits"
			if len(env.Splits) > 0 {
				have = "there are " + strings.Join(env.Splits, ", ")
			}
			return nil, nil, fmt.Errorf("--augment '%s': no split %q: %s", spec, name, have)
		}
	}
	t, err := s.New(augment.Env{Table: env.Table})
	splits := s.Splits
	if splits == nil && s.Op.Random && slices.Contains(env.Splits, trainSplit) {
		splits = []string{trainSplit}
	}
	return t, splits, err
}
