package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/transform/op"
)

// augmentation is the one place where --augment meets package augment.
var augmentation = op.Kind{Name: Augment, Value: "[SPLIT:]NAME[=VALUE][,KEY=VALUE]...", Example: "train:noise=x,sigma=0.1", Help: "change images and arrays at random, resize, normalise", More: "the list: shardify formats --augment",
	Phase: op.AfterSplit, New: newAugment, Random: func(text string) bool { s, err := augment.Parse(text); return err != nil || s.Op.Random }}

// newAugment makes the transform that a spec asks for, for the splits that it names. Random
// changes are for the split to train on, unless the spec says otherwise.
func newAugment(e *op.Env, spec string) (op.Stage, error) {
	s, err := augment.Parse(spec)
	if err != nil {
		return op.Stage{}, err
	}
	for _, name := range s.Splits {
		if !slices.Contains(e.Splits, name) {
			have := "there are no splits"
			if len(e.Splits) > 0 {
				have = "there are " + strings.Join(e.Splits, ", ")
			}
			return op.Stage{}, fmt.Errorf("--augment '%s': no split %q: %s", spec, name, have)
		}
	}
	t, err := s.New(augment.Env{Table: e.Table})
	out := op.Stage{Transform: t, Splits: s.Splits}
	if s.Splits == nil && s.Op.Random {
		out.Splits = e.Train()
	}
	return out, err
}
