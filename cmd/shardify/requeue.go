package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/pipeline"
)

// requeuePatience is how long scontrol may take.
const requeuePatience = 20 * time.Second

// requeue has Slurm queue this job again, if it has stopped because its time runs out or by itself.
// It leaves a job alone that got a request to end: Slurm starts it again by itself if it was
// preempted or its node was lost, and a user who cancels a job does not want it again.
func (p *program) requeue(ctx context.Context, code int, x *pipeline.Prepared) {
	id := os.Getenv("SLURM_JOB_ID")
	if array := os.Getenv("SLURM_ARRAY_JOB_ID"); array != "" {
		// The last element has the number of the whole array: all of it would be queued.
		id = array + "_" + os.Getenv("SLURM_ARRAY_TASK_ID")
	}
	cause := context.Cause(ctx)
	if code != cli.CodeStopped || id == "" || errors.Is(cause, convert.ErrStopped) && !errors.Is(cause, cli.ErrNotice) {
		return
	}
	if x.Job.Progress.Made.Load() == 0 && os.Getenv("SLURM_RESTART_COUNT") != "" {
		p.Note("not queued again: no shard was finished since the last time; give the job more time (--time), or plan smaller shards")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requeuePatience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "scontrol", "requeue", id).CombinedOutput(); err != nil {
		p.Note("scontrol requeue %s: %v %s", id, err, out)
		return
	}
	p.Note("queued again: job %s goes on from here", id)
}
