package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Slurm runs the commands of a site.
type Slurm struct {
	// Run runs a command and returns what it has written; nil runs it for real.
	Run func(ctx context.Context, name string, args ...string) ([]byte, error)
}

// commandPatience is how long a command of Slurm may take: it tries to reach its
// controller for a while.
const commandPatience = time.Minute

func (s Slurm) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	run := s.Run
	if run == nil {
		run = command
	}
	out, err := run(ctx, name, args...)
	return string(out), err
}

func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return out, err
}

// Shell runs commands of a batch system in one shell, and returns what they have written. They may
// wait for jobs.
func Shell(ctx context.Context, text string) (string, error) {
	out, err := command(ctx, "sh", "-c", text)
	return string(out), err
}

// Limits asks the site how large arrays may be; the defaults where it does not answer.
func (s Slurm) Limits(ctx context.Context) Limits {
	out, err := s.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return DefaultLimits
	}
	l := DefaultLimits
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(line, "=")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n <= 0 {
			continue
		}
		switch strings.TrimSpace(key) {
		case "MaxArraySize":
			l.ArraySize, l.From = n, "scontrol show config"
		case "MaxJobCount":
			l.Jobs = n
		}
	}
	return l
}

// Submit submits scripts of a folder, each after the one before it, the last stages also after the
// jobs in after, and returns the ids of the jobs. All are submitted or none: Slurm has to accept
// each script before the first is submitted, and if one fails, those before it are cancelled. Only
// where that fails, too, there are ids beside an error.
func (s Slurm) Submit(ctx context.Context, folder string, scripts []Script, after []string) (ids []string, err error) {
	for _, c := range scripts {
		if _, err := s.run(ctx, "sbatch", "--test-only", filepath.Join(folder, c.Name)); err != nil {
			return nil, &Refused{c, err}
		}
	}
	ctx = context.WithoutCancel(ctx) // an array whose merge is not submitted would be left alone
	ids, err = s.submit(ctx, folder, scripts, after)
	if err == nil || len(ids) == 0 {
		return ids, err
	}
	if _, e := s.run(ctx, "scancel", ids...); e != nil {
		return ids, errors.Join(err, e)
	}
	return nil, fmt.Errorf("%w; submitted before and cancelled: %s", err, strings.Join(ids, ", "))
}

func (s Slurm) submit(ctx context.Context, folder string, scripts []Script, after []string) (ids []string, err error) {
	for i, c := range scripts {
		args := []string{"--parsable"}
		var needs string
		if c.Needs {
			needs = ":" + ids[i-1]
		}
		if c.waits() {
			needs += colons(after)
		}
		if needs != "" {
			args = append(args, "--dependency=afterok"+needs, "--kill-on-invalid-dep=yes")
		}
		out, err := s.run(ctx, "sbatch", append(args, filepath.Join(folder, c.Name))...)
		if err != nil {
			return ids, err
		}
		id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // and the name of the cluster
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			return ids, fmt.Errorf("sbatch answered %q, want the number of a job", out)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Queued is an element of an array, or a job, that is in the queue.
type Queued struct {
	Job     string
	Element int // -1: the job is not an array
	// Never: it waits for a job that has failed.
	Never bool
}

// ID is what dependencies call it.
func (q Queued) ID() string {
	if q.Element < 0 {
		return q.Job
	}
	return fmt.Sprintf("%s_%d", q.Job, q.Element)
}

// Queue lists which of some jobs are waiting or running.
func (s Slurm) Queue(ctx context.Context, jobs []string) ([]Queued, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	out, err := s.run(ctx, "squeue", "--noheader", "--array", "--format=%F %K %r", "--jobs="+strings.Join(jobs, ","))
	if errors.Is(err, exec.ErrNotFound) || err != nil && strings.Contains(err.Error(), "Invalid job id") {
		return nil, nil // forgotten long ago
	}
	if err != nil {
		return nil, err
	}
	var list []Queued
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		q := Queued{Job: f[0], Element: -1}
		if n, err := strconv.Atoi(f[1]); err == nil {
			q.Element = n
		}
		q.Never = len(f) > 2 && f[2] == "DependencyNeverSatisfied"
		list = append(list, q)
	}
	return list, nil
}
