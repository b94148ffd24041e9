package host

import (
	"path"
	"strconv"
	"strings"
)

// Node is the NUMA node that a PCI device hangs on; -1 is unknown.
func (e Env) Node(pci string) int {
	text := strings.TrimSpace(e.read(path.Join("/sys/bus/pci/devices", strings.ToLower(pci), "numa_node")))
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// NodeCores is the numbers of the cores of a NUMA node; nil is unknown.
func (e Env) NodeCores(node int) (cores []int) {
	if node < 0 {
		return nil
	}
	text := strings.TrimSpace(e.read("/sys/devices/system/node/node" + strconv.Itoa(node) + "/cpulist"))
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		lo, err1 := strconv.Atoi(from)
		hi, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || lo < 0 || hi < lo || hi >= 1<<16 {
			return nil
		}
		for ; lo <= hi; lo++ {
			cores = append(cores, lo)
		}
	}
	return cores
}

// capIPCLock is the ability to lock memory without a limit.
const capIPCLock = 14

// Pinnable is how much memory this process may pin, and what says so: the smaller of
// the limit of locked memory and of what the control groups give. 0 means no limit.
func (e Env) Pinnable() (bytes int64, from string) {
	if n, name := e.memory(); strings.HasPrefix(name, "cgroup") {
		bytes, from = n, name
	}
	if n := e.lockLimit(); n > 0 && (bytes == 0 || n < bytes) {
		return n, "ulimit -l"
	}
	return bytes, from
}

// lockLimit is RLIMIT_MEMLOCK, unless this process may go beyond it.
func (e Env) lockLimit() int64 {
	for line := range strings.Lines(e.read("/proc/self/status")) {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			if err == nil && caps>>capIPCLock&1 == 1 {
				return 0
			}
		}
	}
	return e.ulimit("Max locked memory")
}

// ulimit is a limit of this process by its name in /proc; 0 without one.
func (e Env) ulimit(name string) int64 {
	for line := range strings.Lines(e.read("/proc/self/limits")) {
		if text, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(text); len(f) > 0 {
				return positive(f[0])
			}
		}
	}
	return 0
}
