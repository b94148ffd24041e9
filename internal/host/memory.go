package host

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// memory is the smallest of all limits that are known, and its name.
func (e Env) memory() (int64, string) {
	best, from := int64(math.MaxInt64), ""
	add := func(n int64, name string) {
		if n > 0 && n < best {
			best, from = n, name
		}
	}
	add(e.meminfo("MemAvailable"), "MemAvailable")
	if n := e.number("SLURM_MEM_PER_NODE"); n < 1<<40 {
		add(n<<20, "SLURM_MEM_PER_NODE")
	}
	if n := e.number("SLURM_MEM_PER_CPU"); n < 1<<40 {
		add((n<<20)*max(e.number("SLURM_CPUS_ON_NODE"), 1), "SLURM_MEM_PER_CPU")
	}
	for _, g := range e.groups() {
		// The limit may stand on any parent: a job's step is seldom limited itself.
		for dir := g.leaf; ; dir = path.Dir(dir) {
			for _, f := range g.files {
				add(e.limit(path.Join(g.mount, dir, f)), "cgroup "+f)
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	if from == "" {
		return 0, ""
	}
	return best, from
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
	n, err := strconv.ParseInt(strings.TrimSpace(e.read(name)), 10, 64)
	if err != nil || n >= 1<<60 {
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
	mount string // where the hierarchy is mounted
	leaf  string // the process's group below the mount
	files []string
}

// groups lists the hierarchies that limit memory: version 2, version 1, or both.
func (e Env) groups() []group {
	var out []group
	for line := range strings.Lines(e.read("/proc/self/cgroup")) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		switch {
		case part[0] == "0" && part[1] == "":
			if mount, root := e.mountOf("cgroup2", ""); mount != "" {
				out = append(out, group{mount, below(part[2], root), []string{"memory.max", "memory.high"}})
			}
		case contains(part[1], "memory"):
			if mount, root := e.mountOf("cgroup", "memory"); mount != "" {
				out = append(out, group{mount, below(part[2], root), []string{"memory.limit_in_bytes"}})
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
