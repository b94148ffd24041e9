package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/shardify/shardify"
)

// jobName is what the batch system calls the attempt's job.
func (a *Attempt) jobName() string {
	if a.Element != "" {
		return a.Job + "_" + a.Element
	}
	return a.Job
}

// cure says why an attempt in a state is not done, and what to do about it.
func (a *Attempt) cure(state string) (why, cure string) {
	switch state {
	case StateKilled:
		return a.killed()
	case StateFailed:
		return a.Error, strings.Join(a.Hints, "; ")
	case StateStopped:
		return "", "it continues when it is started again"
	case StateWaiting:
		return a.Error, "start it again when the others are done"
	}
	return "", ""
}

// Near is the share of a limit from which it is taken for the reason of an end.
const near = 0.85

// killed is for an attempt that ended without saying so.
func (a *Attempt) killed() (why, cure string) {
	why = "killed, or its machine went down"
	peak := shardify.FormatSize(a.Peak)
	switch {
	case a.Deadline != nil && a.Deadline.Sub(a.Updated) < 2*Heartbeat+time.Minute:
		why = "killed at the time limit"
		cure = "what is done is kept: start it again, with a longer --time if it makes no progress"
	case a.MemoryLimit > 0 && float64(a.Peak) >= near*float64(a.MemoryLimit):
		why = fmt.Sprintf("killed, probably out of memory: it had %s of %s (%s)", peak, shardify.FormatSize(a.MemoryLimit), limitName(a.LimitFrom))
		cure = a.moreMemory()
	case a.Memory > 0 && float64(a.Peak) >= near*float64(a.Memory):
		why = fmt.Sprintf("killed, perhaps out of memory: it had %s, its budget is %s", peak, shardify.FormatSize(a.Memory))
		cure = a.moreMemory()
	default:
		why += fmt.Sprintf(" (memory was %s)", peak)
		cure = "start it again: what is done is kept. If it is killed again, the log of the batch system names the cause"
	}
	return why, cure
}

func limitName(from string) string {
	if from == "" {
		return "the limit"
	}
	return from
}

func (a *Attempt) moreMemory() string {
	less := max(a.Memory/2, 64<<20)
	flag := fmt.Sprintf("--memory %s", shardify.FormatSize(less))
	flag = strings.ReplaceAll(flag, " MiB", "MiB")
	flag = strings.ReplaceAll(flag, " GiB", "GiB")
	if a.Engine == "slurm" {
		return "a larger --mem for the job, or less at once: work with " + flag + " or fewer --jobs"
	}
	return "a larger limit, or less at once: " + flag + " or fewer --jobs"
}
