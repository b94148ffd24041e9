package samples

import (
	"fmt"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Copies is several samples of each one.
var Copies = op.Kind{Name: "copies", Value: "N", Example: "4", Help: "N samples of each one, which --augment changes differently", More: "with splits only in train",
	Phase: op.AfterSplit, Texts: copies, New: newCopies}

// copies takes the last number; one copy is no operation.
func copies(values []string) ([]string, error) {
	n, err := strconv.Atoi(values[len(values)-1])
	if err != nil || n < 1 || n > 1<<16 {
		return nil, fmt.Errorf("--copies %s: want a number from 1 to 65536", values[len(values)-1])
	}
	if n == 1 {
		return nil, nil
	}
	return []string{strconv.Itoa(n)}, nil
}

// newCopies copies samples to train on: those of validation samples add no information.
func newCopies(e *op.Env, text string) (op.Stage, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return op.Stage{}, shardify.Corrupt(-1, "copies %q", text)
	}
	return op.Stage{Copies: n, Splits: e.Train()}, nil
}
