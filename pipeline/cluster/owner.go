package cluster

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Owner is the process of an attempt, and what the batch system calls it.
type Owner struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Process uint64 `json:"process,omitempty"` // start of the process, in ticks since the boot
	Boot    string `json:"boot,omitempty"`    // of the machine
	Space   string `json:"space,omitempty"`   // in which PID counts

	Engine  string `json:"engine,omitempty"`  // slurm, kubernetes, ...
	Job     string `json:"job,omitempty"`     // its job, or array of jobs
	Element string `json:"element,omitempty"` // number in the array
	Restart int    `json:"restart,omitempty"` // requeues so far
}

// Self is this process. getenv reads the variables that batch systems set.
func Self(getenv func(string) string) (o Owner, deadline *time.Time) {
	o.Host, _ = os.Hostname()
	o.PID = os.Getpid()
	o.Process, _ = processStart(o.PID)
	o.Boot, o.Space = boot(), pidSpace()
	switch {
	case getenv("SLURM_JOB_ID") != "":
		o.Engine, o.Job = "slurm", getenv("SLURM_JOB_ID")
		if id := getenv("SLURM_ARRAY_JOB_ID"); id != "" {
			o.Job, o.Element = id, getenv("SLURM_ARRAY_TASK_ID")
		}
		o.Restart, _ = strconv.Atoi(getenv("SLURM_RESTART_COUNT"))
		if end, err := strconv.ParseInt(getenv("SLURM_JOB_END_TIME"), 10, 64); err == nil && end > 0 {
			t := time.Unix(end, 0)
			deadline = &t
		}
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		o.Engine, o.Job, o.Element = "kubernetes", o.Host, getenv("JOB_COMPLETION_INDEX")
	}
	return o, deadline
}

// Life is what is known of a process.
type Life int

// What may be known of a process.
const (
	LifeUnknown Life = iota // it runs, or ran, where this process cannot see
	LifeRuns
	LifeGone
)

// Life looks for the owner among the processes of this machine.
func (o *Owner) Life() Life {
	switch here := boot(); {
	case here == "" || o.Boot == "" || o.Process == 0:
		return LifeUnknown
	case o.Boot != here:
		if name, err := os.Hostname(); err == nil && name == o.Host && !strings.HasPrefix(name, "localhost") {
			return LifeGone // the machine was started again
		}
		return LifeUnknown
	case o.Space != pidSpace():
		return LifeUnknown
	}
	start, err := processStart(o.PID)
	if err == nil && start == o.Process {
		return LifeRuns
	}
	return LifeGone
}

// processStart is when a process began, in ticks since the boot; a dead one whose parent has not
// waited for it yet counts as gone.
func processStart(pid int) (uint64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The name in brackets may hold anything; fields are counted behind it.
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return 0, os.ErrNotExist
	}
	return strconv.ParseUint(f[19], 10, 64)
}

// boot names this run of the machine; "" where the system does not say.
var boot = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// pidSpace names the namespace of process numbers: containers have their own.
var pidSpace = sync.OnceValue(func() string {
	s, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return s
})

// PeakMemory is the most bytes that this process had resident; 0 where the system does
// not say.
func PeakMemory() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(b), "\nVmHWM:")
	line, _, _ = strings.Cut(line, "kB")
	n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
