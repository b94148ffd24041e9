// Package host finds out what this process may use: cores, memory, disk space.
// It looks at the machine, the control groups above the process and the batch
// allocation, and says where each figure comes from, so that a command can print
// what it chose and why. It changes nothing.
package host

import (
	"math"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Env is where to look; tests bring their own.
type Env struct {
	Root     string // prefix of /proc and /sys paths
	Getenv   func(string) string
	LookPath func(string) (string, error)
	Procs    int // GOMAXPROCS
}

// Machine is what this process may use, and where that is known from.
type Machine struct {
	Cores      int
	CoresFrom  string
	Memory     int64 // bytes; 0 is unknown
	MemoryFrom string
	// Login: there are batch commands but no allocation: others work here, too.
	Login bool
	// Job and Restart name the batch job, and how often it was started again; "" without one.
	Job, Restart string
}

// What one process takes of a login node by default.
const (
	LoginJobs   = 4
	loginMemory = 4 << 30
)

// Defaults of the memory budget. More than the largest does not help: spans are small. The rest of
// the machine is for the page cache, which makes reading and writing fast, and for other users.
const (
	smallestBudget = 256 << 20
	largestBudget  = 16 << 30
)

// probe looks at the machine.
func Probe(getenv func(string) string) Machine {
	return Env{Getenv: getenv, LookPath: exec.LookPath, Procs: runtime.GOMAXPROCS(0)}.probe()
}

// probe looks at the machine that e describes.
func (e Env) probe() Machine {
	var m Machine
	m.Cores, m.CoresFrom = e.cores()
	m.Memory, m.MemoryFrom = e.memory()
	m.Login = e.login()
	m.Job, m.Restart = e.job()
	return m
}

// Jobs is how many units to work on at once: asked, or the default for 0.
func (m Machine) Jobs(asked int) (n int, why string) {
	switch {
	case asked > 0:
		return asked, "asked for"
	case m.Login && m.Cores > LoginJobs:
		return LoginJobs, "login node; more with --jobs or inside an allocation"
	}
	return m.Cores, m.CoresFrom
}

// Budget is the memory to stay under: asked, or the default for 0.
func (m Machine) Budget(asked int64) (bytes int64, why string) {
	if asked > 0 {
		if m.Memory > 0 && asked > m.Memory {
			return asked, "asked for; more than " + m.MemoryFrom + " gives"
		}
		return asked, "asked for"
	}
	if m.Memory <= 0 {
		return 1 << 30, "memory of this machine unknown"
	}
	n := min(max(m.Memory/4, smallestBudget), largestBudget)
	n = min(n, m.Memory/10*8) // a very small machine
	if m.Login && n > loginMemory {
		return loginMemory, "login node; more with --memory or inside an allocation"
	}
	if n == m.Memory/4 {
		return n, "a quarter of " + m.MemoryFrom
	}
	return n, "by " + m.MemoryFrom
}

// cores is the smallest of what the runtime found (the affinity mask, GOMAXPROCS), the
// control groups give and the batch system has promised.
func (e Env) cores() (int, string) {
	n, from := max(e.Procs, 1), "cores"
	if q, name := e.quota(); q > 0 && q < float64(n) {
		n, from = max(int(math.Ceil(q)), 1), name
	}
	if c := e.number("SLURM_CPUS_PER_TASK"); c > 0 {
		if c < int64(n) {
			return int(c), "SLURM_CPUS_PER_TASK"
		}
		return n, from
	}
	// Without -c Slurm reports only the node's share; several tasks divide it.
	tasks := max(int64(e.tasksHere()), e.number("SLURM_NTASKS_PER_NODE"), 1)
	if c := e.number("SLURM_CPUS_ON_NODE"); c > 0 && max(c/tasks, 1) < int64(n) {
		return int(max(c/tasks, 1)), "SLURM_CPUS_ON_NODE"
	}
	return n, from
}

// tasksHere is how many processes the job's step has on this node; 1 outside of srun.
// Slurm writes the nodes' counts as in 4(x2),3.
func (e Env) tasksHere() int {
	node := e.number("SLURM_NODEID")
	for part := range strings.SplitSeq(e.Getenv("SLURM_STEP_TASKS_PER_NODE"), ",") {
		count, times, _ := strings.Cut(strings.TrimSuffix(part, ")"), "(x")
		n, err := strconv.ParseUint(count, 10, 20)
		if err != nil {
			return 1
		}
		if node -= max(positive(times), 1); node < 0 {
			return max(int(n), 1)
		}
	}
	return 1
}

func (e Env) login() bool {
	if e.Getenv("SLURM_JOB_ID") != "" {
		return false
	}
	_, err := e.LookPath("sbatch")
	return err == nil
}

// job is the batch job's own name for itself. An element of a Slurm array has a job id
// of its own.
func (e Env) job() (id, restart string) {
	for _, name := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"} {
		if id = e.Getenv(name); id != "" {
			return id, e.Getenv("SLURM_RESTART_COUNT")
		}
	}
	return "", ""
}

// number reads an environment variable; 0 when it is not a positive number.
func (e Env) number(name string) int64 {
	return positive(e.Getenv(name))
}
