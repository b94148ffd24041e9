package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/local"
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

// SubmitFolder is where the scripts and the record of a data set's submissions are.
func SubmitFolder(folder string) string { return filepath.Join(folder, filepath.FromSlash(SubmitDir)) }

// ReadRecord reads the record of the latest submission; it is empty if there was none.
func ReadRecord(folder string) (r Record, err error) {
	name := filepath.Join(SubmitFolder(folder), recordName)
	b, err := os.ReadFile(name)
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
func (r Record) Write(ctx context.Context, folder string) error {
	r.Jobs = r.Jobs[max(len(r.Jobs)-mostJobs, 0):]
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return local.NewDir(SubmitFolder(folder), local.SyncNone).Replace(ctx, recordName, append(b, '\n'))
}

// Queue lists which jobs of earlier submissions are waiting or running.
func (r *Record) Queue(ctx context.Context, s Slurm) ([]Queued, error) {
	var ids []string
	for _, j := range r.Jobs {
		ids = append(ids, j.ID)
	}
	return s.Queue(ctx, ids)
}

// StageOf is the stage that a job of an earlier submission does; "" if it is none of these.
func (r *Record) StageOf(id string) string {
	for _, j := range r.Jobs {
		if j.ID == id {
			return j.Stage
		}
	}
	return ""
}
