package cluster

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	_ "github.com/shardify/shardify/tests/race"
)

func environ(text string) func(string) string {
	m := map[string]string{}
	for _, w := range strings.Fields(text) {
		k, v, _ := strings.Cut(w, "=")
		m[k] = v
	}
	return func(k string) string { return m[k] }
}

const (
	array  = "SLURM_JOB_ID=7 SLURM_ARRAY_JOB_ID=6 SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=10 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_STEP=1 SLURM_PROCID=0 SLURM_NTASKS=4 "
	inStep = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=8 SLURM_PROCID=2 "
)

// TestTheEngineNumbersTheTask: which task a process is by its environment, and with a
// number of tasks that was asked for.
func TestTheEngineNumbersTheTask(t *testing.T) {
	for _, c := range []struct {
		name, env          string
		asked, task, tasks int
	}{
		{"array", array, 0, 3, 10},
		{"array, more tasks than elements", array, 40, 3, 40},
		{"array in steps", "SLURM_ARRAY_TASK_ID=6 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_STEP=3", 0, 2, 4},
		{"array from 1", "SLURM_ARRAY_TASK_ID=10 SLURM_ARRAY_TASK_COUNT=10 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=10 SLURM_ARRAY_TASK_STEP=1", 0, 9, 10},
		{"some elements again", "SLURM_ARRAY_TASK_ID=17 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=17 SLURM_ARRAY_TASK_STEP=1", 20, 17, 20},
		{"step", inStep, 0, 2, 4},
		{"step without its own count", "SLURM_STEP_ID=0 SLURM_NTASKS=8 SLURM_PROCID=2", 0, 2, 8},
		{"array x step", array + inStep, 0, 3*4 + 2, 40},
		{"array x step, asked", array + inStep, 44, 14, 44},
		{"Open MPI in a step of its daemons", "OMPI_COMM_WORLD_RANK=13 OMPI_COMM_WORLD_SIZE=32 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1", 0, 13, 32},
		{"array x Open MPI", array + "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", 0, 7, 20},
		{"PMI", "PMI_RANK=0 PMI_SIZE=3", 0, 0, 3},
		{"PALS", "PALS_RANKID=5", 6, 5, 6},
		{"Flux", "FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2", 0, 1, 2},
		{"PBS Pro", "PBS_ARRAY_INDEX=4", 5, 4, 5},
		{"Torque", "PBS_ARRAYID=4", 5, 4, 5},
		{"LSF counts from 1", "LSB_JOBINDEX=1 LSB_JOBINDEX_END=10 LSB_JOBINDEX_STEP=1", 0, 0, 10},
		{"LSF, asked", "LSB_JOBINDEX=7 LSB_JOBINDEX_END=7", 10, 6, 10},
		{"Grid Engine", "SGE_TASK_ID=7 SGE_TASK_FIRST=1 SGE_TASK_LAST=9 SGE_TASK_STEPSIZE=2", 0, 3, 5},
		{"Kubernetes", "JOB_COMPLETION_INDEX=8 KUBERNETES_SERVICE_HOST=x", 16, 8, 16},
		{"AWS", "AWS_BATCH_JOB_ARRAY_INDEX=8", 16, 8, 16},
		{"Google Batch", "BATCH_TASK_INDEX=1 BATCH_TASK_COUNT=2", 0, 1, 2},
		{"Cloud Run", "CLOUD_RUN_TASK_INDEX=1 CLOUD_RUN_TASK_COUNT=2", 0, 1, 2},
		{"torchrun", "RANK=3 WORLD_SIZE=4", 0, 3, 4},
	} {
		p, ok, err := Locate(environ(c.env), c.asked)
		if err != nil || !ok || p.Task != c.task || p.Tasks != c.tasks || p.From == "" {
			t.Errorf("%s: task %d of %d (%q), %v, %v; want %d of %d", c.name, p.Task, p.Tasks, p.From, ok, err, c.task, c.tasks)
		}
	}
}

func TestNoEngineNoNumber(t *testing.T) {
	for name, env := range map[string]string{
		"nothing": "", "batch script of Slurm": "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4", "step of one task": "SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=8 SLURM_PROCID=0",
		"LSF without array": "LSB_JOBINDEX=0", "Grid Engine without array": "SGE_TASK_ID=undefined SGE_TASK_LAST=undefined", "one process of torchrun": "RANK=0 WORLD_SIZE=1",
	} {
		if p, ok, err := Locate(environ(env), 5); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, p, ok, err)
		}
	}
}

// TestAGuessIsRefused: where the variables do not give one answer, the error says what to
// do.
func TestAGuessIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, env string
		asked     int
		want      string
	}{
		{"a list of elements", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=1", 0, "array of 3 elements between 1 and 7"},
		{"a list of elements in a step", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=1 " + inStep, 0, "array of 3 elements"},
		{"an element beyond --tasks", array, 3, "counted from 0"},
		{"an array from 1 and --tasks", "SLURM_ARRAY_TASK_ID=10 SLURM_ARRAY_TASK_COUNT=10 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=10 SLURM_ARRAY_TASK_STEP=1", 10, "counted from 0"},
		{"Kubernetes alone", "JOB_COMPLETION_INDEX=3", 0, "JOB_COMPLETION_INDEX 3: how many"},
		{"PALS in an array", array + "PALS_RANKID=1", 0, "PALS_RANKID 1 in SLURM_ARRAY_TASK_ID"},
		{"rubbish", "RANK=x WORLD_SIZE=2", 0, `RANK is "x"`},
		{"negative", "RANK=-1 WORLD_SIZE=2", 0, `"-1"`},
		{"huge", "RANK=99999999999999999999 WORLD_SIZE=2", 0, "not the number of a task"},
		{"rank beyond the size", "RANK=2 WORLD_SIZE=2", 0, "contradict"},
		{"LSF index 12 of 10", "LSB_JOBINDEX=12 LSB_JOBINDEX_END=10", 0, "contradict"},
		{"product overflows", array + "RANK=1 WORLD_SIZE=1073741824", 0, "too many tasks"},
	} {
		p, ok, err := Locate(environ(c.env), c.asked)
		var m *Misplaced
		if ok || !errors.As(err, &m) || !strings.Contains(m.What, c.want) || m.Cure == "" {
			t.Errorf("%s: %+v, %v, %v; want %q", c.name, p, ok, err, c.want)
		}
	}
}

// TestEveryElementHasItsOwnTask: over a whole array of steps the numbers are a permutation.
func TestEveryElementHasItsOwnTask(t *testing.T) {
	seen := map[int]bool{}
	for a := 2; a <= 14; a += 4 {
		for r := range 3 {
			e := map[string]int{"SLURM_ARRAY_TASK_ID": a, "SLURM_ARRAY_TASK_COUNT": 4, "SLURM_ARRAY_TASK_MIN": 2, "SLURM_ARRAY_TASK_MAX": 14, "SLURM_ARRAY_TASK_STEP": 4, "SLURM_STEP_ID": 1, "SLURM_PROCID": r, "SLURM_STEP_NUM_TASKS": 3}
			p, ok, err := Locate(func(k string) string {
				if v, ok := e[k]; ok {
					return strconv.Itoa(v)
				}
				return ""
			}, 0)
			if err != nil || !ok || p.Tasks != 12 || seen[p.Task] {
				t.Fatalf("array %d rank %d: %+v, %v, %v", a, r, p, ok, err)
			}
			seen[p.Task] = true
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d of 12 tasks", len(seen))
	}
}
