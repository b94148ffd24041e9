package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/programs"
	"golang.org/x/sys/unix"
)

// machine builds a fake / and environment.
func machine(t *testing.T, procs int, env map[string]string, files map[string]string) Machine {
	t.Helper()
	root := programs.Tree(t, files)
	return Env{
		Root: root, Procs: procs,
		Getenv: func(k string) string { return env[k] },
		LookPath: func(name string) (string, error) {
			if env["commands"] == name {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not found")
		},
	}.probe()
}

const (
	v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	v1mount = "33 23 0:29 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	meminfo = "MemTotal:  33554432 kB\nMemAvailable:   16777216 kB\n"
)

func TestMemoryIsTheSmallestLimitAboveTheProcess(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		files map[string]string
		want  int64
		from  string
	}{
		{"nothing known", nil, nil, 0, ""},
		{"available memory", nil, map[string]string{"proc/meminfo": meminfo}, 16 << 30, "MemAvailable"},
		{"v2, limit on a parent", nil, map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/slurm/job_7/step_0\n",
			"sys/fs/cgroup/slurm/job_7/memory.max": "2147483648\n", "sys/fs/cgroup/slurm/job_7/step_0/memory.max": "max\n",
		}, 2 << 30, "cgroup memory.max"},
		{"v2, own limit is lower", nil, map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max": "2147483648\n", "sys/fs/cgroup/a/b/memory.high": "1073741824\n",
		}, 1 << 30, "cgroup memory.high"},
		{"v2, limit at the mount point of a container", nil, map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "3221225472\n",
		}, 3 << 30, "cgroup memory.max"},
		{"v1 in a container, mounted below its root", nil, map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v1mount, "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/ab/job\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "536870912\n",
		}, 512 << 20, "cgroup memory.limit_in_bytes"},
		{"v1, group outside the mount", nil, map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": v1mount, "proc/self/cgroup": "4:memory:/other\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		}, 1 << 30, "cgroup memory.limit_in_bytes"},
		{"allocation by node", map[string]string{"SLURM_MEM_PER_NODE": "4096"}, map[string]string{"proc/meminfo": meminfo}, 4 << 30, "SLURM_MEM_PER_NODE"},
		{"allocation by core", map[string]string{"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "3"}, map[string]string{"proc/meminfo": meminfo}, 3 << 30, "SLURM_MEM_PER_CPU"},
		{"allocation by core without the node's cores", map[string]string{"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_PER_TASK": "2"}, map[string]string{"proc/meminfo": meminfo}, 2 << 30, "SLURM_MEM_PER_CPU"},
		{"allocation shared by the tasks of a step", map[string]string{"SLURM_MEM_PER_NODE": "4096", "SLURM_STEP_TASKS_PER_NODE": "8(x2),4", "SLURM_NODEID": "2"}, map[string]string{"proc/meminfo": meminfo}, 1 << 30, "SLURM_MEM_PER_NODE among 4 tasks"},
		{"all memory of the node", map[string]string{"SLURM_MEM_PER_NODE": "0"}, map[string]string{"proc/meminfo": meminfo}, 16 << 30, "MemAvailable"},
		{"rubbish", map[string]string{"SLURM_MEM_PER_NODE": "lots"}, map[string]string{
			"proc/meminfo": "MemAvailable: many kB\n", "proc/self/mountinfo": "x - \n\n", "proc/self/cgroup": "::\n:\n",
		}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, 4, c.env, c.files)
			if m.Memory != c.want || m.MemoryFrom != c.from {
				t.Errorf("memory %d from %q, want %d from %q", m.Memory, m.MemoryFrom, c.want, c.from)
			}
		})
	}
}

func TestJobsFollowTheAllocation(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		asked int
		want  int
		why   string
	}{
		{"whole machine", nil, 0, 64, "cores"},
		{"asked", nil, 3, 3, "asked for"},
		{"allocation with -c", map[string]string{"SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "8", "SLURM_CPUS_ON_NODE": "2"}, 0, 8, "SLURM_CPUS_PER_TASK"},
		{"allocation without -c", map[string]string{"SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "12", "SLURM_NTASKS_PER_NODE": "3"}, 0, 4, "SLURM_CPUS_ON_NODE"},
		{"login node", map[string]string{"commands": "sbatch"}, 0, 4, "login node"},
		{"asked on a login node", map[string]string{"commands": "sbatch"}, 9, 9, "asked for"},
		{"allocation on a cluster", map[string]string{"commands": "sbatch", "SLURM_JOB_ID": "7"}, 0, 64, "cores"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, why := machine(t, 64, c.env, nil).Jobs(c.asked)
			if n != c.want || !strings.HasPrefix(why, c.why) {
				t.Errorf("jobs %d (%s), want %d (%s)", n, why, c.want, c.why)
			}
		})
	}
}

// TestCoresFollowTheQuotasOfAllGroups: that of a parent counts as the process's own does.
func TestCoresFollowTheQuotasOfAllGroups(t *testing.T) {
	const v1cpu = "34 23 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	for _, c := range []struct {
		name  string
		env   map[string]string
		files map[string]string
		want  int
		from  string
	}{
		{"v2, on a parent", nil, map[string]string{
			"proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/slurm/job_7/step_0\n",
			"sys/fs/cgroup/slurm/job_7/cpu.max": "250000 100000\n", "sys/fs/cgroup/slurm/job_7/step_0/cpu.max": "max 100000\n",
		}, 3, "cgroup cpu.max"},
		{"v2, a fraction of a core", nil, map[string]string{
			"proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "20000 100000\n",
		}, 1, "cgroup cpu.max"},
		{"v1, on a parent", nil, map[string]string{
			"proc/self/mountinfo": v1cpu + v1mount, "proc/self/cgroup": "3:cpu,cpuacct:/a/b\n4:memory:/docker/ab\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n",
		}, 4, "cgroup cpu.cfs_quota_us"},
		{"more than there is", nil, map[string]string{
			"proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "12800000 100000\n",
		}, 64, "cores"},
		{"the allocation is smaller", map[string]string{"SLURM_CPUS_PER_TASK": "2"}, map[string]string{
			"proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "400000 100000\n",
		}, 2, "SLURM_CPUS_PER_TASK"},
		{"rubbish", map[string]string{"SLURM_STEP_TASKS_PER_NODE": "many(x"}, map[string]string{
			"proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max\n",
		}, 64, "cores"},
		{"several tasks of a step on the node", map[string]string{"SLURM_CPUS_ON_NODE": "12", "SLURM_STEP_TASKS_PER_NODE": "6"}, nil, 2, "SLURM_CPUS_ON_NODE"},
		{"more tasks than cores", map[string]string{"SLURM_CPUS_ON_NODE": "2", "SLURM_STEP_TASKS_PER_NODE": "6"}, nil, 1, "SLURM_CPUS_ON_NODE"},
	} {
		m := machine(t, 64, c.env, c.files)
		if m.Cores != c.want || m.CoresFrom != c.from {
			t.Errorf("%s: %d cores from %s, want %d from %s", c.name, m.Cores, m.CoresFrom, c.want, c.from)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     Machine
		asked int64
		want  int64
	}{
		{"a quarter", Machine{Memory: 8 << 30, MemoryFrom: "MemAvailable"}, 0, 2 << 30},
		{"not more than helps", Machine{Memory: 1 << 40}, 0, largestBudget},
		{"small machine", Machine{Memory: 512 << 20}, 0, smallestBudget},
		{"tiny machine", Machine{Memory: 100 << 20}, 0, (100 << 20) / 10 * 8},
		{"login node", Machine{Memory: 1 << 40, Login: true}, 0, loginMemory},
		{"asked", Machine{Memory: 8 << 30}, 64 << 20, 64 << 20},
		{"unknown", Machine{}, 0, 1 << 30},
	} {
		if n, why := c.m.Budget(c.asked); n != c.want || why == "" {
			t.Errorf("%s: %d (%s), want %d", c.name, n, why, c.want)
		}
	}
	if _, why := (Machine{Memory: 1 << 30, MemoryFrom: "MemAvailable"}).Budget(2 << 30); !strings.Contains(why, "more than MemAvailable") {
		t.Errorf("more than there is: %q", why)
	}
}

func TestFreeSpaceOfAFolderThatIsNotThereYet(t *testing.T) {
	dir := t.TempDir()
	if FreeSpace(dir) <= 0 || FreeSpace(filepath.Join(dir, "a", "b")) <= 0 {
		t.Error("no free space in the temporary folder")
	}
}

// TestActivity: what reads or writes moves, what waits does not.
func TestActivity(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ioBytes() == 0 {
		t.Skip("the kernel does not count what processes read and write")
	}
	for _, c := range []struct {
		name string
		do   func()
		want bool
	}{
		{"waits", func() { time.Sleep(50 * time.Millisecond) }, false},
		{"writes", func() { f.Write(make([]byte, 64<<10)) }, true},
		{"reads", func() { f.ReadAt(make([]byte, 64<<10), 0) }, true},
		{"waits and says so", func() { f.Write(make([]byte, 200)); time.Sleep(50 * time.Millisecond) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for try := 0; ; try++ { // other tests of the machine may take the processor, or the runtime clean up
				var a Activity
				a.Moved()
				c.do()
				if got := a.Moved(); got == c.want {
					return
				} else if try == 5 {
					t.Errorf("moved: %v", got)
					return
				}
			}
		})
	}
}

// TestWhatComputesMoves where it has a fifth of a core, whatever it has here.
func TestWhatComputesMoves(t *testing.T) {
	var a Activity
	a.Moved()
	for end := a.cpu + 50*time.Millisecond; cpuTime() < end; {
	}
	if !a.moved(a.bytes, cpuTime(), a.asked.Add(250*time.Millisecond)) {
		t.Error("50 ms in 250 are no move")
	}
	if a.moved(a.bytes, a.cpu+time.Millisecond, a.asked.Add(250*time.Millisecond)) {
		t.Error("1 ms in 250 is a move")
	}
}

// TestWrittenBackGrows: with what is made durable on a disk, about: each processor adds
// up its own share at times.
func TestWrittenBackGrows(t *testing.T) {
	before := WrittenBack()
	if before == 0 {
		t.Skip("this system does not report what it has written to disks")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const n = 4 << 20
	if _, err := f.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if grown := WrittenBack() - before; grown < n/2 && !inMemory(t, f) {
		t.Errorf("%d bytes more, %d were written", grown, n)
	}
}

func inMemory(t *testing.T, f *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.OVERLAYFS_SUPER_MAGIC
}
