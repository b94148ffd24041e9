package host

import (
	"fmt"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// memory is the smallest of all limits that are known, and its name. What a batch
// job has on a node is shared by the processes of its step there.
func (e Env) memory() (int64, string) {
	best, from := int64(math.MaxInt64), ""
	tasks := int64(e.tasksHere())
	add := func(n int64, name string) {
		if tasks > 1 && name != "MemAvailable" && name != addressSpace {
			n, name = n/tasks, fmt.Sprintf("%s among %d tasks", name, tasks)
		}
		if n > 0 && n < best {
			best, from = n, name
		}
	}
	add(e.meminfo("MemAvailable"), "MemAvailable")
	if room, limited := e.AddressSpace(); limited {
		add(max(room/2, 1), addressSpace) // the runtime reserves more than it uses
	}
	if n := e.number("SLURM_MEM_PER_NODE"); n < 1<<40 {
		add(n<<20, "SLURM_MEM_PER_NODE")
	}
	if n := e.number("SLURM_MEM_PER_CPU"); n < 1<<40 {
		add((n<<20)*max(e.number("SLURM_CPUS_ON_NODE"), e.number("SLURM_CPUS_PER_TASK"), 1), "SLURM_MEM_PER_CPU")
	}
	for _, g := range e.groups("memory") {
		files := []string{"memory.limit_in_bytes"}
		if g.unified {
			files = []string{"memory.max", "memory.high"}
		}
		for dir := range g.upwards() {
			for _, f := range files {
				add(e.limit(path.Join(dir, f)), "cgroup "+f)
			}
		}
	}
	if from == "" {
		return 0, ""
	}
	return best, from
}

// quota is the smallest share of processor time that the control groups give, in
// cores, and its name; 0 means no limit. The runtime looks at the process's own group
// alone, but jobs are limited by the groups above their steps.
func (e Env) quota() (cores float64, from string) {
	add := func(quota, period int64, name string) {
		if quota <= 0 || period <= 0 {
			return
		}
		if n := float64(quota) / float64(period); cores == 0 || n < cores {
			cores, from = n, name
		}
	}
	for _, g := range e.groups("cpu") {
		for dir := range g.upwards() {
			if g.unified {
				if f := strings.Fields(e.read(path.Join(dir, "cpu.max"))); len(f) == 2 {
					add(positive(f[0]), positive(f[1]), "cgroup cpu.max")
				}
				continue
			}
			add(positive(e.read(path.Join(dir, "cpu.cfs_quota_us"))), positive(e.read(path.Join(dir, "cpu.cfs_period_us"))), "cgroup cpu.cfs_quota_us")
		}
	}
	return cores, from
}

// addressSpace names the limit of AddressSpace.
const addressSpace = "ulimit -v"

// AddressSpace is the unused part of this process's address space, where that is limited.
func (e Env) AddressSpace() (room int64, limited bool) {
	n := e.ulimit("Max address space")
	for line := range strings.Lines(e.read("/proc/self/status")) {
		if text, ok := strings.CutPrefix(line, "VmSize:"); ok && n > 0 {
			kB, _ := strconv.ParseInt(strings.Fields(text + " 0")[0], 10, 64)
			return max(n-kB<<10, 0), true
		}
	}
	return 0, false
}

func (e Env) read(name string) string {
	b, err := os.ReadFile(filepath.Join(e.Root, name))
	if err != nil {
		return ""
	}
	return string(b)
}

// limit reads a control file: "max" or a number of bytes. Version 1 writes a
// number near 2^63 where there is no limit.
func (e Env) limit(name string) int64 {
	n := positive(e.read(name))
	if n >= 1<<60 {
		return 0
	}
	return n
}

// positive reads a number; 0 for anything else.
func positive(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// meminfo is one entry of /proc/meminfo in bytes.
func (e Env) meminfo(key string) int64 {
	for line := range strings.Lines(e.read("/proc/meminfo")) {
		rest, ok := strings.CutPrefix(line, key+":")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err == nil && n > 0 && n < 1<<50 {
			return n << 10
		}
	}
	return 0
}

// group is this process's place in one hierarchy of control groups.
type group struct {
	mount   string // where the hierarchy is mounted
	leaf    string // the process's group below the mount
	unified bool   // version 2
}

// upwards yields the folders of the group and of all above it: each of them may have a limit.
func (g *group) upwards() iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := g.leaf; yield(path.Join(g.mount, dir)) && dir != "/" && dir != "."; dir = path.Dir(dir) {
		}
	}
}

// groups lists the hierarchies that limit what a controller controls: version 2,
// version 1, or both.
func (e Env) groups(controller string) []group {
	var out []group
	for line := range strings.Lines(e.read("/proc/self/cgroup")) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		switch {
		case part[0] == "0" && part[1] == "":
			if mount, root := e.mountOf("cgroup2", ""); mount != "" {
				out = append(out, group{mount, below(part[2], root), true})
			}
		case contains(part[1], controller):
			if mount, root := e.mountOf("cgroup", controller); mount != "" {
				out = append(out, group{mount, below(part[2], root), false})
			}
		}
	}
	return out
}

// mountOf finds where a hierarchy is mounted, and which of its groups is at the
// mount point (in a container that is seldom the root).
func (e Env) mountOf(fstype, option string) (mount, root string) {
	for line := range strings.Lines(e.read("/proc/self/mountinfo")) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 || r[0] != fstype {
			continue
		}
		if option == "" || contains(r[2], option) {
			return l[4], l[3]
		}
	}
	return "", ""
}

// below is the group's path seen from the mount point. A group outside of it
// cannot be looked at; the mount point itself is then the best there is.
func below(group, root string) string {
	if root == "/" {
		return path.Clean("/" + group)
	}
	rest, ok := strings.CutPrefix(group, root)
	if !ok || rest != "" && rest[0] != '/' {
		return "/"
	}
	return path.Clean("/" + rest)
}

func contains(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}
