package cli

import (
	"errors"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/pipeline/cluster"
)

// EndingOf is how a process ended.
func EndingOf(code int, e *Reported) cluster.Ending {
	out := cluster.Ending{Outcome: cluster.OutcomeFailed, Code: code}
	var waiting *convert.Waiting
	var missing *convert.Missing
	if e != nil {
		out.Error, out.Hints = e.Err.Error(), e.Hints
	}
	switch {
	case e != nil && (errors.As(e.Err, &waiting) || errors.As(e.Err, &missing)):
		out.Outcome = cluster.OutcomeWaiting
	case code == codeDone, code == codeIncomplete:
		out.Outcome = cluster.OutcomeDone
	case code == CodeStopped, code == codeInterrupted, code == codePipe:
		out.Outcome = cluster.OutcomeStopped
	}
	return out
}
