package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// Record is what a submission leaves for the next one: a later --missing goes on with the
// same partition and the same flags.
type Record struct {
	Tasks    int                 `json:"tasks"`
	Elements int                 `json:"elements"`
	Jobs     []Job               `json:"jobs,omitempty"`
	Flags    map[string][]string `json:"flags,omitempty"` // that were given
	Work     []string            `json:"work,omitempty"`  // flags of work
}

// Job is a job that was submitted.
type Job struct {
	Stage string `json:"stage"`
	ID    string `json:"id"`
}

const (
	recordName = "submission.json" // in SubmitDir
	// mostJobs is how many jobs a record keeps: those of many submissions.
	mostJobs = 300
)

// ReadRecord reads the record of the latest submission; it is empty if there was none.
func ReadRecord(set storage.Store) (r Record, err error) {
	const name = SubmitDir + "/" + recordName
	b, err := plan.ReadFile(set, name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err == nil && (r.Tasks < 1 || r.Elements < 1 || r.Elements > r.Tasks || r.Tasks > MaxTasks) {
		err = fmt.Errorf("%d tasks, %d elements", r.Tasks, r.Elements)
	}
	if err != nil {
		return r, shardify.Hint(fmt.Errorf("%s: %w", name, err), "remove it: without it, --missing wants --elements")
	}
	return r, nil
}

// Write replaces the record.
func (r Record) Write(ctx context.Context, set storage.Store) error {
	r.Jobs = r.Jobs[max(len(r.Jobs)-mostJobs, 0):]
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return storage.Replace(ctx, set, SubmitDir+"/"+recordName, append(b, '\n'))
}

// Queue lists which jobs of earlier submissions are waiting or running.
func (r *Record) Queue(ctx context.Context, s Slurm) ([]Queued, error) {
	var ids []string
	for _, j := range r.Jobs {
		ids = append(ids, j.ID)
	}
	return s.Queue(ctx, ids)
}

// StageOf is the stage that a job of an earlier submission does; "" if the job is not in the record.
func (r *Record) StageOf(id string) string {
	for _, j := range r.Jobs {
		if j.ID == id {
			return j.Stage
		}
	}
	return ""
}
